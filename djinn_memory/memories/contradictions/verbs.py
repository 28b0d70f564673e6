"""Contradictions: lists memories that contradict each other, and settles them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from djinn_memory.errors import NotFound, Refused, Remedy
from djinn_memory.home import access
from djinn_memory.memories.catalog.catalog import find_memory, require_note
from djinn_memory.memories.catalog.hiding import hidden_from
from djinn_memory.memories.contradictions.finder import (
    MOST_MEMORIES,
    Contradiction,
    ContradictionSide,
    Pair,
    find_pairs,
)
from djinn_memory.memories.contradictions.requests import (
    SETTLED,
    Keep,
    ListContradictions,
    SettleContradiction,
)
from djinn_memory.memories.writing.changes import dated
from djinn_memory.memories.writing.drafts import link_to
from djinn_memory.memories.writing.vault_writer import writing
from djinn_memory.models import Problem, Vault
from djinn_memory.notes.dates import moment
from djinn_memory.operations.operation import Namespace, operation
from djinn_memory.store.busy import WRITE_SECONDS, within
from djinn_memory.store.ledger import Event, reading
from djinn_memory.system.locks import lock


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
        pairs, complete = self._open(request.agent)
        why = f"the newest {MOST_MEMORIES:,} memories were compared"
        return ContradictionList(
            tuple(pair.contradiction for pair in pairs[: request.limit]),
            len(pairs),
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
        # Two at once would close both sides.
        with lock(self.runtime.home.state / "settle.lock"):
            return self._settle(request)

    def _settle(self, request: SettleContradiction) -> SettledContradiction:
        pairs = {pair.contradiction.id: pair for pair in self._open(request.agent)[0]}
        pair = pairs.get(request.contradiction)
        if pair is None:
            listing = Remedy("contradictions.list", purpose="list the open contradictions")
            raise NotFound(f"no open contradiction {request.contradiction!r}", listing)
        contradiction = pair.contradiction
        closed: ContradictionSide | None = None
        problems: Sequence[Problem] = ()
        if request.keep != "both":
            sides = contradiction.a, contradiction.b
            kept, closed = sides if request.keep == "A" else reversed(sides)
            problems = self._close(closed, kept, request.agent)
        self._record(pair, request)
        return SettledContradiction(contradiction, request.keep, closed, problems)

    def _open(self, agent: str | None) -> tuple[Sequence[Pair], bool]:
        """The contradictions that are not settled, and whether all memories were compared."""
        pairs, complete = find_pairs(self.runtime, self._scope(agent))
        ledger = self._state.ledger_if_any
        settled: dict[str, object] = {}
        if ledger and pairs:
            subjects = [pair.contradiction.id for pair in pairs]
            for event in reading.events_of(ledger, [SETTLED], subjects):
                settled[event.subject] = event.data.get("hashes")
        return [
            pair for pair in pairs if settled.get(pair.contradiction.id) != [*pair.hashes]
        ], complete

    def _close(
        self, side: ContradictionSide, kept: ContradictionSide, agent: str | None
    ) -> Sequence[Problem]:
        """Mark the note of a side as one that no longer holds."""
        home = self.runtime.home
        [vault], [keeper] = home.named((side.vault,)), home.named((kept.vault,))
        _check_access(side, vault, keeper)
        scope = home.scope(home.agent(agent))
        memory, other = (find_memory(self._state, each.address, scope) for each in (side, kept))
        require_note(self._state, memory, "closed")
        hidden, other_hidden = hidden_from(home, memory), hidden_from(home, other)
        if not other_hidden <= hidden:
            raise Refused(
                f"{side.vault}/{side.path} is visible to agents that may not see the other side, "
                "which therefore cannot close it; edit it there",
                Remedy("", {"keep": "both"}, "record that both hold"),
            )
        same = access.same_readers(vault, keeper) and hidden == other_hidden
        link = link_to(kept.title, kept.path) if same else None
        with writing(self.runtime, vault) as writer:
            fields = {"valid_to": moment(writer.now), "status": "superseded"}
            fields |= {"superseded_by": link} if link else {}
            writer.rewrite(side.path, lambda data: dated(data, fields, writer.now))
        return writer.problems

    def _record(self, pair: Pair, request: SettleContradiction) -> None:
        data = {
            "agent": self.runtime.home.agent(request.agent), "keep": request.keep,
            "note": request.note, "contradiction": pair.contradiction.id,
        }  # fmt: skip
        # A closed side is no longer compared. If it is opened again, it is listed again.
        hashes = {"hashes": [*pair.hashes]} if request.keep == "both" else {}
        events = [Event(SETTLED, pair.contradiction.id, {**data, **hashes})]
        events += [Event(SETTLED, name, data) for name in pair.names]
        self._state.ledger.append(events)


def _check_access(side: ContradictionSide, vault: Vault, keeper: Vault) -> None:
    """Raise `Refused` for a note that djinn may not close in favour of one in `keeper`."""
    place = f"{side.vault}/{side.path}"
    both = Remedy("", {"keep": "both"}, "record that both hold")
    if vault.read_only or not access.is_own(vault):
        raise Refused(f"{place} is in a read-only vault and cannot be closed; edit it there", both)
    if access.is_open(vault) and not access.is_open(keeper):
        raise Refused(
            f"{place} is visible to all agents, so a note in the private vault {keeper.name} "
            "cannot close it; edit it there",
            both,
        )
