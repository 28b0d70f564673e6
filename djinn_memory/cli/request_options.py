"""Derives options of a command from the fields of a request, which declares each once.

A field's type, bounds, default and description are those of its struct. A `Field` adds data that
only the command line needs, such as a short name or the source of completions.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import Parameter
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Optional,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
import typer
from msgspec import Meta, Struct

from djinn_memory.cli import candidates
from djinn_memory.cli.parsing import path
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
    "vaults": Field("NAME", candidates.vaults),
    "types": Field("TYPE", candidates.types),
    "tags": Field("TAG", candidates.tags),
    "planes": Field("PLANE", candidates.planes),
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

STDIN = " `-` reads it from stdin."

_METAVARS = {str: "TEXT", int: "N", float: "X", Path: "PATH"}
"""Placeholders for the values of options in help texts, by type."""

Fields = Mapping[str, Field]
NO_FIELDS: Fields = {}


class FieldType(NamedTuple):
    """The parsed type of a field."""

    kind: Any
    repeated: bool
    nullable: bool
    metas: tuple[Meta, ...]
    """The metadata, outermost first."""

    @property
    def description(self) -> str:
        """The outermost description."""
        return next((meta.description for meta in self.metas if meta.description), "")

    @property
    def bounds(self) -> dict[str, float]:
        """The minimum and maximum of a number, unless the operation reports a remedy."""
        if self.kind not in (int, float) or any(meta.extra for meta in self.metas):
            return {}
        least = next((meta.ge for meta in self.metas if meta.ge is not None), None)
        most = next((meta.le for meta in self.metas if meta.le is not None), None)
        bounds = {"min": least, "max": most}
        return {name: value for name, value in bounds.items() if value is not None}


def field_type(hint: Any) -> FieldType:
    """Parse a type hint: annotations, null, and the element type of a list."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        metas = tuple(extra for extra in arguments[1:] if isinstance(extra, Meta))
        inner = field_type(arguments[0])
        return inner._replace(metas=(*metas, *inner.metas))
    if origin in (Union, types.UnionType):
        kinds = [kind for kind in arguments if kind is not types.NoneType]
        inner = field_type(kinds[0] if len(kinds) == 1 else str)
        return inner._replace(nullable=True)
    if origin in (tuple, list, Sequence):
        return field_type(arguments[0])._replace(repeated=True)
    kind = hint if origin is Literal or hint in (bool, int, float, Path) else str
    return FieldType(kind, repeated=False, nullable=False, metas=())


def parameters(
    request: type[Struct],
    arguments: Sequence[str] = (),
    without: Sequence[str] = (),
    fields: Fields = NO_FIELDS,
) -> Iterator[Parameter]:
    """The parameters of a command: the positional ones in `arguments`, in order, then options."""
    hints = get_type_hints(request, include_extras=True)
    declared = {info.name: info for info in msgspec.structs.fields(request)}
    for name in (*arguments, *(name for name in declared if name not in {*arguments, *without})):
        field = fields.get(name) or FIELDS.get(name) or Field()
        parts = field_type(hints[name])
        info = declared[name]
        default = info.default if info.default is not msgspec.NODEFAULT else None
        required = info.required if field.optional is None else not field.optional
        settings: dict[str, Any] = {
            "help": field.help or parts.description + STDIN * bool(field.stdin),
            "metavar": field.metavar,
            "autocompletion": field.complete,
            **parts.bounds,
        }
        if parts.kind is Path:
            settings["parser"] = path
        if field.most is not None:
            settings["max"] = field.most
        kind: Any = list[parts.kind] if parts.repeated or field.words else parts.kind  # type: ignore[name-defined]
        if not required:
            kind = Optional[kind]  # noqa: UP045 - `kind` may be a Literal
        if name in arguments:
            extra: Any = typer.Argument(**settings)
        else:
            settings["metavar"] = field.metavar or _METAVARS.get(parts.kind)
            if parts.repeated and "repeatable" not in settings["help"]:
                settings["help"] = f"{settings['help'].rstrip('.')}; repeatable."
            option = field.name or option_name(name)
            if parts.kind is bool and parts.nullable:
                option = f"{option}/--no-{option.removeprefix('--')}"
            names = [option, *([field.short] if field.short else [])]
            extra = typer.Option(*names, show_default=_shown(default), **settings)
        if required:
            default = Parameter.empty
        elif parts.repeated or default == "":
            default = None
        yield Parameter(
            name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, extra]
        )


def _shown(default: object) -> bool:
    return default is not None and not isinstance(default, bool)


def build(request: type[R], values: Mapping[str, Any]) -> R:
    """The request with these values.

    The command line has checked the type of each value. The operation checks lengths, and whether
    an empty text counts as not given.
    """
    # What was left out has the default of the request; where there is none, it may be null.
    given = {
        info.name: tuple(value) if isinstance(value, list) else value
        for info in msgspec.structs.fields(request)
        if info.name in values and ((value := values[info.name]) is not None or info.required)
    }
    return request(**given)
