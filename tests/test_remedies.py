"""No remedy names what a front end lacks, over all remedies and all front ends."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import fields

import djinn_memory
from djinn_memory.cli import tree
from djinn_memory.cli.app import root
from djinn_memory.errors import DjinnError, Remedy, Wording
from djinn_memory.mcp.remedies import ToolWording
from djinn_memory.mcp.tool import Tool
from djinn_memory.mcp.tools import TOOLS
from djinn_memory.operations import OPERATIONS, VERBS
from djinn_memory.operations.caller import Caller
from djinn_memory.operations.wording import CommandWording, PythonWording, command
from tests.conftest import Run

COMMANDS = VERBS.keys() - OPERATIONS.keys()

PACKAGE = Path(djinn_memory.__file__).parent

COMMAND = re.compile(r"`djinn ([^`]*)`")
CALL = re.compile(r"`([a-z_.]+)\(([^`]*)\)`")
TOOL = re.compile(r"`([a-z_]+)`(?: with ((?:`[^`]*`(?: and )?)+))?")
FOR_A_PERSON = re.compile(r"ask a person to run `djinn [^`]*`|`djinn [^`]*` \(ask a person\)")

SERVERS = [
    pytest.param(tool, read_only, id=f"{tool.name if tool else 'none'}-{access}")
    for tool in (*TOOLS, None)
    for read_only, access in ((False, "writes"), (True, "reads"))
]


class Source(NamedTuple):
    """A remedy in the code."""

    place: str
    remedy: Remedy


@cache
def trees(mark: str) -> dict[str, ast.Module]:
    """The syntax trees of the modules whose text has a mark, by path."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
    return {
        str(path.relative_to(PACKAGE)): ast.parse(text)
        for path, text in texts.items()
        if mark in text
    }


def strings(tree: ast.Module) -> Iterator[str]:
    """The texts of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@cache
def schemas(read_only: bool) -> dict[str, dict[str, Any]]:
    """The properties of the arguments of each tool that a server offers, by its name."""
    caller = Caller(read_only=read_only)
    offered = [tool for tool in TOOLS if tool.allowed(caller)]
    return {tool.name: tool.input_schema(caller)["properties"] for tool in offered}


def _value(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return "X"


@cache
def remedies() -> list[Source]:
    """All remedies of the package, with `X` for what only a run knows."""
    found = []
    for path, module in trees("Remedy(").items():
        for node in ast.walk(module):
            if not (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Remedy"):
                continue
            place = f"{path}:{node.lineno}"
            named = dict(zip(Remedy._fields, node.args, strict=False))
            named |= {word.arg: word.value for word in node.keywords if word.arg}
            operation = ast.literal_eval(named.get("operation", ast.Constant("")))
            given = named.get("arguments", ast.Dict([], []))
            assert isinstance(given, ast.Dict), f"{place}: write the arguments as a dictionary"
            arguments = {
                ast.literal_eval(key): _value(value)
                for key, value in zip(given.keys, given.values, strict=True)
                if key
            }
            purpose = _value(named["purpose"]) if "purpose" in named else ""
            found.append(Source(place, Remedy(operation, arguments, purpose)))
    return found


def every_operation() -> Iterator[Remedy]:
    """A remedy for each operation and each of its fields, and for each other command."""
    for name, operation in OPERATIONS.items():
        yield Remedy(name)
        for field in fields(operation.request):
            yield Remedy(name, {field.name: "append" if field.name == "existing" else None})
    yield from map(Remedy, COMMANDS)


@cache
def parameters(words: str) -> tuple[set[str], int]:
    """The options of a command, and the number of its positional arguments."""
    built = tree.load(words).build(words)
    listed = [name for each in built.params for name in (*each.opts, *each.secondary_opts)]
    options = {name for name in listed if name.startswith("-")}
    return options | {"--help"}, len([name for name in listed if not name.startswith("-")])


def wrong_commands(text: str) -> Iterator[str]:
    """The commands in a text that do not exist, or that lack an option that is named."""
    for line in COMMAND.findall(text):
        words = shlex.split(line) if line.count("'") % 2 == 0 else line.split()
        if not words or words[0].startswith("-"):
            continue
        if default := tree.DEFAULTS.get(words[0]) if words[1:2] != [] else None:
            words[1:1] = [default] if words[1].startswith("-") else []
        names = [" ".join(words[:count]) for count in (3, 2, 1)]
        known = [name for name in names if tree.canonical(name) in tree.COMMANDS]
        if not known:
            if " ".join(words) not in tree.NOUNS:
                yield f"no command `djinn {line}`"
            continue
        rest = words[known[0].count(" ") + 1 :]
        options, most = parameters(tree.canonical(known[0]))
        named = {word.partition("=")[0] for word in rest if word.startswith("--")}
        if named - options:
            yield f"no option {named - options} in `djinn {line}`"
        if not most and rest and not rest[0].startswith("-"):
            yield f"no arguments in `djinn {line}`"


def wrong_calls(text: str) -> Iterator[str]:
    """The calls in a text that Python does not offer."""
    for name, arguments in CALL.findall(text):
        known = {field.name for field in fields(OPERATIONS[name].request)}
        call = ast.parse(f"call({arguments})", mode="eval").body
        named = {word.arg for word in getattr(call, "keywords", ())}
        if not named <= known:
            yield f"{name} has no {named - known}"


@cache
def wrong_tools(text: str, read_only: bool) -> list[str]:
    """The tools in a text that a server does not offer, or that lack an argument that is named."""
    rest = FOR_A_PERSON.sub("", text)
    wrong = [f"`djinn {line}` is not for a person to run" for line in COMMAND.findall(rest)]
    for name, listed in TOOL.findall(rest):
        given = dict(each.partition(": ")[::2] for each in re.findall("`([^`]*)`", listed))
        wrong += _wrong_arguments(name, given, schemas(read_only).get(name))
    return wrong


def _wrong_arguments(
    name: str, given: dict[str, str], schema: dict[str, Any] | None
) -> Iterator[str]:
    if schema is None:
        yield f"no tool {name}"
    elif not given.keys() <= schema.keys():
        yield f"{name} has no {given.keys() - schema.keys()}"
    elif "action" in schema:
        [tool] = [tool for tool in TOOLS if tool.name == name]
        action = given.pop("action", tool.default)
        takes = {tool.argument_names[field] for field in tool.offered(action)}
        if action not in schema["action"]["enum"] or not given.keys() <= takes:
            yield f"{name} cannot {action} with {given}"


def said(words: Wording, remedy: Remedy) -> str:
    """All that a front end says about a remedy."""
    error = words.error(DjinnError("it failed", remedy))
    return f"{error}\n{words.call(remedy)}" if remedy.operation else error


def test_all_remedies_are_found() -> None:
    found = remedies()
    assert len(found) > 100
    assert {"review.list", "config.set", ""} <= {source.remedy.operation for source in found}


def test_a_remedy_names_an_operation_and_fields_of_its_request() -> None:
    everywhere = {
        field.name for operation in OPERATIONS.values() for field in fields(operation.request)
    }
    for place, remedy in remedies():
        operation = remedy.operation
        if operation in COMMANDS:
            declared = tree.load(tree.canonical(command(operation)))
            known = {
                field.name for kind in (declared.request, declared.view) for field in fields(kind)
            }
        elif operation:
            known = {field.name for field in fields(OPERATIONS[operation].request)}
        else:
            known = everywhere
        assert remedy.arguments.keys() <= known, place


def test_a_purpose_names_no_command() -> None:
    for place, remedy in remedies():
        assert not COMMAND.search(str(remedy.purpose)), place


def test_on_the_command_line() -> None:
    for place, remedy in remedies():
        text = said(CommandWording(), remedy)
        assert not [*wrong_commands(text), *CALL.findall(text)], (place, text)
    for remedy in every_operation():
        text = said(CommandWording(), remedy)
        assert COMMAND.search(text) or "in Python, call `" in text, text
        if not remedy.arguments:
            assert not [*wrong_commands(text), *wrong_calls(text)], text


def test_in_python() -> None:
    for place, remedy in remedies():
        text = said(PythonWording(), remedy)
        assert not [*wrong_commands(text), *wrong_calls(text)], (place, text)
    for remedy in every_operation():
        text = said(PythonWording(), remedy)
        assert not [*wrong_commands(text), *wrong_calls(text)], text


@pytest.mark.parametrize(("tool", "read_only"), SERVERS)
def test_for_the_clients_of_a_server(tool: Tool | None, read_only: bool) -> None:
    words = ToolWording(tool, TOOLS, Caller(read_only=read_only))
    for place, remedy in remedies():
        text = said(words, remedy)
        if remedy.operation:
            assert not [*wrong_tools(text, read_only), *wrong_commands(text)], (place, text)
        elif remedy.arguments and words.offers(remedy):
            assert tool and remedy.arguments.keys() <= tool.argument_names.keys(), (place, text)


@pytest.mark.parametrize("read_only", [False, True])
def test_every_operation_for_the_clients_of_a_server(read_only: bool) -> None:
    # The words for an operation of another tool are the same in each tool.
    words = ToolWording(None, TOOLS, Caller(read_only=read_only))
    for remedy in every_operation():
        text = said(words, remedy)
        assert not wrong_tools(text, read_only), text


def test_for_a_process_that_reads_documents() -> None:
    for place, remedy in remedies():
        text = said(ToolWording(), remedy)
        assert not [*wrong_commands(text)], (place, text)
        assert not remedy.operation or "a person" in text, (place, text)


def test_a_running_command_names_only_its_own_options() -> None:
    remedy = Remedy("", {"existing": "append"}, "append to it")
    assert CommandWording("remember", {"append": None}).remedy(remedy) == (
        "pass --append to append to it"
    )
    assert CommandWording("checkpoint", {"text": None}).remedy(remedy) is None
    assert CommandWording("checkpoint", {"text": None}).error(DjinnError("no", remedy)) == "no"


def test_a_text_that_quotes_a_remedy_names_its_operation() -> None:
    # A front end without the argument has nothing to say about the argument alone.
    for path, module in trees("Remedy(").items():
        for node in ast.walk(module):
            quoted = (
                node.value if isinstance(node, ast.FormattedValue)
                else node.args[0] if isinstance(node, ast.Call)
                and getattr(node.func, "id", "") == "str" and node.args
                else None
            )  # fmt: skip
            if isinstance(quoted, ast.Call) and getattr(quoted.func, "id", "") == "Remedy":
                assert quoted.args and ast.literal_eval(quoted.args[0]), (path, quoted.lineno)


def test_every_command_in_a_text_exists() -> None:
    for path, module in trees("`djinn ").items():
        assert not [wrong for text in strings(module) for wrong in wrong_commands(text)], path


NOT_PRINTED = ("Meta", "Field", "Option", "Argument", "Job", "CommandInfo", "ProposalKind")
"""Calls whose texts describe commands and options."""


def printed_texts(module: ast.Module) -> Iterator[str]:
    """The texts of a module without docstrings and descriptions; `X` stands for what is put in."""
    described: set[ast.AST] = set()
    for node in ast.walk(module):
        body = getattr(node, "body", ())
        for statement in body if isinstance(body, list) else ():
            if isinstance(statement, ast.Expr):
                described.add(statement.value)
        if isinstance(node, ast.Call):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            described.update(ast.walk(node) if called in NOT_PRINTED else ())
    for node in ast.walk(module):
        if node in described:
            continue
        if isinstance(node, ast.JoinedStr):
            described.update(node.values)
            parts = ((getattr(value, "value", "X"), value) for value in node.values)
            yield "".join(text if isinstance(value, ast.Constant) else "X" for text, value in parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def hints() -> Iterator[tuple[str, str]]:
    """Every command that a message tells to run, and its place in the code."""
    for path, module in trees("`djinn ").items():
        for text in printed_texts(module):
            yield from ((path, line) for line in COMMAND.findall(text) if line[0] != "X")
    for place, remedy in remedies():
        written = CommandWording().written(remedy) if command(remedy.operation) else ""
        yield from ((place, line) for line in COMMAND.findall(written))


VALUES = {"RESULT": "success", "KEEP": "A", "STATUS": "running"}
"""What is put in for words in capitals that take only some values."""


def pasted(line: str) -> list[str]:
    """The words of a hint as somebody types them, with something for each word in capitals."""
    return [VALUES.get(word, word) for word in shlex.split(line)]


def refusal(line: str) -> str:
    """Why the parser refuses a hint; empty if it does not."""
    group: Any = root()
    try:
        ctx = group.make_context("djinn", pasted(line))
        while hasattr(group, "lines"):
            name, group, rest = group.resolve_command(ctx, [*ctx._protected_args, *ctx.args])
            ctx = group.make_context(name, rest, parent=ctx)
    except SystemExit:
        return ""
    except Exception as error:
        # A run puts something else than X in.
        said = str(error)
        fine = type(error).__name__ == "NoArgsIsHelpError" or "'X' is not " in said
        return "" if fine else repr(error)
    return ""


def test_every_hint_parses_when_pasted() -> None:
    found = {*hints()}
    assert len(found) > 100
    wrong = [(place, line, why) for place, line in sorted(found) if (why := refusal(line))]
    assert not wrong


def test_every_hint_that_reads_runs_when_pasted(run: Run, tmp_path: Path) -> None:
    home = tmp_path / "home"
    run("init", home, "--agent", "me")
    reading = {
        verb.command
        for verb in VERBS.values()
        if verb.path
        and not verb.writes
        and verb.name not in ("sync.init", "sync.migrate", "doctor")
    }
    for line in sorted({line for _, line in hints() if not re.search(r"\b(X|[A-Z]{2,})\b", line)}):
        names = (tree.canonical(" ".join(line.split()[:size])) for size in (3, 2, 1))
        if next((name for name in names if name in tree.COMMANDS), "") in reading:
            done = run(*shlex.split(line), home=home)
            assert done.returncode in (0, 1, 4, 5), (line, done)
