"""Proposals to close a gap with a newer note that is about the same."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from djinn_memory.memories.catalog.identity import ledger_name, located
from djinn_memory.memories.proposals.kind import (
    Acceptance,
    Finding,
    OtherSubject,
    ProposalKind,
)
from djinn_memory.memories.recall.gap_answers import CLOSED, refused
from djinn_memory.memories.recall.gaps import Gaps, SuggestAnswers
from djinn_memory.runtime import Runtime
from djinn_memory.store.index.records import IndexedMemory
from djinn_memory.store.ledger import Event, reading


def find(runtime: Runtime, agent: str | None) -> list[Finding]:
    """The open gaps of an agent that a newer note may answer, by meaning.

    A gap that was opened again is not proposed with the memory that had closed it.
    """
    if agent is None:
        return []
    suggestions = Gaps(runtime).suggest(SuggestAnswers(agent=agent)).suggestions
    before = refused(runtime, [suggestion.gap for suggestion in suggestions])
    scope = runtime.home.scope(agent)
    ids = {vault.name: vault.id for vault in scope}
    with runtime.index(scope) as index:
        memories = located(index, [suggestion.memory for suggestion in suggestions])
    return [
        Finding(
            ((suggestion.gap.id, suggestion.gap.status), (suggestion.memory, memory.hash)),
            "A newer note is about the same.",
            (f"cosine {suggestion.likeness:.3f}",),
            ids[memory.vault],
            agent,
        )
        for suggestion in suggestions
        if (memory := memories.get(suggestion.memory))
        # An episode tells what was asked, too.
        and memory.plane != "episodic"
        and suggestion.memory not in before.get(suggestion.gap.id, ())
    ]


def _gaps(runtime: Runtime, names: Collection[str]) -> Mapping[str, OtherSubject]:
    ledger = runtime.state.ledger_if_any
    return {
        gap.id: OtherSubject(gap.description, gap.status)
        for agent in runtime.home.config.agents
        for gap in (reading.gaps(ledger, agent, None) if ledger else ())
        if gap.id in names
    }


def _carry_out(
    acceptance: Acceptance, memories: Sequence[IndexedMemory], others: Sequence[str]
) -> None:
    [memory] = memories
    [vault] = acceptance.runtime.home.named((memory.vault,))
    name = ledger_name(memory, vault).memory
    acceptance.events += [Event(CLOSED, gap, {"by": name}) for gap in others]


KIND = ProposalKind(
    "gap",
    action="Closes the gap with the note as its answer. No note changes; `djinn gap reopen` opens "
    "the gap again.",
    describe=lambda titles: f"Closed the gap {titles[0]}",
    carry_out=_carry_out,
    others=_gaps,
)
