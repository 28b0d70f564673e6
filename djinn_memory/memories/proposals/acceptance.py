"""Carries out proposals. All that are accepted together form one change set."""

from __future__ import annotations

from collections.abc import Sequence

from djinn_memory.errors import DjinnError
from djinn_memory.memories.proposals.kind import Acceptance
from djinn_memory.memories.proposals.log import ACCEPTED
from djinn_memory.memories.proposals.reading import LiveProposal
from djinn_memory.memories.proposals.registry import KINDS
from djinn_memory.memories.writing.change_set import change_set
from djinn_memory.models import Problem
from djinn_memory.runtime import Runtime
from djinn_memory.search.backend import Index
from djinn_memory.store.ledger import Event
from djinn_memory.system.plural import count

COMMAND = "proposal accept"
"""The command of the change sets."""


def accept(
    runtime: Runtime, index: Index, proposals: Sequence[LiveProposal], agent: str | None
) -> tuple[list[LiveProposal], str | None, list[Problem]]:
    """Carry out open proposals.

    Returns those that were carried out, the id of the change set, and a problem for each of the
    others. Either all files change, or none and an error is raised.
    """
    done: list[LiveProposal] = []
    problems: list[Problem] = []
    with change_set(runtime, COMMAND, "", agent) as changes:
        acceptance = Acceptance(runtime, index, changes, agent, [])
        for proposal in proposals:
            kind = KINDS[proposal.record.kind]
            try:
                with changes.attempt():
                    kind.carry_out(acceptance, proposal.memories, proposal.other_names)
            except DjinnError as error:
                problems.append(Problem(proposal.record.id, str(error)))
            else:
                done.append(proposal)
        changes.what = _what(done)
    data = {"change": changes.result.id, "agent": agent}
    events = [Event(ACCEPTED, proposal.record.id, data) for proposal in done]
    if done:
        runtime.state.ledger.append([*acceptance.events, *events])
    return done, changes.result.id, [*problems, *changes.result.problems]


def _what(proposals: Sequence[LiveProposal]) -> str:
    """The change in one sentence."""
    sentences = [
        KINDS[proposal.record.kind].describe([each.title for each in proposal.subjects if each])
        for proposal in proposals
    ]
    if len(sentences) == 1:
        return sentences[0]
    return f"Accepted {count(len(sentences), 'proposal')}"
