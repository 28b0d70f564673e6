"""Edits JSON text in place: adds elements to arrays and removes them. All other bytes stay."""

from __future__ import annotations

import json
from collections.abc import Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from msgspec import Struct, field

_SPACE = " \t\r\n"
_decode = json.JSONDecoder().raw_decode

Step = str | int
"""A key of an object, or a position in an array."""


class UnspliceableJsonError(ValueError):
    """A text that cannot be edited. The message gives the reason, with the line."""


class _Span(Struct):
    """A value in a text, with the values inside it."""

    start: int
    end: int
    kind: str
    """Its first character: `{`, `[`, or that of a scalar."""
    keys: list[Step] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)
    """Where each inner value begins, for an object with its key."""
    inner: list[_Span] = field(default_factory=list)

    def child(self, step: Step) -> int | None:
        """The position of the inner value at a step; of equal keys the last, which counts."""
        numbers = reversed(range(len(self.keys)))
        return next((number for number in numbers if self.keys[number] == step), None)


def parse(text: str) -> Any:
    """The value of a JSON text. Raises `UnspliceableJsonError`."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UnspliceableJsonError(f"line {error.lineno}: {error.msg}") from None
    except ValueError:
        raise UnspliceableJsonError("a number in it has too many digits") from None
    except RecursionError:
        raise UnspliceableJsonError("it is nested too deep") from None


def append(text: str, path: Sequence[str], value: Any) -> str:
    """`text` with `value` at the end of the array at `path`, a series of keys.

    Missing objects and the array are created. Raises `UnspliceableJsonError` when the text is no
    object, or something else stands in the place of one of them.
    """
    parse(text)
    span, depth = _top(text), 0
    for number, key in enumerate(path):
        if span.kind != "{":
            raise UnspliceableJsonError(f"{_named(path[:number])} is not an object")
        child = span.child(key)
        if child is None:
            new: Any = [value]
            for inner in reversed(path[number + 1 :]):
                new = {inner: new}
            return _inserted(text, span, depth, new, key)
        span, depth = span.inner[child], depth + 1
    if span.kind != "[":
        raise UnspliceableJsonError(f"{_named(path)} is not a list")
    return _inserted(text, span, depth, value, None)


def remove(text: str, path: Sequence[Step]) -> str:
    """`text` without the value at `path`. It undoes `append`."""
    span = _top(text)
    for step in path[:-1]:
        child = span.child(step)
        if child is None:
            return text
        span = span.inner[child]
    number = span.child(path[-1])
    if number is None:
        return text
    if len(span.inner) == 1:
        return f"{text[: span.start + 1]}{text[span.end - 1 :]}"
    if number:
        return text[: span.inner[number - 1].end] + text[span.inner[number].end :]
    return text[: span.begins[0]] + text[span.begins[1] :]


def _top(text: str) -> _Span:
    try:
        return _span(text, _skipped(text, 0))
    except RecursionError:
        raise UnspliceableJsonError("it is nested too deep") from None


def _named(path: Sequence[str]) -> str:
    return ".".join(path) or "the top"


def _inserted(text: str, span: _Span, depth: int, value: Any, key: str | None) -> str:
    """`text` with a value after the last one of an object or an array."""
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    if span.inner:
        gap = text[span.start + 1 : span.begins[0]]
        if "\n" not in gap:
            gap = " "
        written = _written(text, value, gap.rpartition("\n")[2] if "\n" in gap else None)
        end = span.inner[-1].end
        return f"{text[:end]},{gap}{name}{written}{text[end:]}"
    line = text[: span.start].rpartition("\n")[2]
    outer = line[: len(line) - len(line.lstrip(_SPACE))]
    if depth and "\n" not in text.strip():
        return f"{text[: span.start + 1]}{name}{_written(text, value, None)}{text[span.end - 1 :]}"
    newline, indent = _newline(text), outer + _unit(text)
    written = f"{newline}{indent}{name}{_written(text, value, indent)}{newline}{outer}"
    return f"{text[: span.start + 1]}{written}{text[span.end - 1 :]}"


def _written(text: str, value: Any, indent: str | None) -> str:
    """A value on lines that begin with `indent`; on one line for None."""
    if indent is None:
        return json.dumps(value, ensure_ascii=False)
    written = json.dumps(value, ensure_ascii=False, indent=_unit(text))
    return written.replace("\n", _newline(text) + indent)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    """The indentation of one level: that of the first key."""
    top = _top(text)
    gap = text[top.start + 1 : top.begins[0]] if top.begins else ""
    return gap.rpartition("\n")[2] or "  " if "\n" in gap else "  "


def _skipped(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _span(text: str, at: int) -> _Span:
    """The span of the value at a place of a valid text."""
    kind = text[at]
    span = _Span(at, at, kind)
    if kind not in "{[":
        span.end = _decode(text, at)[1]
        return span
    at = _skipped(text, at + 1)
    while text[at] not in "}]":
        span.begins.append(at)
        key: Step = len(span.keys)
        if kind == "{":
            key, at = scanstring(text, at + 1, True)
            at = _skipped(text, _skipped(text, at) + 1)
        value = _span(text, at)
        span.keys.append(key)
        span.inner.append(value)
        at = _skipped(text, value.end)
        if text[at] == ",":
            at = _skipped(text, at + 1)
    span.end = at + 1
    return span
