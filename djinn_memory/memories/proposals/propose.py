"""Makes proposals: each once, and none that was dismissed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import nullcontext

from djinn_memory.memories.proposals.kind import Finding
from djinn_memory.memories.proposals.log import (
    WITHDRAWN,
    from_finding,
    made,
    recorded_proposals,
)
from djinn_memory.memories.proposals.reading import LiveProposal, as_proposal, live_proposals
from djinn_memory.memories.proposals.requests import Proposal
from djinn_memory.runtime import Runtime
from djinn_memory.store.ledger import Event
from djinn_memory.system.locks import lock

LOCK = "proposals.lock"
"""The lock in the state folder of those who make proposals and decide about them."""


def propose(
    runtime: Runtime,
    kind: str,
    findings: Iterable[Finding],
    agents: Collection[str | None],
    *,
    dry_run: bool = False,
) -> list[Proposal]:
    """Record the findings of a kind that are not yet proposed and were never dismissed.

    `findings` are all that there are for these `agents`, None for findings about several agents.
    Open proposals of the kind that are not among them are withdrawn. Returns the new proposals.
    Calling it again changes nothing.
    """
    new = {record.id: record for record in (from_finding(kind, each) for each in findings)}
    state, vaults = runtime.state, runtime.home.vaults
    with nullcontext() if dry_run else lock(state.home.state / LOCK):
        records = {
            key: record
            for key, record in recorded_proposals(state.ledger_if_any).items()
            if record.kind == kind
        }
        known = live_proposals(runtime, records.values(), None)
        before = {proposal.record.id: proposal for proposal in known}
        proposals = [
            proposal
            for proposal in live_proposals(runtime, new.values(), None)
            if proposal.status == "open" and _is_new(proposal, before)
        ]
        gone = [
            key
            for key, proposal in before.items()
            if key not in new and proposal.record.agent in agents and proposal.status == "open"
        ]
        if not dry_run and (proposals or gone):
            events = [Event(WITHDRAWN, key, {}) for key in gone]
            events += [made(proposal.record) for proposal in proposals]
            state.ledger.append(events)
    return [as_proposal(proposal, "open", vaults) for proposal in proposals]


def _is_new(proposal: LiveProposal, before: Mapping[str, LiveProposal]) -> bool:
    """Whether a proposal is neither open nor was dismissed, also under an earlier name."""
    known = before.get(proposal.record.id)
    if known:
        return known.status not in ("open", "dismissed")
    text_id = proposal.record.text_id
    return not any(
        other.record.dismissed and None in other.subjects and other.record.text_id == text_id
        for other in before.values()
    )
