"""The declared types of a request's fields, and whether values fit them.

All messages about values that do not fit are made here.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePath
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import FieldInfo, fields

from djinn_memory.errors import UsageError
from djinn_memory.system.choices import one_of

UNGUARDED = Meta(extra={"guarded": False})
"""Marks a field of a request in which a secret is not refused.

It is a date, it only selects what exists, or the operation masks its secrets or checks it together
with its label: `password`, and `hunter2`."""
RawText = Annotated[str, UNGUARDED]
"""A text in which a secret is not refused."""
RawName = Annotated[RawText, Meta(max_length=100)]
"""The same for a name, such as that of a session."""
RawDay = Annotated[RawText, Meta(max_length=40)]
"""The same for a day or a time."""

_VALUES: dict[Any, str] = {
    bool: "bool",
    int: "int",
    float: "float",
    str: "str",
    PurePath: "path",
    bytes: "bytes",
    (list, tuple): "array",
    Mapping: "object",
    NoneType: "null",
}
"""The name of a value, as programs that send JSON know it. A bool is an int too: it comes first."""

_TAKES: dict[Any, tuple[str, ...]] = {
    bool: ("give True or False", "bool"),
    int: ("give a whole number", "int"),
    float: ("give a number", "float", "int"),
    str: ("give a text", "str", "path"),
    list: ("give a list, even for a single value", "array"),
    Mapping: ("give a mapping", "object"),
    Path: ("give a path", "path", "str"),
    Any: ("give a value", *_VALUES.values()),
    NoneType: ("give a value", "null"),
}
"""The instruction to a person for each type, and the values that the type takes. The first value
stands for the type in messages to programs. A type that is not listed takes any value."""


_SYNONYMS = {
    "limit": "top_k topk k n n_results num_results max_results count size first",
    "skip": "offset start page",
    "description": "text question",
    "summary": "text content message",
    "query": "q question text search_query prompt task",
    "task": "query question text message",
    "text": "content body message memory data value summary",
    "value": "text content data",
    "title": "name heading",
    "change": "id change_id",
    "gap": "id gap_id",
    "name": "id path title note memory memory_id",
    "type": "kind category",
    "kind": "type category",
    "key": "property attribute field",
    "result": "outcome status",
    "to": "folder vault destination target path",
    "paths": "path file files",
    "agent": "user user_id agent_id",
    "vaults": "vault namespace collection scope",
    "since": "after from_date start_date",
    "until": "before to_date end_date",
    "budget": "max_tokens tokens token_budget",
    "where": "filter filters metadata",
    "fields": "metadata properties front_matter",
    "session": "session_id run_id thread_id conversation_id",
    "target": "request request_id recall_id",
}
"""The words that other programs have for arguments of requests, separated by spaces. The first
argument with the word that a request has is meant."""

_LIKENESS = 0.7
"""Minimum similarity by `difflib`; `new_title` and `title` have 0.71, `title` and `until` 0.6."""


class FieldType(NamedTuple):
    """A type hint, taken apart."""

    kinds: tuple[Any, ...] = ()
    """The alternatives without null. A sequence is `list`, a `Literal` is `str`."""
    nullable: bool = False
    words: tuple[str, ...] = ()
    """The words of a `Literal`."""
    metas: tuple[Meta, ...] = ()
    """The metadata of the type and of its alternatives, outermost first."""
    element: FieldType | None = None
    """The type of the values in a sequence, or of the keys of a mapping."""

    @property
    def description(self) -> str:
        """The outermost description."""
        return self.meta("description") or ""

    def meta(self, name: str) -> Any:
        """The outermost metadata of a name, such as `max_length`; None without any."""
        values = (getattr(meta, name) for meta in self.metas)
        return next((value for value in values if value is not None), None)

    def extra(self, name: str) -> Any:
        """The same for metadata in `extra`, also of the values in a sequence."""
        extras = (meta.extra for meta in self.metas if meta.extra and name in meta.extra)
        extra = next(extras, None)
        return extra[name] if extra else self.element and self.element.extra(name)


@cache
def fields_of(kind: type[Struct]) -> tuple[FieldInfo, ...]:
    """The fields of a struct. msgspec evaluates all annotations at each call."""
    return fields(kind)


@cache
def field_types(kind: type[Struct]) -> dict[str, FieldType]:
    """The types of the fields of a struct, by name."""
    return {field.name: _parsed(field.type) for field in fields_of(kind)}


def _parsed(hint: Any) -> FieldType:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        inner = _parsed(arguments[0])
        outer = (meta for meta in arguments[1:] if isinstance(meta, Meta))
        return inner._replace(metas=(*outer, *inner.metas))
    if origin in (Union, UnionType):
        parts = [_parsed(argument) for argument in arguments]
        return FieldType(
            tuple(kind for part in parts for kind in part.kinds),
            any(part.nullable for part in parts),
            tuple(word for part in parts for word in part.words),
            tuple(meta for part in parts for meta in part.metas),
            next((part.element for part in parts if part.element), None),
        )
    if origin is Literal:
        return FieldType((str,), words=arguments)
    if isinstance(origin, type) and issubclass(origin, Sequence | Mapping):
        kind = list if issubclass(origin, Sequence) else Mapping
        return FieldType((kind,), element=_parsed(arguments[0]))
    return FieldType(nullable=True) if hint is NoneType else FieldType((hint,))


class _Fault(NamedTuple):
    where: str
    """The field, and the place in its list: `tags[1]`."""
    short: str
    """The fault, for programs that send JSON."""
    need: str
    """The instruction for people; it follows the value."""


def check(request: Struct) -> None:
    """Raise `UsageError` for a value that does not fit the type, choices or bounds of its field.

    Lengths and the values in lists are left to the operation, which knows remedies.
    """
    for name, kind in field_types(type(request)).items():
        value = getattr(request, name)
        if fault := _fault(kind, value, name, whole=False):
            quoted = isinstance(value, str | PurePath)
            shown = repr(str(value)[:60]) if quoted else str(value)[:60]
            raise UsageError(f"{shown}: {fault.need}", argument=name)


def meant(name: str, known: Collection[str]) -> str:
    """The argument that a wrong name most likely means; empty if there is none."""
    from difflib import get_close_matches

    same = [right for right, words in _SYNONYMS.items() if name in words.split() and right in known]
    return next(iter(same or get_close_matches(name, known, 1, _LIKENESS)), "")


def unknown_fields(kind: type[Struct], names: Iterable[str]) -> str:
    """The message for arguments that a request does not have: the right names, else all names."""
    known = [*field_types(kind)]
    parts = []
    for name in sorted(names):
        near = meant(name, known)
        advice = f"use `{near}`" if near else f"it has {', '.join(map('`{}`'.format, known))}"
        parts.append(f"has no argument `{name}`; {advice}")
    return "; ".join(parts)


def misfit(
    kind: type[Struct], given: Mapping[str, Any], likely: Collection[str] = ()
) -> tuple[str, str]:
    """The JSON argument that does not fit a struct, and why it does not; empty if all fit.

    An unknown argument most likely means one of `likely`.
    """
    known = {field.encode_name: field for field in fields_of(kind)}
    for name in given.keys() - known.keys():
        wrong = "".join(filter(str.isprintable, name))[:100]
        near = meant(wrong, likely) or meant(wrong, known)
        advice = f"did you mean {near}?" if near else f"known: {', '.join(known)}"
        return wrong, f"no such argument; {advice}"
    for name, field in known.items():
        if name not in given and field.required:
            return name, "missing required field"
        declared = field_types(kind)[field.name]
        if name in given and (fault := _fault(declared, given[name], name, whole=True)):
            return fault.where, fault.short
    return "", ""


def _fault(kind: FieldType, value: Any, where: str, *, whole: bool) -> _Fault | None:
    """The first thing that does not fit; with `whole` also lengths, and the values in lists."""
    # Python has more values than these, such as sets, and numbers of numpy.
    name = next((name for kinds, name in _VALUES.items() if isinstance(value, kinds)), "")
    wanted = [_TAKES.get(each, _TAKES[Any]) for each in (*kind.kinds, *[NoneType] * kind.nullable)]
    if name and not any(name in takes for _, *takes in wanted):
        names = {takes[0] for _, *takes in wanted}
        expected = " | ".join(each for each in _VALUES.values() if each in names)
        given = one_of(kind.words, value) if kind.words else wanted[0][0]
        need = "give a value" if name == "null" else given
        return _Fault(where, f"expected {expected}, got {name}", need)
    if name == "str" and kind.words and value not in kind.words:
        need = one_of(kind.words, value)
        return _Fault(where, f"invalid enum value {value[:60]!r}; {need}", need)
    if name in ("int", "float"):
        short, need = _bounds(kind, value)
        return _Fault(where, short, need) if need else None
    if whole and name in ("str", "array") and (need := _length(kind, value)):
        return _Fault(where, need, need)
    if not whole or name != "array" or not kind.element:
        return None
    element, parts = kind.element, enumerate(value)
    faults = (_fault(element, part, f"{where}[{number}]", whole=True) for number, part in parts)
    return next(filter(None, faults), None)


def _bounds(kind: FieldType, value: float) -> tuple[str, str]:
    """The range that a number should have, for programs and for people; empty if it is inside."""
    least, most = kind.meta("ge"), kind.meta("le")
    low, high = -math.inf if least is None else least, math.inf if most is None else most
    if low <= value <= high or least is most is None:
        return "", ""
    need = f"give at least {low:,}" if most is None else f"give a number from {low:,} to {high:,}"
    bound = f"from {low}" if value < low else f"up to {high}"
    remedy = kind.extra("remedy")
    short = need if float in kind.kinds else f"give a whole number {bound}"
    return short, f"{need}; {remedy}" if remedy else need


def _length(kind: FieldType, value: str | Sequence[Any]) -> str:
    """The instruction for a text or a list of the wrong length; empty if the length is right."""
    least, most = kind.meta("min_length") or 0, kind.meta("max_length")
    noun, plural = ("text", "characters") if isinstance(value, str) else ("value", "values")
    if len(value) < least:
        return f"give a {noun}" if least == 1 else f"give at least {least} {plural}"
    return f"give at most {most} {plural}" if most is not None and len(value) > most else ""


def from_json(text: str) -> object:
    """Decode a JSON text. Raises `UsageError` if it is not JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"is not JSON: {error}", argument="json_value") from None
