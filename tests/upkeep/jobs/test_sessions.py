"""The jobs that extract from sessions, and build the summary again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent
from djinn_memory.memories.episodes.recorder import Turn, record_turns
from djinn_memory.upkeep.requests import MaintenanceReport

NOW = datetime(2026, 3, 4, 10, 0, tzinfo=UTC)


@pytest.fixture
def djinn(home: Home) -> Djinn:
    add_agent(home, "ben")
    return Djinn(Home(home.root), clock=lambda: NOW)


def say(djinn: Djinn, message: str, agent: str = "me", hours: int = 2) -> None:
    turn = Turn("interaction", message, "", NOW - timedelta(hours=hours), "dig", "cli")
    record_turns(djinn.runtime, agent, [turn])


def done(report: MaintenanceReport) -> list[str]:
    assert not report.problems
    return [f"{deed.task} {deed.what}" for deed in report.deeds]


def test_extraction_and_summary_follow_each_other(djinn: Djinn) -> None:
    assert done(djinn.maintain()) == []
    say(djinn, "My city is Warsaw.")
    say(djinn, "I prefer tea over coffee.", "ben")
    planned = done(djinn.maintain(dry_run=True))
    assert planned == [
        "extract me: fact 'user/city' is to be written",
        "extract ben: preference 'Prefers tea over coffee' is to be written",
    ]
    assert done(djinn.maintain()) == [
        "extract me: fact 'user/city' was written",
        "extract ben: preference 'Prefers tea over coffee' was written",
        "summary the summary of me was created",
        "summary the summary of ben was created",
    ]
    assert "city is Warsaw" in djinn.summary.show().text
    assert done(djinn.maintain()) == []
    say(djinn, "My city is Oslo.", hours=1)
    assert done(djinn.maintain(agent="me"))[-1] == "summary the summary of me was revised"
    djinn.facts.forget("user/city")
    say(djinn, "My dog is called Rex.", hours=1)
    djinn.maintain()
    assert "Rex" in djinn.summary.show().text and "Oslo" not in djinn.summary.show().text


def test_a_summary_by_hand_stays_and_a_deleted_one_waits_for_a_change(djinn: Djinn) -> None:
    djinn.summary.set("Mine.")
    djinn.facts.set("user", "city", "Warsaw")
    assert done(djinn.maintain()) == []
    assert djinn.summary.show().text == "Mine."
    djinn.facts.set("user", "city", "Warsaw", agent="ben")
    assert done(djinn.maintain(agent="ben", dry_run=True)) == [
        "summary the summary of ben is to be built"
    ]
    assert done(djinn.maintain(agent="ben")) == ["summary the summary of ben was created"]
    djinn.memories.delete("ben:summaries/summary.md", agent="ben")
    assert done(djinn.maintain(agent="ben")) == []
    djinn.facts.set("user", "city", "Oslo", agent="ben")
    assert done(djinn.maintain(agent="ben")) == ["summary the summary of ben was created"]
