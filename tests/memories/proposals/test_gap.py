"""Proposals to close gaps: for what is likely and not certain, and for the agent of the gap."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent

GAP = "no word on brewing green tea"


@pytest.fixture
def djinn(home: Home, shared: Path) -> Djinn:
    add_agent(home, "ben")
    djinn = Djinn(Home(home.root))
    djinn.index()
    djinn.gaps.report(GAP)
    # The note does not answer, so that it is only proposed.
    (shared / "brew.md").write_text(f"---\ncreated: 2999-01-01\n---\n# Brew\n\n{GAP}\n")
    djinn.index()
    return djinn


def test_a_likely_answer_is_proposed_and_closes_the_gap(djinn: Djinn) -> None:
    assert len(djinn.maintain(["gaps"], dry_run=True).deeds) == 1
    [action] = djinn.maintain(["gaps"]).deeds
    assert f"is proposed: gap {GAP!r}" in action.what
    assert djinn.maintain(["gaps"]).deeds == ()
    [proposal] = djinn.review.list(kind="gap").items
    assert [subject.title for subject in proposal.subjects] == [GAP, "Brew"]
    assert djinn.review.list(agent="ben").items == ()
    djinn.review.accept([proposal.id])
    assert djinn.gaps.list().groups == ()
    [group] = djinn.gaps.list(closed=True).groups
    assert group.gaps[0].closed_by == f"{djinn.home.shared.id}/brew.md"
    djinn.gaps.reopen(group.gaps[0].id)
    assert djinn.maintain(["gaps"]).deeds == ()
    assert djinn.gaps.list().groups


def test_a_dismissed_answer_is_not_proposed_again(djinn: Djinn) -> None:
    djinn.maintain(["gaps"])
    [proposal] = djinn.review.list().items
    djinn.review.dismiss([proposal.id])
    assert djinn.maintain(["gaps"]).deeds == () and djinn.gaps.list().groups
    assert djinn.gaps.suggest().suggestions == ()
