"""Contradictions: lists memories that contradict each other, and settles them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from djinn_memory.errors import NotFound, Remedy
from djinn_memory.memories.contradictions.finder import (
    MOST_MEMORIES,
    Contradiction,
    ContradictionSide,
    find_pairs,
)
from djinn_memory.memories.proposals.kind import LiveProposal
from djinn_memory.memories.proposals.kinds.contradiction import KIND, finding
from djinn_memory.memories.proposals.lifecycle import LOCK, accept, dismiss, undecided
from djinn_memory.memories.proposals.requests import (
    Keep,
    ListContradictions,
    SettleContradiction,
)
from djinn_memory.models import Problem
from djinn_memory.operations.operation import Namespace, operation
from djinn_memory.store.busy import WRITE_SECONDS, within
from djinn_memory.system.locks import lock

COMMAND = "contradiction settle"
"""The command of the change sets."""


class ContradictionList(Struct, frozen=True):
    """The contradictions that an agent sees."""

    contradictions: tuple[Contradiction, ...]
    """The contradictions, in order of the places of their first sides."""
    total: int
    """The number of contradictions, also of those that the limit leaves out."""
    problems: tuple[Problem, ...] = ()
    """Memories that were not compared."""


class SettledContradiction(Struct, frozen=True):
    """The result of settling a contradiction."""

    contradiction: Contradiction
    """The contradiction before it was settled."""
    keep: Keep
    """What was kept."""
    closed: ContradictionSide | None = None
    """The side that was closed: its note has `status: superseded` and `valid_to`."""
    problems: Sequence[Problem] = ()
    """Problems that keep the change from being searchable at once."""


class Contradictions(Namespace, name="contradictions"):
    """Contradictions between the memories of a home."""

    @operation(ListContradictions)
    def list(self, request: ListContradictions) -> ContradictionList:
        """List the contradictions between memories that an agent sees and that hold now.

        A contradiction of which both sides hold is listed again once one of them has changed.
        """
        proposals, complete = self._open(request.agent)
        why = f"the newest {MOST_MEMORIES:,} memories were compared"
        return ContradictionList(
            tuple(contradiction for contradiction, _ in proposals[: request.limit]),
            len(proposals),
            () if complete else (Problem("contradictions", why),),
        )

    @operation(SettleContradiction, writes=True, positional=("contradiction",))
    @within(WRITE_SECONDS)
    def settle(self, request: SettleContradiction) -> SettledContradiction:
        """Settle a contradiction: close the side that is not kept, or record that both hold.

        The closed note gets `valid_to` and `status: superseded`, and a link to the kept one if the
        same agents read both. Raises `Refused` for a read-only vault, for a section of a journal,
        and for a shared note that a private one would close.
        """
        home, note = self.runtime.home, request.note
        # Two at once would close both sides.
        with lock(home.state / LOCK):
            contradiction, proposal = self._named(request)
            if request.keep == "both":
                dismiss(self.runtime, [proposal], request.agent, note=note)
                return SettledContradiction(contradiction, request.keep)
            accepted = accept(
                self.runtime, [proposal], request.agent, COMMAND, keep=request.keep, note=note
            )
        for _, error in accepted.failed:
            raise error
        closed = contradiction.b if request.keep == "A" else contradiction.a
        return SettledContradiction(contradiction, request.keep, closed, accepted.problems)

    def _named(self, request: SettleContradiction) -> tuple[Contradiction, LiveProposal]:
        for contradiction, proposal in self._open(request.agent)[0]:
            if contradiction.id == request.contradiction:
                return contradiction, proposal
        listing = Remedy("contradictions.list", purpose="list the open contradictions")
        raise NotFound(f"no open contradiction {request.contradiction!r}", listing)

    def _open(self, agent: str | None) -> tuple[Sequence[tuple[Contradiction, LiveProposal]], bool]:
        """The contradictions that are not settled, and whether all memories were compared."""
        pairs, complete = find_pairs(self.runtime, self._scope(agent))
        reader = self.runtime.home.agent(agent)
        proposals = undecided(self.runtime, KIND, map(finding, pairs), reader)
        contradictions = {pair.contradiction.id: pair.contradiction for pair in pairs}
        return [(contradictions[each.record.id], each) for each in proposals], complete
