"""Observations past their time: marked in their journals, and nothing else in them changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.memories.episodes.recorder import Turn, record_turns
from djinn_memory.notes import journal

NOW = datetime(2026, 3, 4, 10, 0, tzinfo=UTC)


def test_old_observations_are_marked_and_recalled_no_more(home: Home) -> None:
    djinn = Djinn(home, clock=lambda: NOW)
    turns = [
        Turn(kind, text, "", NOW - timedelta(days=days), "dig", "cli", {"a": "%% }"})
        for kind, text, days in (
            ("observation", "The quay sinks %% {}", 402),
            ("observation", "The quay sinks again", 402),
            ("interaction", "Does the quay sink?", 402),
            ("observation", "The quay was raised", 399),
        )
    ]
    record_turns(djinn.runtime, "me", turns)
    [old, young] = sorted((home.root / "vaults" / "me" / "journal").iterdir())
    before, kept = old.read_bytes(), young.read_bytes()
    [action] = djinn.maintain(["observations"], dry_run=True).deeds
    assert action.what == "me: 2 observations of 2025-01-26 to be archived"
    assert old.read_bytes() == before
    assert len(djinn.maintain(["observations"]).deeds) == 1
    after = old.read_bytes()
    assert after.replace(b', "status": "archived"', b"") == before
    assert (after.count(b'"archived"'), young.read_bytes()) == (2, kept)
    titles = {memory.title for memory in djinn.recall("quay").memories}
    assert titles == {"Does the quay sink?", "The quay was raised"}
    assert {hit.title for hit in djinn.search("quay sinks again").hits} > {"The quay sinks again"}
    djinn.changes.undo()
    assert old.read_bytes() == before and djinn.maintain(["observations"]).deeds == ()


def test_a_mark_is_only_added_where_djinn_writes() -> None:
    path = "journal/2025-01-26.home.md"
    head = journal.header("2025-01-26", "home")
    record = journal.compose("09:00", "Fog", "mem-1", "Fog", {})
    data = f"{head}{record}".encode()
    assert b'{"status": "archived"}' in journal.marked(path, data, ["mem-1"], "status", "archived")
    assert journal.marked(path, data, ["mem-2"], "status", "archived") == data
    windows = data.replace(b"\n", b"\r\n")
    assert journal.marked(path, windows, ["mem-1"], "status", "archived") == windows
