"""Reads proposals with the current state of their subjects, as an agent may see them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from djinn_memory.memories.catalog.identity import located
from djinn_memory.memories.changes.history import undone_changes
from djinn_memory.memories.proposals.kind import OtherSubject
from djinn_memory.memories.proposals.log import RecordedProposal
from djinn_memory.memories.proposals.registry import KINDS
from djinn_memory.memories.proposals.requests import Proposal, ProposalStatus, ProposalSubject
from djinn_memory.models import Vault
from djinn_memory.runtime import Runtime
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import IndexedMemory

_AT_ONCE = 5_000
"""Names that are looked up at once, fewer than SQLite's limit of values in a query."""

LiveSubject = IndexedMemory | OtherSubject | None


class LiveProposal(Struct, frozen=True):
    """A proposal with its subjects as they are now."""

    record: RecordedProposal
    subjects: tuple[LiveSubject, ...]
    """In the order of the record; None for a subject that no longer exists."""
    accepted: bool
    """Whether it was accepted, and the acceptance was not taken back."""

    @property
    def status(self) -> ProposalStatus:
        """The status: open only while the subjects are as they were when it was made.

        An acceptance that was taken back restores them, so the proposal is open again. It is
        withdrawn if they change later.
        """
        record = self.record
        if record.dismissed:
            return "dismissed"
        states = [_state(subject) for subject in self.subjects]
        if states == [subject.state for subject in record.subjects]:
            return "withdrawn" if record.withdrawn else "open"
        return "accepted" if self.accepted else "withdrawn"

    @property
    def memories(self) -> list[IndexedMemory]:
        """The subjects that are memories."""
        return [each for each in self.subjects if isinstance(each, IndexedMemory)]

    @property
    def other_names(self) -> list[str]:
        """The names of the subjects that are no memories."""
        pairs = zip(self.record.subjects, self.subjects, strict=True)
        return [subject.name for subject, live in pairs if isinstance(live, OtherSubject)]


def live_proposals(
    runtime: Runtime, records: Iterable[RecordedProposal], agent: str | None
) -> list[LiveProposal]:
    """The proposals among these that an agent may see, in their order; None sees all.

    An agent sees a proposal that concerns it alone, and whose subjects it sees all. The subjects
    are looked up as the agent of the proposal sees them.
    """
    home = runtime.home
    whole = agent is None or len(home.config.agents) == 1
    chosen = [
        record for record in records if record.kind in KINDS and (whole or record.agent == agent)
    ]
    subjects: dict[str | None, Mapping[str, LiveSubject]] = {}
    for owner in {record.agent for record in chosen}:
        known = owner if owner in home.config.agents else None
        with runtime.index(home.visible(known)) as index:
            own = [record for record in chosen if record.agent == owner]
            subjects[owner] = _subjects(runtime, index, own)
    undone = undone_changes(runtime.state.ledger_if_any) if chosen else frozenset[str]()
    proposals = []
    for record in chosen:
        live = tuple(subjects[record.agent].get(each.name) for each in record.subjects)
        proposals.append(LiveProposal(record, live, _stands(record, live, undone)))
    return [each for each in proposals if agent is None or None not in each.subjects]


def _stands(
    record: RecordedProposal, subjects: Sequence[LiveSubject], undone: Collection[str]
) -> bool:
    """Whether a proposal was accepted, and that was not taken back."""
    states = [
        (subject.state, live.state)
        for subject, live in zip(record.subjects, subjects, strict=True)
        if isinstance(live, OtherSubject)
    ]
    if states:
        # An undo does not open a gap again.
        return record.accepted and any(before != now for before, now in states)
    return record.accepted and record.change not in undone


def _subjects(
    runtime: Runtime, index: Index, records: Sequence[RecordedProposal]
) -> Mapping[str, LiveSubject]:
    names = list(dict.fromkeys(each.name for record in records for each in record.subjects))
    subjects: dict[str, LiveSubject] = {}
    for start in range(0, len(names), _AT_ONCE):
        subjects |= located(index, names[start : start + _AT_ONCE])
    by_kind: dict[str, list[str]] = {}
    for record in records:
        missing = (each.name for each in record.subjects if each.name not in subjects)
        by_kind.setdefault(record.kind, []).extend(missing)
    for kind, others in by_kind.items():
        subjects |= KINDS[kind].others(runtime, others) if others else {}
    return subjects


def _state(subject: LiveSubject) -> str | None:
    if subject is None:
        return None
    return subject.hash if isinstance(subject, IndexedMemory) else subject.state


def as_proposal(
    proposal: LiveProposal, status: ProposalStatus, vaults: Sequence[Vault]
) -> Proposal:
    """A proposal as answers show it."""
    record = proposal.record
    names = {vault.id: vault.name for vault in vaults}
    return Proposal(
        record.id,
        record.kind,
        status,
        record.reason,
        record.evidence,
        KINDS[record.kind].action,
        tuple(
            _shown(subject.name, live, names)
            for subject, live in zip(record.subjects, proposal.subjects, strict=True)
        ),
        record.since,
        record.agent,
        record.change if status == "accepted" else None,
    )


def _shown(name: str, subject: LiveSubject, vaults: Mapping[str, str]) -> ProposalSubject:
    if isinstance(subject, IndexedMemory):
        return ProposalSubject(subject.address, subject.title, subject.vault, subject.path)
    if subject is not None:
        return ProposalSubject(name, subject.title)
    uuid, slash, path = name.partition("/")
    return ProposalSubject(f"{vaults.get(uuid, uuid)}:{path}" if slash else name, None)
