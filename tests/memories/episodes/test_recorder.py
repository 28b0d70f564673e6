"""Turns are recorded in batches, and a turn of another program is recorded once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.memories.episodes import journals
from djinn_memory.memories.episodes.recorder import Turn, record_turns

NOW = datetime(2026, 3, 4, 10, 0, tzinfo=UTC)


def turn(number: int, text: str = "The ferry is late") -> Turn:
    at = NOW - timedelta(days=2) + timedelta(minutes=number)
    message = f"{text}, number {number}."
    return Turn(
        "interaction", message, "Noted.", at, "chat-7", "api", source=f"log:chat-7/{number}"
    )


def test_a_known_turn_is_not_recorded_again(home: Home) -> None:
    with Djinn(home, clock=lambda: NOW) as djinn:
        batch = record_turns(djinn.runtime, "me", map(turn, range(5)))
        assert len(batch) == 5
        again = record_turns(djinn.runtime, "me", map(turn, range(3, 8)))
        assert len(again) == 3
        # Neither does an index that was deleted.
        djinn.close()
        home.index_path.unlink()
        assert record_turns(djinn.runtime, "me", map(turn, range(8))) == []
        assert djinn.episodes.list(session="chat-7").total == 8


@pytest.mark.soak
def test_a_batch_continues_in_further_journals(home: Home) -> None:
    with Djinn(home, clock=lambda: NOW) as djinn:
        long = "The ferry is late " * 5_000
        batch = record_turns(djinn.runtime, "me", [turn(number, long) for number in range(25)])
        paths = {episode.path for episode in batch}
        assert len(paths) == 3
        sizes = [(home.root / "vaults" / "me" / path).stat().st_size for path in paths]
        assert max(sizes) <= journals.FULL
        again = record_turns(djinn.runtime, "me", [turn(number, long) for number in range(26)])
        assert len(again) == 1
