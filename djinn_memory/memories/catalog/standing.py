"""The memories that an agent needs for any task, and excerpts that fit a token budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cached_property
from itertools import count, islice, zip_longest
from pathlib import PurePosixPath
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.chunking.tokens import token_counts, token_starts
from djinn_memory.errors import DjinnError
from djinn_memory.home import access
from djinn_memory.memories.catalog.catalog import text_for_people
from djinn_memory.memories.catalog.requests import MemoryExcerpt
from djinn_memory.models import Filters, Vault, extended
from djinn_memory.notes.dates import iso_date, moment
from djinn_memory.notes.periods import Period, period_of, spoken_period
from djinn_memory.notes.slugs import fold, name_key, tag_key
from djinn_memory.store.index.records import IndexedMemory, Order, Selection
from djinn_memory.store.state import State

EXCERPT_TOKENS = 400
"""Maximum tokens of an excerpt, so that a long memory leaves room for others. `djinn show` shows
all."""

LONGEST = 40
"""Maximum characters for each token of an excerpt. Longer text need not be counted."""

SCRAP = 20
"""Minimum tokens of an excerpt. With fewer, only the title is shown."""

FRAME = 14
"""Tokens of markup around the title and the text of a memory."""


E = TypeVar("E", bound=MemoryExcerpt)


class TokenBudget(Struct):
    """The remaining part of a token budget."""

    budget: int
    left: int = 0
    left_out: int = 0
    """The number of memories that did not fit."""

    def __post_init__(self) -> None:
        self.left = self.budget

    def take(self, excerpt: E | None, *, share: float = 1 / 4, reserved: int = 0) -> E | None:
        """As much of a memory as fits, in at most a `share` of the budget.

        Its text leaves `reserved` tokens free. If the text does not fit, only the title is
        returned. If the title does not fit, returns None and counts the memory as left out.
        """
        if excerpt is None:
            return None
        title = _title_tokens(excerpt)
        room = min(self.left - title - reserved, int(self.budget * share), EXCERPT_TOKENS)
        if self.left < title:
            self.left_out += 1
            return None
        text = excerpt.text[: LONGEST * EXCERPT_TOKENS]
        starts = token_starts(text)
        if len(starts) > room or len(text) < len(excerpt.text):
            room = room if room >= SCRAP else 0
            end = starts[room] if room < len(starts) else None
            shortened = f"{text[:end].rstrip()} ..." if room else ""
            excerpt = replace(excerpt, text=shortened, cut=True)
        self.left -= title + min(len(starts), room)
        return excerpt

    def take_in_turn(
        self, kinds: Sequence[Iterable[MemoryExcerpt]], *, most: int | None = None
    ) -> list[tuple[MemoryExcerpt, ...]]:
        """The memories of several kinds that fit, taken from each kind in turn.

        The first memory of each kind comes first, then the second, so that no kind uses the room of
        another. With `most` they use at most that many tokens. Titles may use half of these first.
        """
        kept_back = 0 if most is None else max(0, self.left - most)
        self.left -= kept_back
        turns = [
            (kind, excerpt)
            for turn in zip_longest(*kinds)
            for kind, excerpt in enumerate(turn)
            if excerpt
        ]
        titles = 0 if most is None else sum(_title_tokens(excerpt) for _, excerpt in turns)
        taken: list[list[MemoryExcerpt]] = [[] for _ in kinds]
        for kind, excerpt in turns:
            titles -= _title_tokens(excerpt)
            reserved = max(0, min(titles, (most or 0) // 2))
            if shown := self.take(excerpt, share=1 / 8, reserved=reserved):
                taken[kind].append(shown)
        self.left += kept_back
        return [tuple(excerpts) for excerpts in taken]


def _title_tokens(excerpt: MemoryExcerpt) -> int:
    """The number of tokens of a memory without its text."""
    name = excerpt.id or excerpt.path
    [title] = token_counts([f"{excerpt.title} {excerpt.type} {name} {excerpt.due or ''}"])
    return title + FRAME


OVER = frozenset({
    "done", "closed", "completed", "cancelled", "canceled", "dropped", "archived", "superseded",
    "expired", "inactive", "proposed",
})  # fmt: skip
"""Values of `status` for memories that need no attention, or that a person has not accepted yet."""

MANY = 12
"""Maximum number of memories of one kind. An agent with more does not need them listed."""

LATEST = 3
"""Number of decisions that are told as the latest."""

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

    def decisions(self) -> Iterator[MemoryExcerpt]:
        """The newest decisions, those that hold first."""
        decisions = self._open("decision")
        decisions.sort(key=self._ended)
        return self._excerpts(decisions[:LATEST])

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
            if memory.type in types or any(tag_key(name) == tag for name in memory.tags)
        }
        return list(memories.values())

    def _ended(self, memory: IndexedMemory) -> bool:
        """Whether a memory no longer holds. Current memories come first."""
        return _period(memory).ended(moment(self._now))

    def _latest(self, selection: Selection, keep: Keep = lambda _: True) -> MemoryExcerpt | None:
        """The newest memory of a selection in the agent's own vaults that is not superseded."""
        memories = self._current(self._memories(self._own, selection, "written", keep))
        return next(self._excerpts(islice(memories, MANY)), None)

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
                    text=text_for_people(self._scope[memory.vault], memory).strip(),
                    rank=self.ranks.get((memory.vault, memory.path)),
                )


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
