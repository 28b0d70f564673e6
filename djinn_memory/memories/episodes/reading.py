"""Reads the words of episodes from their journals, each journal once, and names their sessions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from operator import attrgetter
from typing import Any

from msgspec import Struct

from djinn_memory.errors import DjinnError
from djinn_memory.memories.episodes.requests import Episode
from djinn_memory.models import Filters, Memory, extended
from djinn_memory.notes import journal
from djinn_memory.notes import vault as disk
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.journal import JournalRecord
from djinn_memory.runtime import Runtime
from djinn_memory.search.backend import Index
from djinn_memory.search.suggest import near_names
from djinn_memory.store.index.records import IndexedMemory, Selection

KINDS = ("interaction", "observation", "outcome")
"""The types of episodes. Handoffs and checkpoints are separate notes."""

EPISODES = Filters(types=KINDS, planes=("episodic",), paths=("journal/",))
"""The filters that select episodes."""

FIELDS = ("session", "channel", "importance", "client", "domain")
"""Fields of an episode that a list shows in addition to those of any memory."""

OPEN = 4
"""Number of journals whose records are kept at a time. Homes that share a vault write in turn."""

_Records = Mapping[str, JournalRecord]


class EpisodeText(Struct, frozen=True):
    """The words of an episode, as they stand in its journal now."""

    memory: IndexedMemory
    """The episode in the index."""
    message: str
    """The message or the observation."""
    response: str | None
    """The response; None if there is none."""
    context: dict[str, Any] | None
    """Other data that was recorded with it."""


def read_episodes(runtime: Runtime, memories: Iterable[IndexedMemory]) -> Iterator[EpisodeText]:
    """The words of episodes, in the order given.

    A memory that is no section of a journal, or no longer there, is left out.
    """
    journals: dict[tuple[str, str], _Records] = {}
    for memory in memories:
        place = memory.vault, memory.path
        if place not in journals:
            if len(journals) == OPEN:
                del journals[next(iter(journals))]
            journals[place] = _records(runtime, *place)
        record = journals[place].get(str(memory.block))
        if record is not None:
            message, response = record.spoken
            context = record.comment.get("context")
            data = context if isinstance(context, dict) else None
            yield EpisodeText(memory, message, response, data)


def as_episode(memory: IndexedMemory) -> Episode:
    """An episode as a list shows it."""
    weight = memory.field("importance")
    number = None
    with suppress(TypeError, ValueError):
        number = float(weight) if weight is not None else None
    return extended(
        memory,
        Episode,
        session=memory.field("session"),
        channel=memory.field("channel"),
        importance=number,
    )


def derived_from(index: Index, episodes: Iterable[IndexedMemory]) -> dict[int, list[Memory]]:
    """The memories that name episodes as their evidence, by episode."""
    derived: dict[int, list[Memory]] = {episode.memory_id: [] for episode in episodes}
    links = dict.fromkeys(
        (link.target, link.source)
        for link in index.links(derived)
        if link.field == "evidence" and link.target in derived
    )
    memories = index.lookup({source for _, source in links})
    for target, source in links:
        if target is not None and source in memories:
            derived[target].append(extended(memories[source], Memory))
    return derived


def evidence_for(index: Index, memory: IndexedMemory) -> list[Episode]:
    """The episodes that a memory names as its evidence, newest first."""
    targets = {
        link.target
        for link in index.links([memory.memory_id])
        if link.field == "evidence" and link.source == memory.memory_id and link.target is not None
    }
    episodes = index.lookup(targets, fields=FIELDS).values()
    newest = sorted(episodes, key=attrgetter("date", "address"), reverse=True)
    return [as_episode(episode) for episode in newest if episode.type in KINDS]


def near_sessions(runtime: Runtime, agent: str, name: str) -> tuple[str, ...]:
    """The sessions with turns whose names are similar to a name that has none."""
    with runtime.index(runtime.home.personal_vaults(agent)) as index:
        groups = index.groups("session", Selection(EPISODES))
    return tuple(near_names(name, (group.value for group in reversed(groups))))


def _records(runtime: Runtime, vault_name: str, path: str) -> _Records:
    """The records of a journal by block id. Empty when the file cannot be read."""
    [vault] = runtime.home.named((vault_name,))
    with suppress(OSError, DjinnError):
        text = decode(disk.read(vault, path))[0]
        return {record.block: record for record in journal.read(path, text).records}
    return {}
