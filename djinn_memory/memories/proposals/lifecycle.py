"""Makes and reads proposals, accepts and dismisses them.

Each is made once, and none that was dismissed. It is read with the current state of its subjects,
as an agent may see them. Callers that decide hold the lock `LOCK`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext

from djinn_memory.errors import DjinnError
from djinn_memory.home import access
from djinn_memory.memories.catalog.catalog import located
from djinn_memory.memories.changes.history import undone_changes
from djinn_memory.memories.proposals import log
from djinn_memory.memories.proposals.kind import Acceptance, LiveProposal, LiveSubject, ProposalKind
from djinn_memory.memories.proposals.kinds import KINDS
from djinn_memory.memories.proposals.requests import Keep, ProposalSubject
from djinn_memory.memories.writing.change_set import change_set
from djinn_memory.models import Vault
from djinn_memory.runtime import Runtime
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import IndexedMemory
from djinn_memory.store.ledger import Event
from djinn_memory.system.locks import lock
from djinn_memory.system.plural import count

LOCK = "proposals.lock"
"""The lock in the state folder of those who make proposals and decide about them."""


def undecided(
    runtime: Runtime, kind: ProposalKind, findings: Iterable[log.Finding], agent: str | None
) -> list[LiveProposal]:
    """The findings of a kind for an agent as proposals, without those that were dismissed."""
    recorded = log.recorded_proposals(runtime.state.ledger_if_any, kind.name).values()
    records = [record for record in recorded if record.dismissed is not None]
    dismissed = {record.id: record for record in records}
    # One of its notes may have another name now.
    dismissed |= {
        proposal.record.text_id: proposal.record
        for proposal in live_proposals(runtime, records, None)
        if proposal.record.dismissed == () and None in proposal.subjects
    }
    new = [log.from_finding(kind.name, finding, agent) for finding in findings]
    return [
        proposal
        for proposal in live_proposals(runtime, {each.id: each for each in new}.values(), agent)
        if proposal.status == "open" and not _is_dismissed(proposal.record, dismissed)
    ]


def _is_dismissed(
    record: log.RecordedProposal, dismissed: Mapping[str, log.RecordedProposal]
) -> bool:
    known = dismissed.get(record.id) or dismissed.get(record.text_id)
    return known is not None and known.dismissed in ((), record.states)


def propose(
    runtime: Runtime,
    kind: ProposalKind,
    findings: Iterable[log.Finding],
    agent: str | None,
    *,
    partial: bool = False,
    dry_run: bool = False,
) -> list[LiveProposal]:
    """Record the findings of a kind that are not yet proposed and were not dismissed.

    `findings` are all that there are for this agent, or with None for several agents. Proposals of
    the kind for it that are not among them are withdrawn, unless the findings are `partial`, or
    the key of the call hides some.
    Returns the new proposals. Calling it again changes nothing.
    """
    state = runtime.state
    with nullcontext() if dry_run else lock(state.home.state / LOCK):
        records = log.recorded_proposals(state.ledger_if_any, kind.name).values()
        known = {each.record.id: each for each in live_proposals(runtime, records, None)}
        current = {each.record.id: each for each in undecided(runtime, kind, findings, agent)}
        events = [
            event
            for key, before in known.items()
            if not (partial or access.is_limited())
            and agent in before.record.agents
            and key not in current
            and before.status != "accepted"
            for event in log.events_of(before.record, "withdrawn", {"agent": agent})
        ]
        new = []
        for key, proposal in current.items():
            before, subjects = known.get(key), {*proposal.record.subjects}
            if before is None or before.accepted or not before.record.agents:
                new.append(proposal)
            elif agent in before.record.agents and subjects == {*before.record.subjects}:
                continue
            events += log.events_of(proposal.record, "made")
        if events and not dry_run:
            state.ledger.append(events)
    return new


def decide(
    runtime: Runtime,
    proposals: Sequence[LiveProposal],
    step: log.Step,
    agent: str | None,
    command: str,
    *,
    keep: Keep | None = None,
    note: str | None = None,
    dry_run: bool = False,
) -> Acceptance:
    """Accept or dismiss open proposals in one change of `command`, which `djinn undo` takes back.

    `keep` is the side of a contradiction that holds, and `note` says why. With `dry_run`, nothing
    changes, and the result says what would be done. Raises `Unavailable` when a folder cannot be
    written; then nothing is changed.
    """
    with (
        change_set(runtime, command, "", agent, dry_run=dry_run) as changes,
        # The snapshot is released before the files change: the index follows them then.
        runtime.index(runtime.home.visible(agent)) as index,
    ):
        acceptance = Acceptance(runtime, index, changes, agent, keep)
        for proposal in proposals:
            _carry_out(acceptance, proposal, step)
        changes.what = _what(acceptance.done, step)
    if dry_run:
        return acceptance
    decision = {"change": changes.result.id, "keep": keep, "note": note}
    _record(runtime, acceptance.done, step, agent, decision, acceptance.events)
    acceptance.problems += changes.result.problems
    return acceptance


def _carry_out(acceptance: Acceptance, proposal: LiveProposal, step: log.Step) -> None:
    """Add the steps of a decision about a proposal to a change set, if they are possible."""
    kind = KINDS[proposal.record.kind]
    steps = kind.carry_out if step == "accepted" else kind.clean_up
    before = [*acceptance.events], {**acceptance.joined}, [*acceptance.problems]
    try:
        with acceptance.changes.attempt():
            if steps:
                steps(acceptance, proposal)
    except (DjinnError, OSError) as error:
        acceptance.events, acceptance.joined, acceptance.problems = before
        acceptance.failed.append((proposal, error))
    else:
        acceptance.done.append(proposal)


def _what(proposals: Sequence[LiveProposal], step: log.Step) -> str:
    """The change in one sentence."""
    if step == "dismissed":
        return f"Dismissed {count(len(proposals), 'proposal')}"
    sentences = [
        KINDS[proposal.record.kind].describe([each.title for each in proposal.subjects if each])
        for proposal in proposals
    ]
    if len(sentences) == 1:
        return sentences[0]
    return f"Accepted {count(len(sentences), 'proposal')}"


def _record(
    runtime: Runtime,
    proposals: Sequence[LiveProposal],
    step: log.Step,
    agent: str | None,
    decision: Mapping[str, object],
    events: Sequence[Event] = (),
) -> None:
    """Record a decision about proposals, with the `events` that follow from it."""
    data = {"agent": runtime.home.agent(agent), **decision}
    made: list[Event] = []
    decided: list[Event] = []
    for record in (proposal.record for proposal in proposals):
        # A command that finds proposals itself decides about some that no job has recorded.
        made += [] if record.since else log.events_of(record, "made")
        decided += log.events_of(record, step, data)
    if decided:
        runtime.state.ledger.append([*made, *events, *decided])


_AT_ONCE = 5_000
"""Names that are looked up at once, fewer than SQLite's limit of values in a query."""


def live_proposals(
    runtime: Runtime, records: Iterable[log.RecordedProposal], agent: str | None
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
        # Proposals of other agents are compared here, not shown, so a key does not limit this.
        key = access.limits.get() if agent else None
        with access.limited_by(key), runtime.index(home.visible(known)) as index:
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
    runtime: Runtime, index: Index, records: Sequence[log.RecordedProposal]
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


def shown_subjects(proposal: LiveProposal, vaults: Sequence[Vault]) -> tuple[ProposalSubject, ...]:
    """The subjects of a proposal as answers show them."""
    names = {vault.id: vault.name for vault in vaults}
    return tuple(
        _shown(subject.name, live, names)
        for subject, live in zip(proposal.record.subjects, proposal.subjects, strict=True)
    )


def _shown(name: str, subject: LiveSubject, vaults: Mapping[str, str]) -> ProposalSubject:
    if isinstance(subject, IndexedMemory):
        return ProposalSubject(subject.address, subject.title, subject.vault, subject.path)
    if subject is not None:
        return ProposalSubject(name, subject.title)
    uuid, slash, path = name.partition("/")
    return ProposalSubject(f"{vaults.get(uuid, uuid)}:{path}" if slash else name, None)
