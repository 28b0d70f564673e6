"""The memories that an agent needs for any task."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cached_property
from itertools import count, islice
from pathlib import PurePosixPath

from msgspec.structs import replace

from djinn_memory.errors import DjinnError
from djinn_memory.home import access
from djinn_memory.memories.catalog.catalog import body_of
from djinn_memory.memories.catalog.requests import MemoryExcerpt
from djinn_memory.models import Filters, Vault, extended
from djinn_memory.notes.dates import iso_date, moment
from djinn_memory.notes.periods import Period, period_of, spoken_period
from djinn_memory.notes.slugs import fold, name_key
from djinn_memory.store.index.records import IndexedMemory, Order, Selection
from djinn_memory.store.state import State

OVER = frozenset({
    "done", "closed", "completed", "cancelled", "canceled", "dropped", "archived", "superseded",
    "expired", "inactive", "proposed",
})  # fmt: skip
"""Values of `status` for memories that need no attention, or that a person has not accepted yet."""

MANY = 12
"""Maximum number of memories of one kind. An agent with more does not need them listed."""

FEW = 5
"""Number of newest memories of a plane, without a task."""

PAGE = 40
"""Number of memories that are read from the index at once."""

_FIELDS = ("due", "status", "importance", "valid_from", "valid_to")
_APART = (
    "handoff", "checkpoint", "commitment", "preference", "project", "profile", "calendar",
)  # fmt: skip

Keep = Callable[[IndexedMemory], bool]


class StandingMemories:
    """The standing memories of an agent, from its own vaults or from all that it sees."""

    def __init__(
        self, state: State, agent: str, now: datetime, domains: Sequence[str] = ()
    ) -> None:
        """With `domains`, only memories of one of these domains."""
        self._state = state
        self._domains = tuple(domains)
        self._agent = agent
        self._now = now
        self._today = now.astimezone().date().isoformat()
        self._tomorrow = moment(now + timedelta(days=1))
        self.ranks: dict[tuple[str, str], int] = {}
        """Ranks in the recall for the task, by vault and path."""

    @cached_property
    def _scope(self) -> dict[str, Vault]:
        return {vault.name: vault for vault in self._state.home.scope(self._agent)}

    @cached_property
    def _own(self) -> dict[str, Vault]:
        vaults = self._scope.items()
        return {name: vault for name, vault in vaults if access.is_personal(vault, self._agent)}

    def summary(self) -> MemoryExcerpt | None:
        """The narrative summary."""
        selection = Selection(Filters(types=("summary",)), whole_files=True)
        return self._latest(selection, lambda memory: memory.title == "Summary")

    def credible(self, written: str) -> str:
        """A time of writing, or "", the earliest, if it is in the future.

        Otherwise the memory would be the newest until that time.
        """
        return "" if written > self._tomorrow else written

    def last(self, kind: str) -> MemoryExcerpt | None:
        """The newest memory of a type in the agent's own vaults."""
        return self._latest(Selection(Filters(types=(kind,))))

    def by_id(self, identity: str) -> MemoryExcerpt | None:
        """The memory with an id, in the agent's own vaults."""
        return self._latest(Selection(ids=(identity,)))

    def commitments(self) -> Iterator[MemoryExcerpt]:
        """Open commitments, the earliest due first."""
        commitments = self._open("commitment")
        commitments.sort(key=lambda memory: memory.created or "", reverse=True)
        commitments.sort(key=lambda memory: (not _field(memory, "due"), _field(memory, "due")))
        commitments.sort(key=self._ended)
        return self._excerpts(commitments[:MANY])

    def projects(self, first: Set[str] = frozenset()) -> Iterator[MemoryExcerpt]:
        """Active projects: those with the names `first`, then the most recently changed."""
        projects = self._open("project", tag="project-anchor")
        projects.sort(key=lambda memory: memory.updated or memory.date, reverse=True)
        projects.sort(key=lambda memory: first.isdisjoint(_names(memory)))
        projects.sort(key=self._ended)
        return self._excerpts(projects[:MANY])

    def preferences(self) -> Iterator[MemoryExcerpt]:
        """Standing preferences and rules, most important first."""
        preferences = self._open("preference", "rule", tag="rule")
        preferences.sort(key=lambda memory: (_importance(memory), memory.date), reverse=True)
        preferences.sort(key=self._ended)
        return self._excerpts(preferences[:MANY])

    def newest(self, plane: str, limit: int = FEW) -> Iterator[MemoryExcerpt]:
        """The newest memories of a plane that are not in other parts of a briefing.

        They are read as they are asked for.
        """
        selection = Selection(Filters(planes=(plane,)))
        memories = self._memories(self._scope, selection, "newest", _is_open)
        others = (memory for memory in memories if memory.type not in _APART)
        return self._excerpts(islice(others, limit))

    def _open(self, *types: str, tag: str | None = None) -> list[IndexedMemory]:
        """The open memories of some types or with a tag."""
        selections = [Selection(Filters(types=types))]
        if tag:
            selections.append(Selection(Filters(tags=(tag,))))
        memories = {
            memory.memory_id: memory
            for selection in selections
            for memory in self._memories(self._scope, selection, "newest", _is_open)
            if memory.type in types or any(fold(name) == tag for name in memory.tags)
        }
        return list(memories.values())

    def _ended(self, memory: IndexedMemory) -> bool:
        """Whether a memory no longer holds. What holds comes first."""
        return _period(memory).ended(moment(self._now))

    def _latest(self, selection: Selection, keep: Keep = lambda _: True) -> MemoryExcerpt | None:
        """The newest memory of a selection in the agent's own vaults that is not superseded."""
        return self._first(self._memories(self._own, selection, "written", keep))

    def _first(self, memories: Iterable[IndexedMemory]) -> MemoryExcerpt | None:
        return next(self._excerpts(islice(self._current(memories), MANY)), None)

    def _current(self, memories: Iterable[IndexedMemory]) -> Iterator[IndexedMemory]:
        """The memories that are not superseded. Those with a future date are last."""
        future = []
        for memory in memories:
            if _field(memory, "status") != "superseded":
                if self.credible(_written(memory)):
                    yield memory
                else:
                    future.append(memory)
        yield from future

    def _memories(
        self,
        vaults: dict[str, Vault],
        selection: Selection,
        order: Order,
        keep: Keep = lambda _: True,
    ) -> Iterator[IndexedMemory]:
        """The memories of a selection that have not expired and pass `keep`."""
        filters = replace(selection.filters, domains=self._domains)
        selection = replace(selection, filters=filters, now=self._now)
        for skip in count(0, PAGE):
            with self._state.reading(tuple(vaults.values())) as index:
                memories = index.memories(
                    selection, order=order, limit=PAGE, skip=skip, fields=_FIELDS
                )
                page = list(memories)
            yield from filter(keep, page)
            if len(page) < PAGE:
                return

    def _excerpts(self, memories: Iterable[IndexedMemory]) -> Iterator[MemoryExcerpt]:
        """The memories with their texts. Memories whose file cannot be read are left out."""
        for memory in memories:
            due = _field(memory, "due") or None
            with suppress(OSError, DjinnError):
                yield extended(
                    memory,
                    MemoryExcerpt,
                    written=_written(memory),
                    due=due,
                    holds=spoken_period(_period(memory), moment(self._now)),
                    overdue=(iso_date(due) or self._today)[:10] < self._today,
                    text=_text(self._scope[memory.vault], memory).strip(),
                    rank=self.ranks.get((memory.vault, memory.path)),
                )


def _text(vault: Vault, memory: IndexedMemory) -> str:
    """The current text of a memory; for an entity, with the values that hold."""
    text = body_of(vault, memory)
    if memory.plane != "knowledge":
        return text
    # Imported here: few standing memories are facts or entities.
    from djinn_memory.notes.fact_note import readable, with_current_values

    return readable(text) if memory.type == "fact" else with_current_values(text)


def _names(memory: IndexedMemory) -> set[str]:
    """The names by which links call a memory."""
    names = (memory.title, *memory.aliases, PurePosixPath(memory.path).name)
    return set(map(name_key, names))


def _field(memory: IndexedMemory, key: str) -> str:
    return fold(memory.field(key) or "")


def _period(memory: IndexedMemory) -> Period:
    return period_of(memory.field("valid_from"), memory.field("valid_to"))


def _is_open(memory: IndexedMemory) -> bool:
    return _field(memory, "status") not in OVER


def _importance(memory: IndexedMemory) -> float:
    """The importance from 0 to 1, or 0 if it is not a number."""
    text = memory.field("importance")
    try:
        value = 0.5 if text is None else float(text)
    except ValueError:
        return 0.0
    return value if math.isfinite(value) else 0.0


def _written(memory: IndexedMemory) -> str:
    return memory.created or memory.date
