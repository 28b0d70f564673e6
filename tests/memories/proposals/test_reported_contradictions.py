"""Contradictions that upkeep finds: reported once, to those who see both sides."""

from __future__ import annotations

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent
from tests.conftest import Run
from tests.memories.proposals.test_contradictions import note


@pytest.fixture
def djinn(home: Home) -> Djinn:
    add_agent(home, "ben")
    return Djinn(Home(home.root))


def reported(djinn: Djinn, **options: str | None) -> list[str]:
    report = djinn.maintain(["contradictions"], **options)
    assert not report.problems
    return [action.what.rpartition(" (")[0] for action in report.deeds]


def test_a_contradiction_is_reported_once_until_it_returns(djinn: Djinn, home: Home) -> None:
    note(home, "shared/a.md", "Backups are kept for 30 days.", title="Old plan")
    assert reported(djinn) == []
    other = note(home, "shared/b.md", "Backups are kept for 90 days.", title="New plan")
    assert len(djinn.maintain(["contradictions"], dry_run=True).deeds) == 1
    assert "contradiction" not in " ".join(djinn.wake().suggestions)
    assert reported(djinn) == ["me: 'Old plan' contradicts 'New plan'"]
    assert reported(djinn) == [] and reported(djinn, agent="ben") == []
    said = "1 contradiction between memories is open"
    assert any(said in line for line in djinn.wake().suggestions)
    assert any(said in line for line in djinn.context("backups").suggestions)
    other.write_text("---\ntitle: New plan\n---\nNothing is backed up any more.\n")
    assert reported(djinn) == []
    assert "contradiction" not in " ".join(djinn.wake().suggestions)
    other.write_text("---\ntitle: New plan\n---\nBackups are kept for 90 days.\n")
    assert len(reported(djinn)) == 1
    [contradiction] = djinn.review.list().items
    djinn.review.dismiss([contradiction.id])
    assert "contradiction" not in " ".join(djinn.wake().suggestions)
    assert reported(djinn) == []


def test_nobody_hears_of_the_memories_of_another(djinn: Djinn, home: Home) -> None:
    note(home, "shared/a.md", "Backups are kept for 30 days.", title="Plan")
    note(home, "me/b.md", "Backups are kept for 90 days.", title="Secret plan")
    assert reported(djinn, agent="ben") == []
    assert reported(djinn) == ["me: 'Secret plan' contradicts 'Plan'"]
    assert "contradiction" not in " ".join(djinn.wake(agent="ben").suggestions)
    assert reported(djinn, agent="ben") == []


def test_no_acceptance_without_a_side(djinn: Djinn, home: Home, run: Run) -> None:
    note(home, "shared/a.md", "Backups are kept for 30 days.", title="Old plan")
    note(home, "shared/b.md", "Backups are kept for 90 days.", title="New plan")
    assert len(reported(djinn)) == 1
    [proposal] = djinn.review.list().items
    for dry_run in (True, False):
        report = djinn.review.accept([proposal.id], dry_run=dry_run)
        assert report.items == ()
        assert "does not say which side holds" in report.problems[0].why
    hint = run("review", home=home.root).stderr
    assert "djinn review accept N" in hint
