"""Whatever a file holds, an import reads it, or names what is wrong in a line."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from djinn_memory.errors import DjinnError
from djinn_memory.memories.imports.detect import _find_exports
from djinn_memory.memories.imports.messages import (
    Exchange,
    LeftOut,
    draft,
    exchanges,
    pieces,
    timed,
)
from djinn_memory.memories.imports.occurrences import ImportPeriod
from djinn_memory.memories.imports.reading import Reading
from djinn_memory.memories.imports.records import open_tree
from djinn_memory.memories.imports.requests import FormatChoice
from djinn_memory.memories.profiles.agenda import PlannedEvent
from djinn_memory.models import Problem
from tests.examples import examples
from tests.memories.imports.exports import BOAT, CALENDAR, DAY, LOG, trip

NOW = datetime(2026, 6, 1, tzinfo=UTC)
PERIOD = ImportPeriod(NOW - timedelta(days=730), NOW + timedelta(days=365))

KEYS = st.sampled_from(
    ["role", "content", "text", "type", "message", "messages", "author", "id", "ts", "timestamp",
     "mapping", "current_node", "parent", "children", "chat_messages", "sender", "parts", "name",
     "conversations", "payload", "sessionId", "prompt", "response", "create_time", "user",
     "metadata", "content_type", "files", "attachments", "tool_calls", "function", "subtype"]
)  # fmt: skip
WORDS = st.text(max_size=8) | st.sampled_from(
    ["user", "assistant", "system", "tool", "message", "response_item", "1.5", "2026-01-01", "n1",
     "<@U1>", "<x|y>", "\x00", "\ud800", "99999999999999999999"]
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | WORDS, inner, max_size=5),
    max_leaves=20,
)


def changed(value: Any, paths: list[int], new: Any) -> Any:
    """A value in which another stands at some place."""
    if paths and isinstance(value, dict) and value:
        key = sorted(value)[paths[0] % len(value)]
        return {**value, key: changed(value[key], paths[1:], new)}
    if paths and isinstance(value, list) and value:
        at = paths[0] % len(value)
        return [*value[:at], changed(value[at], paths[1:], new), *value[at + 1 :]]
    return new


REAL = st.sampled_from([[BOAT], [trip()], DAY, LOG])
SPOILT = st.builds(changed, REAL, st.lists(st.integers(0, 9), min_size=1, max_size=6), VALUES)
FORMS = st.sampled_from(["auto", "jsonl", "claude", "chatgpt", "slack", "calendar"])


def read(path: Path, form: FormatChoice) -> None:
    """Read a file as an import does, up to the turns."""
    problems: list[Problem] = []
    try:
        exports = [*_find_exports(open_tree(path), form, problems)]
    except DjinnError as error:
        assert "\n" not in str(error)
        return
    for export in exports:
        messages = Reading(export, "user", NOW, PERIOD, lambda _: None).messages()
        for entry in exchanges(timed(messages, NOW)):
            assert isinstance(entry, Exchange | LeftOut | PlannedEvent | Problem)
            assert not (isinstance(entry, Problem) and "report this bug" in entry.why), entry
            if isinstance(entry, Exchange):
                assert entry.first.text.strip()
                for turn in pieces(draft(export.format, entry, NOW)):
                    assert turn.at.tzinfo and turn.at <= NOW
                    assert turn.source and turn.session and "\n" not in turn.session
                    json.dumps(turn.context)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any") / "file.json"


SETTINGS = settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@given(value=VALUES | SPOILT, form=FORMS, by_line=st.booleans())
@SETTINGS
def test_any_json(file: Path, value: Any, form: FormatChoice, by_line: bool) -> None:
    records = value if by_line and isinstance(value, list) else [value]
    text = "\n".join(json.dumps(record) for record in records) if by_line else json.dumps(value)
    file.write_text(text, encoding="utf-8")
    read(file, form)


@given(data=st.binary(max_size=300), form=FORMS)
@SETTINGS
def test_any_bytes(file: Path, data: bytes, form: FormatChoice) -> None:
    file.write_bytes(data)
    read(file, form)


@given(
    at=st.integers(0, len(CALENDAR)),
    end=st.integers(0, 60),
    new=st.text(max_size=20) | st.sampled_from(["RRULE:FREQ=DAILY\n", "DTSTART:x\n", "\n"]),
)
@SETTINGS
def test_any_calendar(file: Path, at: int, end: int, new: str) -> None:
    text = CALENDAR[:at] + new + CALENDAR[at + end :]
    file.write_bytes(text.encode("utf-8", "replace"))
    read(file, "auto")
