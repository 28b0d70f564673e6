"""Reads proposals with the current state of their subjects, as an agent may see them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from djinn_memory.memories.catalog.identity import located
from djinn_memory.memories.changes.history import undone_changes
from djinn_memory.memories.proposals.kind import LiveProposal, LiveSubject
from djinn_memory.memories.proposals.kinds import KINDS
from djinn_memory.memories.proposals.log import RecordedProposal
from djinn_memory.memories.proposals.requests import Proposal, ProposalStatus, ProposalSubject
from djinn_memory.models import Vault
from djinn_memory.runtime import Runtime
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import IndexedMemory

_AT_ONCE = 5_000
"""Names that are looked up at once, fewer than SQLite's limit of values in a query."""


def live_proposals(
    runtime: Runtime, records: Iterable[RecordedProposal], agent: str | None
) -> list[LiveProposal]:
    """The proposals among these that an agent may see, in their order; None sees all.

    An agent sees a proposal that concerns it, and whose subjects it sees all. Without an agent, the
    subjects are looked up as the agent of the proposal sees them.
    """
    home = runtime.home
    whole = agent is None or len(home.config.agents) == 1
    chosen = [
        record
        for record in records
        if record.kind in KINDS and (whole or agent in {record.agent, *record.agents})
    ]
    subjects: dict[str | None, Mapping[str, LiveSubject]] = {}
    for owner in {agent or record.agent for record in chosen}:
        known = owner if owner in home.config.agents else None
        with runtime.index(home.visible(known)) as index:
            own = [record for record in chosen if owner in (agent, record.agent)]
            subjects[owner] = _subjects(runtime, index, own)
    undone = undone_changes(runtime.state.ledger_if_any) if chosen else frozenset[str]()
    proposals = []
    for record in chosen:
        looked_up = subjects[agent or record.agent]
        live = tuple(looked_up.get(each.name) for each in record.subjects)
        accepted = record.accepted and record.change not in undone
        proposals.append(LiveProposal(record, live, accepted))
    return [each for each in proposals if agent is None or None not in each.subjects]


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
        look_up = KINDS[kind].others
        subjects |= look_up(runtime, others) if look_up and others else {}
    return subjects


def as_proposal(
    proposal: LiveProposal,
    vaults: Sequence[Vault],
    status: ProposalStatus | None = None,
    change: str | None = None,
) -> Proposal:
    """A proposal as answers show it, after a decision with a new status and change."""
    record, status = proposal.record, status or proposal.status
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
        change or (record.change if status == "accepted" else None),
    )


def _shown(name: str, subject: LiveSubject, vaults: Mapping[str, str]) -> ProposalSubject:
    if isinstance(subject, IndexedMemory):
        return ProposalSubject(subject.address, subject.title, subject.vault, subject.path)
    if subject is not None:
        return ProposalSubject(name, subject.title)
    uuid, slash, path = name.partition("/")
    return ProposalSubject(f"{vaults.get(uuid, uuid)}:{path}" if slash else name, None)
