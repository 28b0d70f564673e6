"""What holds for an agent whatever it is about to do, and the room that there is to say it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.chunking.tokens import token_counts, token_starts
from djinn_memory.errors import DjinnError
from djinn_memory.memories.recall.recall import RecalledMemory
from djinn_memory.models import Filters, Vault, plane_of
from djinn_memory.notes.dates import iso_date
from djinn_memory.notes.markdown import body
from djinn_memory.notes.vault import files as disk
from djinn_memory.search.filters import condition, valid
from djinn_memory.store.index.memories import vault_ids
from djinn_memory.store.sqlite import Row, rows
from djinn_memory.store.state import State

OVER = (
    "done", "closed", "completed", "cancelled", "canceled", "dropped", "archived", "superseded",
    "expired", "inactive",
)  # fmt: skip
"""What `status` says of a memory that needs no one's mind any more."""

ITEM_TOKENS = 400
"""Of one memory, so that a long one leaves room for others; `djinn memory show` has the rest."""

LONGEST = 40
"""Characters of text for each token that is to be had of it; what is behind need not be counted."""

SCRAP = 20
"""Tokens of a memory that are worth giving; of fewer only its title is."""

FRAME = 14
"""Tokens of what stands around a memory's title and text."""

MANY = 12
"""Memories of one kind; who has more of them open does not need them listed."""

FEW = 5
"""Of the newest, where there is no task."""

_TAGGED = "exists (select 1 from tag where tag.memory_id = memory.id and folded = ?)"


class MemoryExcerpt(Struct, frozen=True):
    """A memory as far as there is room for it."""

    id: str | None
    """`mem_` and 16 characters; null for a note that has none."""
    type: str | None
    """Such as `commitment`."""
    plane: str | None
    """The plane of the type; null for a plain note."""
    title: str
    """Its title."""
    vault: str
    """The name of the vault it is in."""
    path: str
    """Its file, relative to the folder of the vault."""
    written: str
    """When it was written, else when it was changed last."""
    due: str | None
    """When it is due, for a commitment that says so."""
    overdue: bool
    """Whether that is past."""
    text: str
    """Its text below the front matter."""
    cut: bool = False
    """Whether the text goes on."""
    rank: int | None = None
    """Its place among what the task recalled: what `djinn rate last` takes."""


class TokenBudget(Struct):
    """What is left of a budget of tokens."""

    budget: int
    left: int = 0
    left_out: int = 0
    """Memories for which nothing was left."""

    def __post_init__(self) -> None:
        self.left = self.budget

    def take(self, one: MemoryExcerpt | None, *, share: float = 1 / 4) -> MemoryExcerpt | None:
        """A memory as far as there is room for it, in at most a `share` of the budget.

        Where its text does not fit it is named at least; None, and counted, where not even that.
        """
        if one is None:
            return None
        [title] = token_counts([f"{one.title} {one.type} {one.id or one.path} {one.due or ''}"])
        room = min(self.left - title - FRAME, int(self.budget * share), ITEM_TOKENS)
        if self.left < title + FRAME:
            self.left_out += 1
            return None
        text = one.text[: LONGEST * ITEM_TOKENS]
        starts = token_starts(text)
        if len(starts) > room or len(text) < len(one.text):
            room = room if room >= SCRAP else 0
            end = starts[room] if room < len(starts) else None
            one = replace(one, text=f"{text[:end].rstrip()} ..." if room else "", cut=True)
        self.left -= title + FRAME + min(len(starts), room)
        return one

    def each(self, found: Iterable[MemoryExcerpt]) -> Iterator[MemoryExcerpt]:
        """Of memories, those for which there is room."""
        for one in found:
            taken = self.take(one, share=1 / 8)
            if taken:
                yield taken


class StandingMemories:
    """Where an agent's standing memories are: in its own vault, or in all that it sees."""

    def __init__(self, state: State, agent: str, now: datetime) -> None:
        self._state = state
        self._agent = agent
        self._now = now
        self._today = now.astimezone().date().isoformat()
        self.ranks: dict[tuple[str, str], int] = {}
        """By vault and path: the places of what the task recalled."""

    @cached_property
    def _scope(self) -> dict[int, Vault]:
        return vault_ids(self._state.index, self._state.home.scope(self._agent))

    @cached_property
    def _own(self) -> dict[int, Vault]:
        return {key: one for key, one in self._scope.items() if one.agent == self._agent}

    def summary(self) -> MemoryExcerpt | None:
        """The narrative summary."""
        return self._first("type = 'summary' and title = 'Summary'")

    def profile(self) -> MemoryExcerpt | None:
        """The note that says who the agent is."""
        by_name = "title = ? collate nocase and type = 'person'"
        which = f"type = 'profile' or note.path = 'profile.md' or {by_name}"
        return self._first(which, self._agent)

    def last(self, kind: str) -> MemoryExcerpt | None:
        """The newest memory of a type that the agent wrote."""
        return self._first("type = ?", kind)

    def by_id(self, identity: str) -> MemoryExcerpt | None:
        """The memory of an id."""
        return self._first("uid = ?", identity)

    def commitments(self) -> Iterator[MemoryExcerpt]:
        """What is open, the first due first."""
        return self._open("type = 'commitment'", "due is null, due, created desc")

    def projects(self) -> Iterator[MemoryExcerpt]:
        """What is going on, the last changed first."""
        which = f"type = 'project' or {_TAGGED}"
        return self._open(which, "ifnull(updated, date) desc", "project-anchor")

    def preferences(self) -> Iterator[MemoryExcerpt]:
        """What always holds, the most important first."""
        rules = f"type in ('preference', 'rule') or {_TAGGED}"
        return self._open(rules, "cast(ifnull(importance, .5) as real) desc, date desc", "rule")

    def newest(self) -> list[MemoryExcerpt]:
        """The newest of what happened, was learned, is known; of each a few."""
        shown = "type not in ('handoff', 'checkpoint', 'commitment', 'preference', 'project')"
        return [
            one
            for plane in ("episodic", "semantic", "knowledge")
            for one in self._open(f"plane = ? and {shown}", "date desc", plane, most=FEW)
        ]

    def recalled(self, found: RecalledMemory) -> MemoryExcerpt:
        """A memory that a recall gave."""
        return MemoryExcerpt(
            id=found.id,
            type=found.type,
            plane=plane_of(found.type),
            title=found.title,
            vault=found.vault,
            path=found.path,
            written=found.created or found.date,
            due=None,
            overdue=False,
            text=found.text,
            cut=found.cut,
            rank=found.rank,
        )

    def _open(
        self, which: str, order: str, *values: object, most: int = MANY
    ) -> Iterator[MemoryExcerpt]:
        over = ", ".join("?" for _ in OVER)
        still = f"({which}) and ifnull(status, '') not in ({over})"
        return self._found(self._scope, still, (*values, *OVER), order, most)

    def _first(self, which: str, *values: object) -> MemoryExcerpt | None:
        order = "ifnull(created, date) desc, note.id desc"
        now = f"({which}) and ifnull(status, '') is not 'superseded'"
        return next(self._found(self._own, now, values, order, MANY), None)

    def _found(
        self,
        vaults: dict[int, Vault],
        which: str,
        asked: Sequence[object],
        order: str,
        most: int,
    ) -> Iterator[MemoryExcerpt]:
        holding = valid(self._state.index, Filters(), self._now)
        where, values = condition(holding, list(vaults))
        columns = ", ".join(
            f"(select folded from field where memory_id = memory.id and key = '{key}') as {key}"
            for key in ("due", "status", "importance")
        )
        listed = rows(
            self._state.index,
            f"select uid, type, plane, title, vault_id, path, created, date, {columns} "
            "from memory join note on note.id = note_id "
            f"where {where} and ({which}) order by {order} limit {most}",
            (*values, *asked),
        )
        for row in listed:
            with suppress(OSError, DjinnError):
                yield self._brief(row, vaults[row[4]])

    def _brief(self, row: Row, vault: Vault) -> MemoryExcerpt:
        uid, kind, plane, title, _, path, created, date, due, *_ = row
        return MemoryExcerpt(
            id=uid,
            type=kind,
            plane=plane,
            title=title,
            vault=vault.name,
            path=path,
            written=created or date,
            due=due,
            overdue=(iso_date(due) or self._today)[:10] < self._today,
            text=body.text_of(disk.read(vault, path)).strip(),
            rank=self.ranks.get((vault.name, path)),
        )
