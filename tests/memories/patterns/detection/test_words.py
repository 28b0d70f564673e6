"""The words of a message that say something about an action."""

from __future__ import annotations

from djinn_memory.memories.patterns.detection.words import stems_of


def test_time_zones_of_events_say_nothing() -> None:
    assert stems_of("Plan the week\n2026-11-23 09:00 to 09:30 UTC") == ["plan", "week"]
