"""Reads JSON records from a stream, one at a time, however long the stream is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from msgspec import Struct

MOST_BYTES = 64_000_000
"""Maximum size of a record. A longer one is not held in memory."""

LINES = "lines"
"""The layout of a file with a record on each line."""


class BadRecord(Struct, frozen=True):
    """A record that cannot be read."""

    why: str


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
            while (rest := stream.readline(MOST_BYTES)) and not rest.endswith(b"\n"):
                advance(len(rest))
            yield f"line {number}", BadRecord(f"it is longer than {MOST_BYTES:,} bytes")
        elif line.strip(b" \t\r\n\x1e"):
            yield f"line {number}", parsed(line)


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
    except ValueError as error:
        return BadRecord(f"it is not JSON ({error})")


def _elements(
    stream: BinaryIO, prefix: str, advance: Callable[[int], None]
) -> Iterator[tuple[str, Any]]:
    import ijson

    gate, number = _Gate(stream, advance), 0
    try:
        for element in ijson.items(gate, prefix, use_float=True):
            number += 1
            gate.since = 0
            yield f"element {number}" if prefix else "", element
    except (ijson.JSONError, ValueError, RecursionError) as error:
        why = str(error).split("\n", 1)[0].strip() or type(error).__name__
        behind = f"after element {number}" if number else ""
        yield behind, BadRecord(f"the file is not JSON from here on, or is cut off ({why})")


class _Gate:
    """A stream that refuses a record that would fill the memory."""

    def __init__(self, stream: BinaryIO, advance: Callable[[int], None]) -> None:
        self._stream, self._advance = stream, advance
        self.since = 0

    def read(self, size: int = -1) -> bytes:
        if self.since > MOST_BYTES:
            raise ValueError(f"a record is longer than {MOST_BYTES:,} bytes")
        data = self._stream.read(size)
        self.since += len(data)
        self._advance(len(data))
        return data
