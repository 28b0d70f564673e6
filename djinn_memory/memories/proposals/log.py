"""Proposals as the ledger records them. The ledger keeps no titles and no text of notes.

The events are `proposal.made`, `withdrawn`, `accepted` and `dismissed`, whose subject is the id of
the proposal. Events of contradictions have other names, which homes of earlier versions exchange.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, get_args

import msgspec
from msgspec import Struct

from djinn_memory.memories.changes.history import undone_changes
from djinn_memory.models import extended
from djinn_memory.notes.ids import derived_id
from djinn_memory.store.ledger import Event, Ledger
from djinn_memory.store.ledger.reading import events_by_kind

CONTRADICTION = "contradiction"
"""The kind of proposal whose events have names of their own."""

Step = Literal["made", "withdrawn", "accepted", "dismissed"]

SETTLED = "contradiction.settled"
"""A contradiction was accepted, or with `keep: both` dismissed. There is one event more for each of
its memories."""

_OF_CONTRADICTIONS: dict[Step, str] = {
    "made": "contradiction.found",
    "withdrawn": "contradiction.gone",
    "dismissed": SETTLED,
    "accepted": SETTLED,
}
_OF_OTHERS: dict[Step, str] = {step: f"proposal.{step}" for step in get_args(Step)}
_STEPS = {kind: step for names in (_OF_CONTRADICTIONS, _OF_OTHERS) for step, kind in names.items()}


class Finding(Struct, frozen=True):
    """A proposal as its kind finds it."""

    subjects: tuple[tuple[str, str], ...]
    """The subjects: the name in the ledger and the state of each. The name of a memory is that of
    `ledger_name`, and its state is the hash of its text. The order does not matter for the id.
    """
    reason: str
    """Why, in one sentence. It names no note and quotes none, so that it stays after a purge."""
    evidence: tuple[str, ...] = ()
    """The figures behind the reason, such as `cosine 0.951`. The first is shown in lists."""
    vault: str | None = None
    """The id of the vault of its memories; None if they are in several."""
    id: str | None = None
    """The id of the proposal; None for one that is made from the kind and the subjects."""


class _Subject(Struct, frozen=True, array_like=True):
    """A subject of a proposal, and its state when the proposal was made."""

    name: str
    state: str


class _Made(Struct, omit_defaults=True):
    """The data of a proposal in the ledger. A purge looks at the agent and the vault."""

    # Earlier versions recorded neither the kind nor the subjects of contradictions.
    kind: str = CONTRADICTION
    subjects: tuple[_Subject, ...] = ()
    """Empty for contradictions of earlier versions."""
    reason: str = ""
    evidence: tuple[str, ...] = ()
    agent: str | None = None
    """The agent whom it concerns; None for several agents."""
    vault: str | None = None
    """The id of the vault of its subjects; None for several vaults, or none."""


class RecordedProposal(_Made, kw_only=True):
    """A proposal in the ledger, and the decision about it."""

    id: str
    """`prp_` and ten characters, made from the kind and the names of the subjects; or that of the
    finding."""
    since: str
    """When it was made, as ISO 8601 in UTC."""
    agents: set[str | None]
    """The agents for whom it was neither withdrawn nor dismissed. None stands for the home."""
    dismissed: tuple[str, ...] | None = None
    """If it was dismissed: the states of the subjects for which that holds, or none for all."""
    accepted: bool = False
    """Whether it was accepted. This does not hold any more if the acceptance was taken back."""
    change: str | None = None
    """The id of the change set of the decision, if it changed notes."""

    @property
    def states(self) -> tuple[str, ...]:
        """The states of the subjects when it was made."""
        return tuple(subject.state for subject in self.subjects)

    @property
    def text_id(self) -> str:
        """The id that the proposal has by the texts of subjects that may be renamed."""
        return _proposal_id(self.kind, map(_lasting, self.subjects))


def _proposal_id(kind: str, names: Iterable[str]) -> str:
    """The id of a proposal: the same for the same kind and subjects."""
    key = "\n".join([kind, *sorted(names)])
    return f"prp_{derived_id(key).removeprefix('mem_')[:10]}"


def from_finding(kind: str, finding: Finding, agent: str | None) -> RecordedProposal:
    """The proposal that a finding is for an agent, before it is recorded."""
    subjects = tuple(_Subject(*subject) for subject in finding.subjects)
    identity = finding.id or _proposal_id(kind, (subject.name for subject in subjects))
    made = _Made(kind, subjects, finding.reason, finding.evidence, agent, finding.vault)
    return _recorded(identity, "", made)


def _lasting(subject: _Subject) -> str:
    """The part of a subject that survives a rename: the name, or the state of one without id."""
    return subject.state if "/" in subject.name else subject.name


def events_of(
    proposal: RecordedProposal, step: Step, data: Mapping[str, object] | None = None
) -> list[Event]:
    """The events of a step of a proposal. `data` says who decided, and how."""
    data = {**(data or msgspec.to_builtins(extended(proposal, _Made)))}
    if proposal.kind != CONTRADICTION:
        return [Event(_OF_OTHERS[step], proposal.id, data)]
    events = []
    if _OF_CONTRADICTIONS[step] == SETTLED:
        data |= {"contradiction": proposal.id} | ({"keep": "both"} if step == "dismissed" else {})
        events = [Event(SETTLED, subject.name, {**data}) for subject in proposal.subjects]
        data |= {"hashes": [*proposal.states]} if step == "dismissed" else {}
    return [Event(_OF_CONTRADICTIONS[step], proposal.id, data), *events]


def recorded_proposals(
    ledger: Ledger | None, kind: str | None = None
) -> dict[str, RecordedProposal]:
    """The proposals of one kind, or all, by id, in the order in which they were first made."""
    records: dict[str, RecordedProposal] = {}
    for event in events_by_kind(ledger, [*_STEPS]) if ledger else ():
        step = _STEPS[event.kind]
        if step == "made":
            _read_made(records, event)
            continue
        if event.data.get("contradiction") == event.subject:
            # Earlier versions settled contradictions that no job had recorded.
            records.setdefault(event.subject, _recorded(event.subject, event.at, _Made()))
        if record := records.get(event.subject):
            _read_decision(record, step, event.data)
    _reopen(ledger, records.values())
    return {key: record for key, record in records.items() if kind in (None, record.kind)}


def _reopen(ledger: Ledger | None, records: Iterable[RecordedProposal]) -> None:
    """Open proposals whose dismissal changed notes and was taken back."""
    changed = [record for record in records if record.dismissed is not None and record.change]
    undone = undone_changes(ledger) if changed else frozenset[str]()
    for record in changed:
        if record.change in undone:
            record.dismissed, record.agents = None, {record.agent}


def dismissed_groups(ledger: Ledger | None, kind: str) -> list[frozenset[str]]:
    """The subjects of each dismissed proposal of a kind: names, and texts of those without id."""
    return [
        frozenset({subject.name for subject in record.subjects} | {*map(_lasting, record.subjects)})
        for record in recorded_proposals(ledger, kind).values()
        if record.dismissed is not None
    ]


def _read_made(records: dict[str, RecordedProposal], event: Event) -> None:
    try:
        data = msgspec.convert(event.data, _Made)
    except msgspec.ValidationError:
        return  # Data of another program.
    record = _recorded(event.subject, event.at, data)
    if before := records.get(event.subject):
        record.dismissed = before.dismissed
        if before.agents and not before.accepted:
            record.since = before.since
            record.agents |= before.agents
    record.agent = data.agent if len(record.agents) == 1 else None
    records[event.subject] = record


def _recorded(identity: str, at: str, data: _Made) -> RecordedProposal:
    return extended(data, RecordedProposal, id=identity, since=at, agents={data.agent})


def _read_decision(record: RecordedProposal, step: Step, data: Mapping[str, object]) -> None:
    if step == "withdrawn":
        # Without an agent, as in events of earlier versions, for all.
        agent = data.get("agent", ...)
        record.agents = {known for known in record.agents if agent not in (known, ...)}
        return
    change = data.get("change")
    record.change = change if isinstance(change, str) else None
    if step == "accepted" and data.get("keep") != "both":
        record.accepted = True
    else:
        states = data.get("hashes")
        record.dismissed = tuple(states) if isinstance(states, list) else ()
        record.agents = set()
