"""Explains in one line why a setting is invalid, and which values are allowed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import inspect

from djinn_memory.home.settings import NAME, Config, DomainConfig, Name, VaultConfig

_NAMED: dict[str, Any] = {"vaults": VaultConfig, "domains": str | DomainConfig}
"""The sections with entries that have names, and the type of an entry."""


def explain(message: str, data: Mapping[str, Any]) -> str:
    """Explain `message`, from msgspec, about the settings `data`, with the allowed values."""
    # A key of the file may hold line breaks.
    text, _, at = " ".join(_with_name(message, data).split()).partition(" - at ")
    path = [part for part in re.split(r"[.\[\]`]+", at.rpartition("$")[2]) if part]
    names = re.findall(r"`([^`]*)`", text)
    if "unknown field" in text and names:
        kind = _bare(_type_at(path))
        known = [f.encode_name for f in kind.fields] if isinstance(kind, inspect.StructType) else []
        return unknown(names[0], ".".join(path), known)
    key = ".".join(path)
    if at.startswith("`key`"):
        return f"{'.'.join(path) or 'the file'}: a key is not text; use names as keys"
    if text.startswith("expected "):
        return f"{key}: {text}"
    if "missing required field" in text and names:
        return f"{key}.{names[0]} is missing; add it"
    match = re.search(r"got `([^`]*)`|Invalid enum value (.*)", text)
    actual = f", not {match[1] or match[2]}" if match else ""
    values = _allowed(_type_at(path)) or text.removeprefix("Expected ")
    return f"{key or 'the file'}: expected {values}{actual}"


def unknown(name: str, at: str, known: list[str]) -> str:
    """The message for an unknown key `name` at `at`, with the known keys."""
    near = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]}? " if near else ""
    key = f"{at}.{name}" if at else name
    if not known:
        return f"{key}: unknown key; {at} is a single value"
    return f"{key}: unknown key; {hint}allowed here: {', '.join(known)}"


def allowed(key: str) -> str:
    """The values that the setting at a dotted key allows."""
    return _allowed(_type_at(key.split(".")))


def _with_name(message: str, data: Mapping[str, Any]) -> str:
    """`message` with the name of the vault or domain. msgspec writes `[...]` for any entry."""
    section = next((name for name in _NAMED if f"$.{name}" in message), "")
    if not section or not isinstance(data[section], dict):
        return message
    noun = section.removesuffix("s")
    for name, entry in data[section].items():
        if not re.match(NAME, str(name)):
            names = _allowed(inspect.type_info(Name))
            return f"expected {names} as a {noun}'s name - at `$.{section}[{name}]`"
        try:
            msgspec.convert(entry, _NAMED[section])
        except msgspec.ValidationError:
            return message.replace("[...]", f".{name}", 1)
    return message


def _type_at(path: list[str]) -> inspect.Type | None:
    kind: inspect.Type | None = inspect.type_info(Config)
    for part in path:
        kind = _bare(kind)
        if isinstance(kind, inspect.StructType):
            kind = next((f.type for f in kind.fields if f.encode_name == part), None)
        else:
            kind = getattr(kind, "value_type", getattr(kind, "item_type", None))
    return kind


def _bare(kind: inspect.Type | None) -> inspect.Type | None:
    """A type without `None`. Of text or a section it is the section, which has keys."""
    if isinstance(kind, inspect.UnionType):
        members = _members(kind)
        return next((each for each in members if isinstance(each, inspect.StructType)), members[0])
    return kind


def _members(kind: inspect.UnionType) -> list[inspect.Type]:
    return [member for member in kind.types if not isinstance(member, inspect.NoneType)]


def _allowed(kind: inspect.Type | None) -> str:
    """The values that a type allows, for an error message."""
    if isinstance(kind, inspect.UnionType):
        return " or ".join(map(_allowed, _members(kind)))
    if isinstance(kind, inspect.Metadata):
        return str((kind.extra_json_schema or {}).get("description") or _allowed(kind.type))
    match kind:
        case inspect.LiteralType():
            return "one of " + ", ".join(map(str, kind.values))
        case inspect.IntType() | inspect.FloatType():
            least = f"from {kind.ge}" if kind.gt is None else f"above {kind.gt}"
            most = f"to {kind.le}" if kind.lt is None else f"to below {kind.lt}"
            return (
                f"{'a whole' if isinstance(kind, inspect.IntType) else 'a'} number {least} {most}"
            )
        case inspect.BoolType():
            return "true or false"
        case inspect.StrType():
            return "text"
        case inspect.ListType():
            return "a list, [a, b]" + (", not empty" if kind.min_length else "")
        case inspect.StructType() | inspect.DictType():
            return "a section of `key: value` lines"
    return ""
