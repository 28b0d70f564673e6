"""Turns near one that answers are raised, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home

TALK = (
    "Ines: Morning! Did you sleep at all?",
    "Olek: A little. The gulls were loud.",
    "Ines: When does the ferry to the lighthouse leave on Sunday?",
    "Olek: Half past nine, and the last one back is at four.",
    "Ines: Then we pack tonight.",
    "Olek: I bought three new kettles for the kitchen.",
)


@pytest.mark.parametrize("name", ["talk_{}.md", "talk {:02}.md", "{:03}-call.md"])
def test_the_answer_that_follows_a_question_is_raised(home: Home, shared: Path, name: str) -> None:
    for number, text in enumerate(TALK, 8):
        (shared / name.format(number)).write_text(text)
    with Djinn(home) as djinn:
        djinn.index()
        hits = djinn.search("when does the ferry to the lighthouse leave", limit=6).hits
    assert hits[0].path == name.format(10)
    assert {hit.path for hit in hits[1:3]} == {name.format(9), name.format(11)}
    for hit in hits[1:3]:
        assert hit.legs["neighbour"].raw == pytest.approx(hits[0].score, abs=1e-3)
        assert hit.score < hits[0].score


def test_notes_without_a_speaker_and_long_notes_are_not_raised(home: Home, shared: Path) -> None:
    texts = [text.partition(": ")[2] for text in TALK]
    for number, text in enumerate(texts):
        (shared / f"talk_{number}.md").write_text(text)
        (shared / f"long_{number}.md").write_text(f"Ines: {text}\n\n" + "More of it. " * 80)
    with Djinn(home) as djinn:
        djinn.index()
        hits = djinn.search("when does the ferry to the lighthouse leave", limit=12).hits
    assert all("neighbour" not in hit.legs for hit in hits)


def test_records_of_a_journal_that_follow_each_other_are_neighbours(home: Home) -> None:
    with Djinn(home) as djinn:
        for text in TALK:
            djinn.episodes.record_interaction(text.partition(": ")[2], session="s1")
        djinn.index()
        hits = djinn.search("when does the ferry to the lighthouse leave", limit=6).hits
    assert any("last one back" in hit.snippet for hit in hits[1:3])


def test_filters_hold_for_neighbours_too(home: Home, shared: Path) -> None:
    for number, text in enumerate(TALK):
        tag = "" if number == 3 else "---\ntags: [talk]\n---\n"
        (shared / f"talk_{number}.md").write_text(tag + text)
    with Djinn(home) as djinn:
        djinn.index()
        hits = djinn.search("ferry to the lighthouse tag:talk", limit=6).hits
    assert "talk_3.md" not in {hit.path for hit in hits}
