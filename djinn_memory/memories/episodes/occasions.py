"""Reads the episodes of an agent as occasions, from the index, without opening a journal.

The ledger has the episodes that a consolidation has read, and those that were marked for one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.memories.episodes.reading import EPISODES
from djinn_memory.models import Vault
from djinn_memory.notes.dates import moment
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import MemoryOpening, Selection
from djinn_memory.store.ledger import Event, reading
from djinn_memory.store.state import State

MARKED, READ = "episode.marked", "consolidation.read"
"""The kinds of the events that an episode was marked for consolidation, where the subject is its
id, and that a consolidation has read all episodes that count."""


class Occasion(Struct, frozen=True):
    """An episode, as detection reads it."""

    at: datetime
    """Its time on the clock of the user."""
    text: str
    """The beginning of its message."""
    key: str
    """The identity of the episode, such as a link."""
    domain: str | None = None
    """The domain of the episode; the first one if somebody wrote several."""
    entities: tuple[str, ...] = ()
    """The names in the episode."""
    more_domains: tuple[str, ...] = ()
    """Its other domains."""

    @property
    def domains(self) -> tuple[str, ...]:
        """All its domains."""
        return self.more_domains if self.domain is None else (self.domain, *self.more_domains)


MOST_EPISODES = 100_000
"""The newest episodes that are read. They take about 150 MB."""

MESSAGE = 300
"""Characters that are read of a message. An action is named at its beginning."""

ACTIONS = replace(EPISODES, types=("interaction", "observation"))
"""The filters that select actions. An outcome is not an action: it says how one ended."""

_FIELDS = ("response", "domain", "entities")
_NAMES = ("known: ", "name: ")


class EpisodeScope(Struct, frozen=True):
    """The episodes that count for a consolidation."""

    vault: Vault
    cutoff: datetime
    """Episodes until this time count."""
    marked: tuple[str, ...]
    """The ids of younger episodes that count too."""

    def count(self, index: Index) -> int:
        """The number of all episodes that count, however old."""
        aged = Selection(replace(EPISODES, until=moment(self.cutoff)))
        return index.count(aged) + sum(1 for _ in self._marked(index))

    def occasions(self, index: Index, days: int) -> list[Occasion]:
        """The episodes of the last `days` that count."""
        since = moment(self.cutoff - timedelta(days=days))
        aged = Selection(replace(ACTIONS, since=since, until=moment(self.cutoff)))
        return [*_occasions((*_openings(index, aged), *self._marked(index)))]

    def _marked(self, index: Index) -> Iterator[MemoryOpening]:
        """The marked episodes that are younger than the cutoff."""
        if self.marked:
            for opening in _openings(index, Selection(ACTIONS, ids=self.marked)):
                if opening.date > moment(self.cutoff):
                    yield opening


class ReadingLog:
    """What the consolidations of one agent have read. Without `keep` nothing is written."""

    kinds: ClassVar[tuple[str, ...]] = (READ, MARKED)
    """The events that are read."""

    def __init__(self, state: State, agent: str, *, keep: bool = True) -> None:
        self._state, self._agent, self._keep = state, agent, keep
        self.read: tuple[int, frozenset[str]] = 0, frozenset()
        """How many episodes were read by the last consolidation, and the marked ones among them."""
        self.marked: dict[str, None] = {}
        """The ids of the episodes that were marked."""
        ledger = state.ledger_if_any
        for event in reading.agent_events(ledger, self.kinds, agent) if ledger else ():
            self._apply(event)

    def consolidated(self, episodes: int, until: datetime) -> None:
        """Record that all episodes that count were read: those `until` a time, and marked ones."""
        data = {
            "agent": self._agent,
            "episodes": episodes,
            "marked": sorted(self.marked),
            "until": moment(until),
        }
        self._append(Event(READ, self._agent, data))

    def _append(self, event: Event) -> None:
        if self._keep:
            self._state.ledger.append([event])
        self._apply(event)

    def _apply(self, event: Event) -> None:
        if event.kind == MARKED:
            self.marked[event.subject] = None
        elif event.kind == READ:
            episodes, marked = (event.data.get(name) for name in ("episodes", "marked"))
            listed = map(str, marked if isinstance(marked, list) else ())
            self.read = (episodes if isinstance(episodes, int) else 0), frozenset(listed)


def _openings(index: Index, selection: Selection) -> Iterable[MemoryOpening]:
    return index.openings(selection, characters=MESSAGE, fields=_FIELDS, limit=MOST_EPISODES)


def _occasions(openings: Sequence[MemoryOpening]) -> Iterator[Occasion]:
    for opening in openings:
        # A date far from now has no local time.
        with suppress(ValueError, OverflowError):
            at = datetime.fromisoformat(opening.date).astimezone()
            target = opening.path.removesuffix(".md")
            domains = [value for key, value in opening.fields if key == "domain"]
            yield Occasion(
                at,
                _message(opening),
                f"[[{target}#^{opening.block}]]" if opening.block else f"[[{target}]]",
                domains[0] if domains else None,
                tuple(
                    value.partition(": ")[2]
                    for key, value in opening.fields
                    if key == "entities" and value.startswith(_NAMES)
                ),
                tuple(domains[1:]),
            )


def _message(opening: MemoryOpening) -> str:
    """The user's message, without quotation marks and without the response."""
    lines = [line.removeprefix(">").removeprefix(" ") for line in opening.text.split("\n")]
    border = next((value for key, value in opening.fields if key == "response"), "")
    if border.isdigit() and int(border) > 0:
        lines = lines[: int(border) - 1]
    return "\n".join(lines)
