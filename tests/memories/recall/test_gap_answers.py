"""Gaps that upkeep closes: only those that a newer memory answers for certain."""

from __future__ import annotations

import re
from datetime import date, timedelta

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent


@pytest.fixture
def djinn(home: Home) -> Djinn:
    add_agent(home, "ben")
    return Djinn(Home(home.root))


@pytest.mark.parametrize(
    ("gap", "title", "text", "closes"),
    [
        ("Which port does the staging database use?", "Ports",
         "The production one is on 5432. The staging database uses port 5433.", True),
        ("Which port does the staging database use?", "Ports",
         "The staging database uses a secure port of its own.", False),
        ("Which port does the staging database use?", "Staging database",
         "It moved to Postgres 16 in May.", False),
        ("Which port does the staging database use?", "Open questions",
         "Which port does the staging database use since 2024?", False),
        ("Which port does the staging database use?", "Ports",
         "We do not know which port the staging database uses since 5433 was closed.", False),
        ("nothing on how to restore a backup", "Backups: Restore",
         "Run `djinn backup restore` with the archive and a new folder.", True),
        ("nothing on how to restore a backup", "Backups", "They are made at night.", False),
        ("Who leads the harbour project?", "Harbour project", "Maren Holt leads it.", True),
        ("Who leads the harbour project?", "Harbour", "The harbour project might be led.", False),
        ("tides", "Tides", "They turn at noon.", False),
    ],
)  # fmt: skip
def test_only_an_answer_for_certain_closes_a_gap(
    djinn: Djinn, gap: str, title: str, text: str, closes: bool
) -> None:
    identity = djinn.gaps.report(gap).gap_id
    djinn.remember("lesson", title, text, force=True)
    report = djinn.maintain(["gaps"])
    assert not report.problems
    closed = [action.what for action in report.deeds if "was closed" in action.what]
    assert [what.split()[2] for what in closed] == [identity] * closes
    assert djinn.maintain(["gaps"]).deeds == ()


def test_an_older_memory_and_one_of_another_agent_do_not_answer(djinn: Djinn) -> None:
    djinn.remember("lesson", "Lamps", "The mole lamp has 40 watts.")
    djinn.gaps.report("How many watts has the mole lamp?")
    note = djinn.home.root / "vaults" / "me" / "lessons" / "lamps.md"
    text = re.sub(r"(created|updated): .20\d\d", r'\1: "2020', note.read_text())
    note.write_text(text)
    djinn.remember("lesson", "Lamps", "The mole lamp has 40 watts.", agent="ben", force=True)
    assert djinn.maintain(["gaps"]).deeds == ()


def test_a_note_of_the_same_day_may_be_older(djinn: Djinn) -> None:
    djinn.gaps.report("How many watts has the mole lamp?")
    for day, closes in ((date.today(), False), (date.today() + timedelta(days=1), True)):
        dates = f"created: {day}\nupdated: {day}"
        note = f"---\ntype: lesson\n{dates}\n---\nThe mole lamp has 40 watts.\n"
        (djinn.home.root / "vaults" / "me" / "lamp.md").write_text(note)
        djinn.index()
        report = djinn.maintain(["gaps"])
        assert any("was closed" in action.what for action in report.deeds) == closes


def test_a_gap_that_was_opened_again_waits_for_another_memory(djinn: Djinn) -> None:
    gap = djinn.gaps.report("How many watts has the mole lamp?").gap_id
    with pytest.raises(NotFound, match="no closed gap"):
        djinn.gaps.reopen(gap)
    djinn.remember("lesson", "Lamps", "The mole lamp has 40 watts.")
    [planned] = djinn.maintain(["gaps"], dry_run=True).deeds
    assert "is to be closed" in planned.what
    [action] = djinn.maintain(["gaps"]).deeds
    assert "answered by 'The mole lamp has 40 watts.'" in action.what
    assert (action.vault, action.path) == ("me", "lessons/lamps.md")
    [group] = djinn.gaps.list(closed=True).groups
    assert group.gaps[0].closed_by == djinn.memories.show("Lamps").id
    assert djinn.gaps.reopen(gap).gap.status == "open"
    djinn.runtime.state.ledger.rebuild()
    assert djinn.gaps.list().groups[0].gaps[0].closed is None
    assert djinn.maintain(["gaps"]).deeds == ()
    djinn.remember("lesson", "New lamps", "Since May the mole lamp has 60 watts.", force=True)
    assert [deed.path for deed in djinn.maintain(["gaps"]).deeds] == ["lessons/new-lamps.md"]
