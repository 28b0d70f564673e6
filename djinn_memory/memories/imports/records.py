"""Reads JSON records from a stream, one at a time, however long the stream is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any, BinaryIO

from msgspec import Struct

MOST_BYTES = 64_000_000
"""Maximum size of a record. A longer one is not held in memory."""

SKIPPED_BYTES = 65_536
"""Bytes of a longer one that are read at once."""

MOST_DEPTH = 500
"""Maximum depth of nested arrays and objects."""

MOST_DIGITS = 2_000
"""Maximum digits of a number. Python refuses 4,300, and a number may lie in two blocks."""

_INNER = rb'[^"\\]*+(?:\\.[^"\\]*+)*+'
_STRING = re.compile(rb'"%b"|(")%b(\\?)\Z' % (_INNER, _INNER), re.DOTALL)
"""A string. The groups are of the last one, if it does not end here: its quote, and a backslash
that escapes what comes next."""

_BRACKET = re.compile(rb"[\[\]{}]")
_LONG_NUMBER = re.compile(rb"[0-9]{%d}" % (MOST_DIGITS + 1))

LINES = "lines"
"""The layout of a file with a record on each line."""


_CUT_LITERAL = re.compile(
    r"(?:(?:^|[\s:,\[])(?:t|tr|tru|f|fa|fal|fals|n|nu|nul|-)|(?:^|\d)(?:\.|\.?\d*[eE][+-]?))\Z"
)
"""A word or a number that breaks off, and is not JSON so far."""


class BadRecord(Struct, frozen=True):
    """A record that cannot be read."""

    why: str
    cut: bool = False
    """Whether the file ends within it."""


def read_records(
    stream: BinaryIO, layout: str, advance: Callable[[int], None] = lambda _: None
) -> Iterator[tuple[str, Any]]:
    """The records of a UTF-8 stream, each with its place, such as `line 3`.

    `layout` is `LINES`, or the prefix of the records as ijson writes it: `item` for the elements of
    an array. `advance` gets the number of bytes that were read. A record that cannot be read is a
    `BadRecord`.
    """
    if layout == LINES:
        yield from _lines(stream, advance)
    else:
        yield from _elements(stream, layout, advance)


def _lines(stream: BinaryIO, advance: Callable[[int], None]) -> Iterator[tuple[str, Any]]:
    number = 0
    while line := stream.readline(MOST_BYTES):
        number += 1
        advance(len(line))
        if len(line) == MOST_BYTES and not line.endswith(b"\n"):
            # What was read of it must not stay in memory beside the rest.
            line = b""
            while rest := stream.readline(SKIPPED_BYTES):
                advance(len(rest))
                if rest.endswith(b"\n"):
                    break
            yield f"line {number}", BadRecord(f"it is longer than {MOST_BYTES:,} bytes")
        elif line.strip(b" \t\r\n\x1e"):
            record = parsed(line)
            if isinstance(record, BadRecord) and record.cut and not line.endswith(b"\n"):
                record = BadRecord("the file is cut off in this line", True)
            yield f"line {number}", record


def parsed(line: bytes) -> Any:
    """The JSON value of a line, or a `BadRecord`."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        text = line.decode("cp1252", "replace")
    try:
        return json.loads(text.strip("\x1e \t\r\n\0"))
    except RecursionError:
        return BadRecord("it is nested too deep")
    except json.JSONDecodeError as error:
        return BadRecord(f"it is not JSON ({error})", _breaks_off(error))
    except ValueError as error:
        return BadRecord(f"it is not JSON ({error})")


def _breaks_off(error: json.JSONDecodeError) -> bool:
    """Whether a text that is not JSON could be the beginning of JSON."""
    rest = error.doc[error.pos :]
    return (
        not rest.strip()
        or error.msg.startswith(("Unterminated string", "Invalid \\uXXXX"))
        or _CUT_LITERAL.fullmatch(rest) is not None
    )


def _elements(
    stream: BinaryIO, prefix: str, advance: Callable[[int], None]
) -> Iterator[tuple[str, Any]]:
    import ijson

    gate, number = Gate(stream, advance), 0
    try:
        for element in ijson.items(gate, prefix, use_float=True):
            number += 1
            gate.since = 0
            yield f"element {number}" if prefix else "", element
    except (ijson.JSONError, ValueError, RecursionError) as error:
        why = str(error).split("\n", 1)[0].strip() or type(error).__name__
        behind = f"after element {number:,}" if number else ""
        if "premature EOF" in why or _CUT_LITERAL.search(gate.tail.decode("ascii", "replace")):
            yield (
                behind,
                BadRecord(f"the file is cut off from here on, at byte {gate.size:,}", True),
            )
        else:
            yield behind, BadRecord(f"the file is not JSON from here on ({why})")


class Gate:
    """A stream of JSON that refuses what the parser cannot bear, with `ValueError`.

    That is a record that would fill the memory, deep nesting, of which the parser keeps the square,
    and a number with thousands of digits, at which it crashes.
    """

    def __init__(
        self, stream: BinaryIO | BytesIO, advance: Callable[[int], None] = lambda _: None
    ) -> None:
        """`advance` gets the number of bytes that were read."""
        self._stream, self._advance = stream, advance
        self.since = 0
        """The bytes that were read of the current record. The parser's caller resets it."""
        self.size = 0
        """The bytes that were read."""
        self.tail = b""
        """The last of them."""
        self._depth = 0
        self._opened = b""
        """The start of the string that the bytes so far end in; empty outside of strings."""

    def read(self, size: int = -1) -> bytes:
        if self.since > MOST_BYTES:
            raise ValueError(f"a record is longer than {MOST_BYTES:,} bytes")
        data = self._stream.read(size)
        self.since += len(data)
        self.size += len(data)
        self.tail = (self.tail + data[-8:])[-8:]
        self._advance(len(data))
        self._check(self._opened + data)
        return data

    def _check(self, data: bytes) -> None:
        structure, *opened = _STRING.sub(rb"\1\2", data).partition(b'"')
        self._opened = b"".join(opened)
        if _LONG_NUMBER.search(structure):
            raise ValueError(f"a number has more than {MOST_DIGITS:,} digits")
        opens = structure.count(b"[") + structure.count(b"{")
        if self._depth + opens > MOST_DEPTH:
            depth = self._depth
            for bracket in _BRACKET.findall(structure):
                depth += 1 if bracket in b"[{" else -1
                if depth > MOST_DEPTH:
                    raise ValueError("it is nested too deep")
        self._depth += opens - structure.count(b"]") - structure.count(b"}")
