"""Carries out proposals. All that are accepted together form one change set."""

from __future__ import annotations

from collections.abc import Sequence

from djinn_memory.errors import DjinnError
from djinn_memory.memories.proposals.kind import Acceptance
from djinn_memory.memories.proposals.log import ACCEPTED
from djinn_memory.memories.proposals.reading import LiveProposal
from djinn_memory.memories.proposals.registry import KINDS
from djinn_memory.models import Problem
from djinn_memory.store.ledger import Event
from djinn_memory.system.plural import count

COMMAND = "proposal accept"
"""The command of the change sets."""


def add_steps(
    acceptance: Acceptance, proposals: Sequence[LiveProposal]
) -> tuple[list[LiveProposal], list[Problem]]:
    """Add the steps of open proposals to a change set.

    Returns the proposals that can be carried out, and a problem for each of the others.
    """
    done: list[LiveProposal] = []
    problems: list[Problem] = []
    for proposal in proposals:
        kind = KINDS[proposal.record.kind]
        before = [*acceptance.events], {**acceptance.joined}, [*acceptance.problems]
        try:
            with acceptance.changes.attempt():
                kind.carry_out(acceptance, proposal.memories, proposal.other_names)
        except (DjinnError, OSError) as error:
            acceptance.events, acceptance.joined, acceptance.problems = before
            problems.append(Problem(proposal.record.id, str(error)))
        else:
            done.append(proposal)
    acceptance.changes.what = _what(done)
    return done, problems


def record(acceptance: Acceptance, proposals: Sequence[LiveProposal]) -> None:
    """Record in the ledger that proposals were carried out."""
    data = {"change": acceptance.changes.result.id, "agent": acceptance.agent}
    events = [Event(ACCEPTED, proposal.record.id, data) for proposal in proposals]
    if events:
        acceptance.runtime.state.ledger.append([*acceptance.events, *events])


def _what(proposals: Sequence[LiveProposal]) -> str:
    """The change in one sentence."""
    sentences = [
        KINDS[proposal.record.kind].describe([each.title for each in proposal.subjects if each])
        for proposal in proposals
    ]
    if len(sentences) == 1:
        return sentences[0]
    return f"Accepted {count(len(sentences), 'proposal')}"
