"""A command: parses into a request, runs its operation, prints the answer as text or as JSON."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from contextvars import ContextVar
from functools import cached_property
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from msgspec import Meta, Struct, field
from typer.main import get_command_from_info
from typer.models import CommandInfo

from djinn_memory.cli import output
from djinn_memory.cli.parsing import Command
from djinn_memory.cli.request_options import Fields, build, parameters
from djinn_memory.errors import DjinnError, Interrupted, UsageError, current_wording, wording
from djinn_memory.operations import OPERATIONS, VERBS, imported
from djinn_memory.operations.wording import CommandWording

if TYPE_CHECKING:
    from djinn_memory.djinn import Djinn
    from djinn_memory.models import Problem, Progress, ProgressCallback


resident: ContextVar[Djinn | None] = ContextVar("resident", default=None)
"""The home of a process that runs this command among others, and keeps the home open."""


class NoRequest(Struct, frozen=True):
    """The empty request of a command without options."""


class _PrintOptions(Struct, frozen=True):
    """Options for the output of a command."""

    json: Annotated[bool, Meta(description="Print one JSON object and nothing else.")] = False


class Confirm(Struct, frozen=True):
    """The option of commands that ask for confirmation."""

    yes: Annotated[bool, Meta(description="Do not ask for confirmation.")] = False


class Paged(Struct, frozen=True):
    """The option of commands whose output is read in a pager."""

    no_pager: Annotated[
        bool,
        Meta(
            description="Do not start a pager. At a terminal, output that is longer than the "
            "screen is shown in $PAGER, or in `less`."
        ),
    ] = False


class Call:
    """One invocation of a command."""

    def __init__(self, ctx: typer.Context, declaration: Declaration, values: dict[str, Any]):
        self.ctx = ctx
        self.values = values
        """The given values of fields. A command may change them before it takes the request."""
        self.json: bool = values.get("json", False)
        self.schema = ""
        """The name of the answer's schema, if the command has several."""
        self._declaration = declaration
        self.progress: ProgressCallback | None = None
        """Shows the progress while a command that supports it runs."""

    @cached_property
    def request(self) -> Any:
        """The request, as the command declares it."""
        return build(self._declaration.request, self.values)

    @cached_property
    def view(self) -> Any:
        """The options that are not part of the request."""
        return build(self._declaration.view, self.values)

    @cached_property
    def djinn(self) -> Djinn:
        """The home that the command line names."""
        from djinn_memory.djinn import Djinn

        progress = self.progress or _rebuilding(quiet=self.json)
        if djinn := resident.get():
            djinn.runtime.progress = progress
            return djinn
        djinn = Djinn.open(self.ctx.obj, progress)
        if self.progress:
            interruptible()
        self.ctx.call_on_close(djinn.close)
        return djinn

    def run(self, other: str = "", /, **values: Any) -> Any:
        """Run the operation of the command. Returns its answer.

        `other` names another operation, which gets the same options. `values` replace fields.
        """
        verb = VERBS[other or self._declaration.verb]
        kind = verb.request if other else self._declaration.request
        return verb.bind(self.djinn)(build(kind, {**self.values, **values}))

    def confirmed(self, question: str, about: str) -> bool:
        """Whether the user confirms at the terminal, after reading `about`, or passed `--yes`.

        Raises `UsageError` without a terminal, and `Interrupted` on Ctrl-C or Ctrl-D.
        """
        if self.view.yes:
            return True
        if not sys.stdin.isatty():
            why = "without a terminal nobody can confirm this; pass --yes to confirm it"
            raise UsageError(f"{output.clean(about).rstrip('.')}: {why}")
        interruptible()
        output.talk(output.clean(about))
        try:
            return typer.confirm(question, err=True)
        except typer.Abort:
            output.talk("")
            raise Interrupted("interrupted; nothing was changed") from None

    def declined(self, question: str, about: str) -> bool:
        """Whether nothing may be changed: in a dry run, or because the user does not confirm."""
        return self.request.dry_run or not self.confirmed(question, about)

    def problems(self, answer: object) -> list[Problem]:
        """The problems to report with the answer."""
        problems = [*self.djinn.problems] if "djinn" in self.__dict__ else []
        return problems + [each for each in getattr(answer, "problems", ()) if each not in problems]


Render = Callable[[Call, Any], None]


class Declaration(Struct, kw_only=True, dict=True):
    """The definition of a command; see `command`."""

    render: Render
    """Prints the answer as text. Its docstring is the help of the command, with examples at the
    end."""
    verb: str
    """The operation that the command runs, or a name like that of an operation."""
    own_request: type[Struct] | None = None
    """The request, if it is not that of the operation."""
    words: str = ""
    """The command as a user types it, if it is not named after the verb."""
    short: str = ""
    """A short name of the command."""
    also: Mapping[str, str] = field(default_factory=dict)
    """Other operations that the command runs, each with the option that chooses it."""
    arguments: Sequence[str] = ()
    """The positional fields, in order, of a command that runs no operation."""
    without: Sequence[str] = ()
    """The fields that the command line does not offer."""
    fields: Fields = field(default_factory=dict)
    """Additions of the command line to fields."""
    view: type[Struct] = NoRequest
    """Options that are not part of the request."""
    prepare: Callable[[Call], None] | None = None
    """Changes the given values before the operation runs, or runs something else and exits."""
    run: Callable[[Call], Struct | None] | None = None
    """Runs the operation, if more must be done. Returns None for an answer that needs no output."""
    schemas: Mapping[str, str | type[Struct]] = field(default_factory=dict)
    """The type of each answer, by the name of its schema. The first is the usual one. A text names
    an operation, or a class as `module:Class`. By default the command has one schema, for the
    answer of its operation or of `run`."""
    progress: bool = False
    """Whether the command shows its progress."""
    warns: bool | None = None
    """Whether problems of the home are printed besides those of the answer. By default they are
    printed if the command runs an operation."""
    failed: Callable[[Any], bool] | None = None
    """Whether an answer ends the command with exit code 1. By default an answer with problems does,
    if the operation writes. Problems of the index do not count: the written data is complete, and
    the next command indexes it."""
    prints: type[Struct] = _PrintOptions
    """The output options."""

    @property
    def operation(self) -> str:
        """The operation that the command runs; empty if `run` uses none."""
        return self.verb if self.verb in OPERATIONS else ""

    @cached_property
    def request(self) -> type[Struct]:
        """The request. Its fields are the arguments and options of the command."""
        if self.own_request or not self.operation:
            return self.own_request or NoRequest
        return OPERATIONS[self.verb].request

    def build(self, words: str) -> Any:
        """Build the command with the name `words`."""
        self.schemas = self.schemas or {words.replace(" ", "."): self.operation}
        structs = [(self.request, VERBS[self.verb].positional, self.without)]
        structs += [(kind, (), ()) for kind in (self.view, self.prints)]
        params = [
            Parameter("ctx", Parameter.KEYWORD_ONLY, annotation=typer.Context),
            *(
                parameter
                for kind, arguments, without in structs
                for parameter in parameters(kind, arguments, without, self.fields)
            ),
        ]

        def callback(ctx: typer.Context, **values: Any) -> None:
            self(ctx, values)

        callback.__signature__ = Signature(params)  # type: ignore[attr-defined]
        callback.__annotations__ = {}
        text, _, listed = (inspect.getdoc(self.render) or "").partition("\n\nExamples:\n")
        # An example that goes on is indented further.
        examples = re.sub(r"\n {8,}", " ", listed).split("\n")
        label = "Example" if len(examples) == 1 else "Examples"
        info = CommandInfo(
            name=words.rpartition(" ")[2],
            cls=Command,
            callback=callback,
            help=text,
            epilog=f"{label}: " + " · ".join(f"`{example.strip()}`" for example in examples),
        )
        return get_command_from_info(info, pretty_exceptions_short=False, rich_markup_mode=None)

    def __call__(self, ctx: typer.Context, values: dict[str, Any]) -> None:
        """Run the command with the values of its options and arguments."""
        # `main` set the words of no command. It prints errors after this returns, then resets them.
        if isinstance(current_wording(), CommandWording):
            wording.set(CommandWording(self.verb, values))
        for name, extra in self.fields.items():
            value = values.get(name)
            if extra.words and value is not None:
                values[name] = value = " ".join(value)
            if extra.stdin and value == "-":
                text = _text_from_stdin()
                chomps = extra.stdin == "value"
                values[name] = text.removesuffix("\n").removesuffix("\r") if chomps else text
        call = Call(ctx, self, values)
        warns = bool(self.operation) if self.warns is None else self.warns
        with output.progress_line(call.json) if self.progress else nullcontext() as call.progress:
            try:
                if self.prepare:
                    self.prepare(call)
                answer = self.run(call) if self.run else call.run()
            except DjinnError:
                if warns and not call.json:
                    # They may be the cause, such as a vault whose folder is missing.
                    with suppress(DjinnError):
                        output.problems(call.problems(None))
                raise
        if answer is None:
            return
        problems = call.problems(answer) if warns else [*getattr(answer, "problems", ())]
        if call.json:
            output.as_json(call.schema or next(iter(self.schemas)), answer, problems)
        else:
            pages = isinstance(call.view, Paged) and not call.view.no_pager
            with output.paged() if pages else nullcontext():
                output.problems(problems)
                self.render(call, answer)
        if self._failed(answer):
            raise typer.Exit(1)

    def _failed(self, answer: Struct) -> bool:
        if self.failed:
            return self.failed(answer)
        if not self.operation or not any(
            problem.what != "index" for problem in getattr(answer, "problems", ())
        ):
            return False
        return VERBS[self.verb].writes

    def answers(self) -> dict[str, type[Struct]]:
        """The types that the command can print, by schema name."""

        def answer_of(kind: str | type[Struct]) -> Any:
            if not kind:
                return get_type_hints(self.run)["return"]
            if not isinstance(kind, str):
                return kind
            return imported(kind) if ":" in kind else OPERATIONS[kind].answer

        return {name: answer_of(kind) for name, kind in self.schemas.items()}


def command(
    verb: str, request: type[Struct] | None = None, **settings: Any
) -> Callable[[Render], Declaration]:
    """Declare a command. The decorated function prints the answer of the verb as text."""

    def declare(render: Render) -> Declaration:
        return Declaration(render=render, verb=verb, own_request=request, **settings)

    return declare


def interruptible() -> None:
    """Turn Ctrl-C into an exception from here on, so that a long run or a question can clean up."""
    import signal

    if not resident.get():
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _rebuilding(*, quiet: bool) -> ProgressCallback:
    """Show progress only for unexpected long work: rebuilding an index."""
    show = output.progress_line(quiet).__enter__()

    def tell(progress: Progress) -> None:
        # Messages of a model being prepared are problems of the answer, printed with it.
        if progress.stage != "prepare" or progress.total:
            show(progress)

    return tell


def _text_from_stdin() -> str:
    """The text that is piped into the command. Raises `UsageError` if it is not text or empty."""
    from djinn_memory.notes.vault import MAX_BYTES

    interruptible()
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    try:
        read = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("stdin is not UTF-8 text; convert it first") from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"stdin has more than {MAX_BYTES:,} bytes; split the text")
    if "\0" in read:
        raise UsageError("stdin is binary, not text")
    if not read.strip():
        raise UsageError("stdin is empty; pipe a text into the command")
    return read
