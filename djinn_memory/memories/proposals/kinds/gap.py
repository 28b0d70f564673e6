"""Proposals to close a gap with a newer note that is about the same."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from djinn_memory.memories.proposals import kind
from djinn_memory.memories.proposals.log import Finding
from djinn_memory.memories.recall.gap_answers import CLOSED, PossibleAnswer, likely_answers
from djinn_memory.runtime import Runtime
from djinn_memory.store.ledger import Event, reading


def _find(runtime: Runtime, agent: str | None) -> list[Finding]:
    return [finding(answer) for answer in likely_answers(runtime, agent)] if agent else []


def finding(answer: PossibleAnswer) -> Finding:
    """The proposal that a likely answer is."""
    return Finding(
        ((answer.gap.id, answer.gap.status), (answer.name, answer.memory.hash)),
        "A newer note is about the same.",
        (f"cosine {answer.likeness:.3f}",),
        answer.vault.id,
    )


def _gaps(runtime: Runtime, names: Collection[str]) -> Mapping[str, kind.OtherSubject]:
    ledger = runtime.state.ledger_if_any
    return {
        gap.id: kind.OtherSubject(gap.description, gap.status)
        for agent in runtime.home.config.agents
        for gap in (reading.gaps(ledger, agent, None) if ledger else ())
        if gap.id in names
    }


def _carry_out(acceptance: kind.Acceptance, proposal: kind.LiveProposal) -> None:
    gap, memory = proposal.record.subjects
    acceptance.events.append(Event(CLOSED, gap.name, {"by": memory.name}))


KIND = kind.ProposalKind(
    "gap",
    action="Closes the gap with the note as its answer. No note changes; `djinn gap reopen` opens "
    "the gap again.",
    describe=lambda titles: f"Closed the gap {titles[0]}",
    find=_find,
    carry_out=_carry_out,
    others=_gaps,
)
