"""Derives options of a command from the fields of a request, which declares each once.

A field's type, bounds, default and description are those of its struct. A `Field` adds data that
only the command line needs, such as a short name or the source of completions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Optional, TypeVar

import msgspec
import typer
from msgspec import Struct

from djinn_memory.cli import candidates
from djinn_memory.cli.parsing import path
from djinn_memory.models import PLANES
from djinn_memory.operations.checks import FieldType, field_types, fields_of
from djinn_memory.operations.wording import option as option_name

R = TypeVar("R", bound=Struct)


class Field(NamedTuple):
    """Additions of the command line to a field of a request."""

    metavar: str | None = None
    complete: Callable[..., list[str]] | None = None
    """Returns completions of a word; see `cli.candidates`."""
    short: str = ""
    """A one-letter name."""
    name: str = ""
    """The option name, if it differs from the field's name."""
    help: str = ""
    """Help that replaces the description of the field."""
    optional: bool | None = None
    """Whether an argument is optional, if this differs from the field."""
    words: bool = False
    """Whether an argument takes all following words as one text."""
    stdin: Literal["", "text", "value"] = ""
    """The meaning of `-`: the piped text, or that text without the final line end."""
    most: int | None = None
    """The maximum number, if the command line allows less than the request."""


FIELDS = {
    "agent": Field("NAME", candidates.agents),
    "agents": Field("NAME", candidates.agents),
    "vaults": Field("NAME", candidates.vaults),
    "types": Field("TYPE", candidates.types),
    "tags": Field("TAG", candidates.tags),
    "planes": Field("PLANE", lambda: [*PLANES]),
    "domain": Field("NAME", candidates.domains),
    "domains": Field("NAME", candidates.domains),
    "since": Field("DATE"),
    "until": Field("DATE"),
    "as_of": Field("DATE"),
    "valid_from": Field("DATE"),
    "valid_to": Field("DATE"),
    "evidence": Field("NOTE", candidates.titles),
    "where": Field("KEY=VALUE"),
    "expires": Field("DATE"),
    "due": Field("DATE"),
    "limit": Field(short="-n"),
    "yes": Field(short="-y"),
    "session": Field(
        "NAME", help="The session. Default: DJINN_SESSION, or the session that `djinn wake` opened."
    ),
    "links": Field("NOTE", candidates.titles),
    "task": Field("ID", candidates.working_tasks),
    "model_context": Field("MODEL", candidates.models),
}
"""Additions for the fields with these names in every command."""

_STDIN = " `-` reads it from stdin."

_METAVARS = {str: "TEXT", int: "N", float: "X", Path: "PATH"}
"""Placeholders for the values of options in help texts, by type."""

Fields = Mapping[str, Field]


def parameters(
    request: type[Struct], arguments: Sequence[str], without: Sequence[str], fields: Fields
) -> Iterator[Parameter]:
    """The parameters of a command: the positional ones in `arguments`, in order, then options."""
    declared = {info.name: info for info in fields_of(request)}
    for name in dict.fromkeys((*arguments, *(each for each in declared if each not in without))):
        field = fields.get(name) or FIELDS.get(name) or Field()
        whole, info = field_types(request)[name], declared[name]
        repeated = list in whole.kinds
        value = whole.element if repeated and whole.element else whole
        parsed = _parsed(value)
        default: Any = info.default if info.default is not msgspec.NODEFAULT else None
        required = info.required if field.optional is None else not field.optional
        settings: dict[str, Any] = {
            "help": _help(field, whole),
            "metavar": field.metavar,
            "autocompletion": field.complete,
            **_bounds(value),
        }
        if parsed is Path:
            settings["parser"] = path
        if field.most is not None:
            settings["max"] = field.most
        kind: Any = list[parsed] if repeated or field.words else parsed  # type: ignore[valid-type]
        if not required:
            kind = Optional[kind]  # noqa: UP045 - `kind` may be a Literal
        if name in arguments:
            extra: Any = typer.Argument(**settings)
        else:
            settings["metavar"] = field.metavar or _METAVARS.get(parsed)
            if repeated and "repeatable" not in settings["help"]:
                settings["help"] = f"{settings['help'].rstrip('.')}; repeatable."
            option = field.name or option_name(name)
            if parsed is bool and whole.nullable:
                option = f"{option}/--no-{option.removeprefix('--')}"
            names = [option, *([field.short] if field.short else [])]
            shown = default is not None and not isinstance(default, bool)
            extra = typer.Option(*names, show_default=shown, **settings)
        if required:
            default = Parameter.empty
        elif repeated or default == "":
            default = None
        yield Parameter(
            name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, extra]
        )


def _help(field: Field, value: FieldType) -> str:
    text = field.help or value.description
    return text if "`-`" in text else text + _STDIN * bool(field.stdin)


def _parsed(value: FieldType) -> Any:
    """The type that the command line makes of a word; other types are made of a text."""
    if value.words:
        return Literal[value.words]
    return value.kinds[0] if value.kinds in ((bool,), (int,), (float,), (Path,)) else str


def _bounds(value: FieldType) -> dict[str, float]:
    """The minimum and maximum of a number, unless the operation reports a remedy."""
    if value.kinds not in ((int,), (float,)) or value.extra("remedy"):
        return {}
    bounds = {"min": value.meta("ge"), "max": value.meta("le")}
    return {name: bound for name, bound in bounds.items() if bound is not None}


def build(request: type[R], values: Mapping[str, Any]) -> R:
    """The request with these values.

    The command line has checked the type of each value. The operation checks lengths, and whether
    an empty text counts as not given.
    """
    # An omitted option takes the default of the request. Without a default, it may be null.
    given = {
        info.name: tuple(value) if isinstance(value, list) else value
        for info in fields_of(request)
        if info.name in values and ((value := values[info.name]) is not None or info.required)
    }
    return request(**given)
