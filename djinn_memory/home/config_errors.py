"""Explains in one line what is wrong with a setting, and what is allowed there."""

from __future__ import annotations

import difflib
import re
import types
import typing
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta


def explain(message: str, root: type[msgspec.Struct]) -> str:
    """What `message`, by msgspec, says of a value in `root`, with what is allowed there."""
    text, _, at = " ".join(message.split()).partition(" - at ")
    path = [part for part in re.split(r"[.\[\]`]+", at.rpartition("$")[2]) if part]
    names = re.findall(r"`([^`]*)`", text)
    if "unknown field" in text and names:
        kind = _type_at(path, root)
        known = [f.encode_name for f in msgspec.structs.fields(kind)] if _is_struct(kind) else []
        return unknown(names[0], ".".join(path), known)
    key = ".".join(path)
    if at.startswith("`key`"):
        return f"{'.'.join(path) or 'the file'}: a key is not text; write names as keys"
    if text.startswith("expected "):
        return f"{key}: {text}"
    if "missing required field" in text and names:
        return f"{key}.{names[0]} is missing; write it there"
    match = re.search(r"got `([^`]*)`|Invalid enum value (.*)", text)
    actual = f", not {match[1] or match[2]}" if match else ""
    allowed = describe(_type_at(path, root)) or text.removeprefix("Expected ")
    return f"{key or 'the file'}: expected {allowed}{actual}"


def unknown(name: str, at: str, known: list[str]) -> str:
    """The message for a key `name` that does not exist at `at`, with the known keys."""
    near = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]}? " if near else ""
    key = f"{at}.{name}" if at else name
    if not known:
        return f"{key}: no such key; {at} is a single value"
    return f"{key}: no such key; {hint}known here: {', '.join(known)}"


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _type_at(path: list[str], root: type[msgspec.Struct]) -> Any:
    kind: Any = root
    for part in path:
        kind = _bare(kind)
        if _is_struct(kind):
            hints = typing.get_type_hints(kind, include_extras=True)
            by_name = {f.encode_name: hints[f.name] for f in msgspec.structs.fields(kind)}
            kind = by_name.get(part)
        else:
            arguments = typing.get_args(kind)
            kind = arguments[-1] if arguments else None
    return kind


def _bare(kind: Any) -> Any:
    if typing.get_origin(kind) is Annotated:
        return _bare(typing.get_args(kind)[0])
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return _bare(next(a for a in typing.get_args(kind) if a is not type(None)))
    return kind


def describe(kind: Any) -> str:
    """The values that a type allows, for an error message."""
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        kind = next(a for a in typing.get_args(kind) if a is not type(None))
    bare = _bare(kind)
    metas = [m for m in typing.get_args(kind)[1:] if isinstance(m, Meta)]
    if typing.get_origin(bare) is Literal:
        return "one of " + ", ".join(map(str, typing.get_args(bare)))
    meta = metas[0] if metas else Meta()
    if bare in (int, float):
        least = f"from {meta.ge}" if meta.gt is None else f"above {meta.gt}"
        most = f"to {meta.le}" if meta.lt is None else f"to below {meta.lt}"
        return f"{'a whole' if bare is int else 'a'} number {least} {most}"
    if bare is bool:
        return "true or false"
    if bare is str:
        return meta.description or "text"
    if typing.get_origin(bare) is list:
        return "a list, [a, b]" + (", not empty" if meta.min_length else "")
    if _is_struct(bare) or typing.get_origin(bare) is dict:
        return "a section of `key: value` lines"
    return ""


def kind_of(value: object) -> str:
    """The kind of a YAML value, in a user's words."""
    return {list: "a list", str: "text", int: "a number", float: "a number"}.get(
        type(value), "something else"
    )
