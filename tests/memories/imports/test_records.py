"""Records of a stream, one at a time, however long a line is."""

from __future__ import annotations

import io
import tracemalloc
from typing import Any

import pytest

from djinn_memory.memories.imports import records
from djinn_memory.memories.imports.records import LINES, BadRecord, read_records

MOST = 1_000_000


def test_a_line_that_is_too_long_is_named_and_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_BYTES", MOST)
    stream = io.BytesIO(b'{"a": 1}\n"' + b"x" * 20 * MOST + b'"\n{"a": 3}\n')
    size, read = len(stream.getvalue()), list[int]()
    tracemalloc.start()
    listed = list(read_records(stream, LINES, read.append))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 * MOST
    assert sum(read) == size
    assert listed == [
        ("line 1", {"a": 1}),
        ("line 2", BadRecord("it is longer than 1,000,000 bytes")),
        ("line 3", {"a": 3}),
    ]


@pytest.mark.parametrize("over", [-1, 0, 1, records.SKIPPED_BYTES, records.SKIPPED_BYTES + 1])
@pytest.mark.parametrize("end", [b"", b"\n", b"\n2\n"])
def test_lines_at_the_limit(over: int, end: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_BYTES", 1000)
    line = b"1" * (1000 + over)
    listed: list[tuple[str, Any]] = list(read_records(io.BytesIO(line + end), LINES))
    fits = len(line) < 1000
    assert (listed[0][0], isinstance(listed[0][1], BadRecord)) == ("line 1", not fits)
    assert listed[1:] == ([("line 2", 2)] if end.endswith(b"2\n") else [])
