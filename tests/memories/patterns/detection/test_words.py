"""The words of a message that say something about an action."""

from __future__ import annotations

import pytest

from djinn_memory.memories.patterns.detection.history import stems_of


def test_time_zones_of_events_say_nothing() -> None:
    assert stems_of("Plan the week\n2026-11-23 09:00 to 09:30 UTC") == ["plan", "week"]


@pytest.mark.parametrize("name", ["one on one", "One-to-one", "1:1", "1 on 1"])
def test_a_meeting_of_stop_words_is_a_word(name: str) -> None:
    assert stems_of(f"Notes from the {name}") == ["note", "one-on-on"]


def test_a_time_and_a_ratio_are_no_meeting() -> None:
    assert stems_of("At 11:15 with a ratio of 1:10 on one leg") == ["ratio", "leg"]
