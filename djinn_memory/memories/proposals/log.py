"""Proposals as the ledger records them. The ledger keeps no titles and no text of notes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from djinn_memory.memories.proposals.kind import Finding
from djinn_memory.notes.ids import derived_id
from djinn_memory.store.ledger import Event, Ledger
from djinn_memory.store.ledger.reading import events_by_kind

MADE, WITHDRAWN = "proposal.made", "proposal.withdrawn"
ACCEPTED, DISMISSED = "proposal.accepted", "proposal.dismissed"
"""The kinds of the events. Their subject is the id of the proposal."""


class Subject(Struct, frozen=True, array_like=True):
    """A subject of a proposal, and its state when the proposal was made."""

    name: str
    state: str


class _Made(Struct, frozen=True):
    """The data of a proposal in the ledger."""

    kind: str
    subjects: tuple[Subject, ...]
    reason: str
    evidence: tuple[str, ...] = ()
    agent: str | None = None
    vault: str | None = None


class RecordedProposal(Struct):
    """A proposal in the ledger, and what was decided about it."""

    id: str
    """`prp_` and ten characters, made from the kind and the names of the subjects."""
    kind: str
    subjects: tuple[Subject, ...]
    reason: str
    evidence: tuple[str, ...]
    agent: str | None
    vault: str | None
    """The id of the vault of its subjects; None for several vaults, or none."""
    since: str
    """When it was made, as ISO 8601 in UTC."""
    dismissed: bool = False
    withdrawn: bool = False
    accepted: bool = False
    """Whether it was accepted. This does not hold any more if the acceptance was taken back."""
    change: str | None = None
    """The id of the change set of its acceptance."""

    @property
    def text_id(self) -> str:
        """The id that the proposal has by the texts of subjects that may be renamed."""
        return proposal_id(self.kind, map(_lasting, self.subjects))


def proposal_id(kind: str, names: Iterable[str]) -> str:
    """The id of a proposal: the same for the same kind and subjects."""
    key = "\n".join([kind, *sorted(names)])
    return f"prp_{derived_id(key).removeprefix('mem_')[:10]}"


def from_finding(kind: str, finding: Finding) -> RecordedProposal:
    """The proposal that a finding is, before it is recorded."""
    subjects = tuple(Subject(*subject) for subject in finding.subjects)
    identity = proposal_id(kind, (subject.name for subject in subjects))
    return RecordedProposal(
        identity, kind, subjects, finding.reason, finding.evidence, finding.agent, finding.vault, ""
    )


def _lasting(subject: Subject) -> str:
    """What stays of a subject when it is renamed: the name, or the text of a memory without id."""
    return subject.state if "/" in subject.name else subject.name


def made(proposal: RecordedProposal) -> Event:
    """The event that a proposal was made."""
    data: dict[str, Any] = {
        "kind": proposal.kind,
        "subjects": [[subject.name, subject.state] for subject in proposal.subjects],
        "reason": proposal.reason,
        "evidence": [*proposal.evidence],
    }
    # A purge looks at the agent and the vault of an event; see `Ledger.redact`.
    place = {"agent": proposal.agent, "vault": proposal.vault}
    data.update((key, value) for key, value in place.items() if value is not None)
    return Event(MADE, proposal.id, data)


def recorded_proposals(ledger: Ledger | None) -> dict[str, RecordedProposal]:
    """All proposals in the ledger, by id, in the order in which they were first made."""
    records: dict[str, RecordedProposal] = {}
    kinds = (MADE, WITHDRAWN, ACCEPTED, DISMISSED)
    for event in events_by_kind(ledger, kinds) if ledger else ():
        if event.kind == MADE:
            _read_made(records, event)
        elif record := records.get(event.subject):
            if event.kind == WITHDRAWN:
                record.withdrawn = True
            elif event.kind == DISMISSED:
                record.dismissed = True
            else:
                change = event.data.get("change")
                record.accepted = True
                record.change = change if isinstance(change, str) else None
    return records


def dismissed_groups(ledger: Ledger | None, kind: str) -> list[frozenset[str]]:
    """The subjects of each dismissed proposal of a kind: names, and texts of those without id."""
    return [
        frozenset({subject.name for subject in record.subjects} | {*map(_lasting, record.subjects)})
        for record in recorded_proposals(ledger).values()
        if record.dismissed and record.kind == kind
    ]


def _read_made(records: dict[str, RecordedProposal], event: Event) -> None:
    try:
        data = msgspec.convert(event.data, _Made)
    except msgspec.ValidationError:
        return  # Data of another program.
    record = RecordedProposal(
        event.subject, data.kind, data.subjects, data.reason, data.evidence, data.agent,
        data.vault, event.at,
    )  # fmt: skip
    before = records.get(event.subject)
    if before:
        record.dismissed, record.accepted = before.dismissed, before.accepted
        record.change = before.change
    records[event.subject] = record
