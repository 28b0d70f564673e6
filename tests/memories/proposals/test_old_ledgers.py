"""Ledgers of earlier versions, in which contradictions had a log of their own."""

from __future__ import annotations

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.notes.note_file import content_hash
from djinn_memory.store.ledger import Event
from tests.memories.proposals.test_contradictions import note


@pytest.fixture
def contradiction(djinn: Djinn, home: Home) -> str:
    """The id of a contradiction between two notes."""
    note(home, "me/a.md", "Backups are kept for 30 days.", title="Old plan")
    note(home, "me/b.md", "Backups are kept for 90 days.", title="New plan")
    return djinn.review.list().items[0].id


def found(contradiction: str) -> Event:
    return Event("contradiction.found", contradiction, {"agent": "me"})


def settled(djinn: Djinn, contradiction: str, keep: str) -> list[Event]:
    """The events of an earlier version for a contradiction and its memories."""
    data = {"agent": "me", "keep": keep, "note": None, "contradiction": contradiction}
    vault = djinn.home.personal("me")
    hashes = [content_hash((vault.root / f"{name}.md").read_bytes()).hex() for name in "ab"]
    return [
        Event("contradiction.settled", contradiction, {**data, "hashes": hashes}),
        *(Event("contradiction.settled", f"{vault.id}/{name}.md", data) for name in "ab"),
    ]


def test_a_contradiction_that_was_reported_is_open(djinn: Djinn, contradiction: str) -> None:
    djinn.runtime.state.ledger.append([found(contradiction)])
    assert any("1 contradiction" in line for line in djinn.wake().suggestions)
    assert djinn.maintain(["contradictions"]).deeds == ()
    [proposal] = djinn.review.list().items
    assert proposal.id == contradiction
    assert [subject.title for subject in proposal.subjects] == ["Old plan", "New plan"]
    assert djinn.review.accept([contradiction], keep="A").changes
    assert not any("contradiction" in line for line in djinn.wake().suggestions)


@pytest.mark.parametrize("reported", [True, False])
def test_both_hold_until_a_note_changes(
    djinn: Djinn, home: Home, contradiction: str, reported: bool
) -> None:
    events = [found(contradiction)] if reported else []
    djinn.runtime.state.ledger.append([*events, *settled(djinn, contradiction, "both")])
    assert djinn.review.list().total == 0
    assert djinn.maintain(["contradictions"]).deeds == ()
    place = home.root / "vaults" / "me" / "a.md"
    place.write_text(place.read_text() + "\nMore words.\n")
    assert djinn.review.list().items[0].id == contradiction
    assert len(djinn.maintain(["contradictions"]).deeds) == 1


def test_a_contradiction_that_was_gone_or_settled_is_reported_again(
    djinn: Djinn, contradiction: str
) -> None:
    ledger = djinn.runtime.state.ledger
    ledger.append(
        [found(contradiction), Event("contradiction.gone", contradiction, {"agent": "me"})]
    )
    assert len(djinn.maintain(["contradictions"]).deeds) == 1
    settled_event, *_ = settled(djinn, contradiction, "A")
    settled_event.data.pop("hashes")
    ledger.append([settled_event])
    assert len(djinn.maintain(["contradictions"]).deeds) == 1


def test_a_proposal_that_was_withdrawn_for_all(djinn: Djinn, contradiction: str) -> None:
    data = {"kind": "gap", "subjects": [["gap_0", "open"]], "reason": "It is.", "agent": "me"}
    made = Event("proposal.made", "prp_0", data)
    djinn.runtime.state.ledger.append([made, Event("proposal.withdrawn", "prp_0", {})])
    assert djinn.review.list(kind="gap").items == ()
