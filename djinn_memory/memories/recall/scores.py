"""The uses and ratings of an agent's memories in the ledger, and the scores computed from them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct

from djinn_memory.home import access
from djinn_memory.home.home import Home
from djinn_memory.memories.catalog.catalog import MERGED, LedgerName, find, ledger_name, located
from djinn_memory.memories.recall.requests import ShowScores
from djinn_memory.models import Vault
from djinn_memory.operations.operation import Namespace, operation
from djinn_memory.scoring import Record, Score, note_factor, pooled, score, share_of
from djinn_memory.search.backend import Index
from djinn_memory.store.index.memories import count_hash, place_exists
from djinn_memory.store.index.records import IndexedMemory
from djinn_memory.store.ledger import Ledger, reading
from djinn_memory.store.state import State


class LedgerRecords(Struct, frozen=True):
    """The uses and ratings of one memory that count for an agent."""

    name: LedgerName
    """The name of the memory in the ledger."""
    records: dict[tuple[str, str], Record]
    """The records that count, by name and agent. They include records under earlier names."""

    @property
    def pooled(self) -> Record:
        """The sum of all records."""
        return pooled(list(self.records.values()))


def records_of(
    state: State, ledger: Ledger | None, memories: Sequence[IndexedMemory], agent: str
) -> dict[int, LedgerRecords]:
    """The uses and ratings of memories that count for an agent, by memory.

    In the vault `pool_of`, the records of all agents count.
    """
    home = state.home
    vaults = {name: home.named((name,))[0] for name in {memory.vault for memory in memories}}
    names = {memory.memory_id: ledger_name(memory, vaults[memory.vault]) for memory in memories}
    former = names_in_events(state, ledger, memories, names, home.scope(agent)) if ledger else {}
    every = [name for several in former.values() for name in several]
    records = reading.records(ledger, every) if ledger else {}
    pool = pool_of(home)
    return {
        memory.memory_id: LedgerRecords(
            names[memory.memory_id],
            {
                (name, who): record
                for name in former.get(memory.memory_id, ())
                for who, record in records.get(name, {}).items()
                if who == agent or vaults[memory.vault].id == pool
            },
        )
        for memory in memories
    }


def names_in_events(
    state: State,
    ledger: Ledger,
    memories: Sequence[IndexedMemory],
    known: Mapping[int, LedgerName],
    vaults: Sequence[Vault],
) -> dict[int, list[str]]:
    """The names that events may have for each memory: its own, earlier ones, and those of memories
    that were merged into it. Their fields `merged` were loaded.
    """
    names = _former_names(state, ledger, known, vaults)
    for memory in memories:
        names[memory.memory_id] += [value for key, value in memory.fields if key == MERGED]
    return names


def pool_of(home: Home) -> str | None:
    """The id of the vault in which the ratings of all agents count, or None."""
    if not home.config.scoring.shared:
        return None
    return next((vault.id for vault in home.vaults if access.is_shared_name(vault.name)), None)


class MemoryScore(Struct, frozen=True):
    """The score of a memory and every number behind it."""

    memory: str
    """The name of the memory in the ledger: its id, else the id of its vault and its path."""
    title: str
    """The title of the memory."""
    vault: str
    """The vault of the memory."""
    path: str
    """The path of the memory in its vault."""
    agents: tuple[str, ...]
    """The agents whose uses and ratings count."""
    record: Record
    """The number of its uses and ratings, and the times of the last ones."""
    score: Score
    """The current score."""
    importance: float | None
    """The note's own importance, 0 to 1; null if it gives none."""
    confidence: float | None
    """The note's own confidence, 0 to 1; null if it gives none."""
    own: float
    """The factor from importance and confidence."""


class MemoryScores(Struct, frozen=True):
    """How usage and ratings affect the ranking of memories."""

    scores: tuple[MemoryScore, ...]
    """The named memory, else all that were used or rated, most recent first."""


class Scores(Namespace, name="scores"):
    """Operations on the scores of memories."""

    @operation(ShowScores, positional=("name",))
    def show(self, request: ShowScores) -> MemoryScores:
        """Show the score of a memory, or of all memories that the agent used or rated."""
        agent = self.runtime.home.agent(request.agent)
        with self.runtime.index(self._scope(agent)) as index:
            if request.name is not None:
                memories: Sequence[IndexedMemory] = [find(index, request.name)]
            else:
                memories = self._rated(index, agent)
        return MemoryScores(tuple(self.of(memories, agent)))

    def of(self, memories: Sequence[IndexedMemory], agent: str) -> Iterator[MemoryScore]:
        """The current scores of these memories for an agent."""
        known = records_of(self._state, self._state.ledger_if_any, memories, agent)
        config, now = self._state.home.config.scoring, self.runtime.now().isoformat()
        for memory in memories:
            entry = known[memory.memory_id]
            importance = share_of(memory.field("importance"))
            confidence = share_of(memory.field("confidence"))
            yield MemoryScore(
                memory=entry.name.memory,
                title=memory.title,
                vault=memory.vault,
                path=memory.path,
                agents=tuple(sorted({who for _, who in entry.records} | {agent})),
                record=entry.pooled,
                score=score(entry.pooled, config, now),
                importance=importance,
                confidence=confidence,
                own=note_factor(importance, confidence, config),
            )

    def _rated(self, index: Index, agent: str) -> Sequence[IndexedMemory]:
        """The memories that an agent used or rated, most recent first."""
        ledger = self._state.ledger_if_any
        if ledger is None:
            return ()
        config = self._state.home.config
        agents = config.agents if config.scoring.shared else [agent]
        names = [name for _, name, _ in reading.scored(ledger, agents)]
        by_name = located(index, names)
        rated = {by_name[name].memory_id: by_name[name] for name in names if name in by_name}
        return list(rated.values())


def _former_names(
    state: State, ledger: Ledger, known: Mapping[int, LedgerName], vaults: Sequence[Vault]
) -> dict[int, list[str]]:
    """The names that earlier events may have for each memory, its current name first.

    A memory that had no id was known by its path. A renamed memory without an id was known by
    another path, which no longer exists. It is recognised by a text that it has or had and that no
    other memory in `vaults` has. It was never in another vault.
    """
    names = {key: list(dict.fromkeys((name.memory, name.place))) for key, name in known.items()}
    texts = {name.hash: key for key, name in known.items() if name.hash}
    if not texts:
        return names
    current = set(texts)
    places = {known[key].memory: key for key in texts.values()}
    for memory, hashes in reading.hashes(ledger, places).items():
        texts |= dict.fromkeys(hashes - current, places[memory])
    hidden = {vault.id for vault in state.home.vaults} - {vault.id for vault in vaults}
    for digest, memories in reading.seen_with(ledger, texts).items():
        key = texts[digest]
        former = memories - set(names[key])
        if former and count_hash(state.index, digest, vaults) == (digest in current):
            names[key] += _gone(state, ledger, former, hidden, vaults)
    return names


def _gone(
    state: State, ledger: Ledger, former: set[str], hidden: Collection[str], vaults: Sequence[Vault]
) -> list[str]:
    """The names of deleted memories that were known by path, and their earlier names.

    Names in the vaults with `hidden` ids are left out, whether or not such a memory exists.
    """
    names: list[str] = []
    while former:
        gone = [
            name
            for name in sorted(former)
            if name not in names
            and name.partition("/")[0] not in hidden
            and not place_exists(state.index, name, vaults)
        ]
        names += gone
        hashes = reading.hashes(ledger, gone).values()
        texts = {digest for digests in hashes for digest in digests}
        seen = reading.seen_with(ledger, texts) if texts else {}
        former = {name for memories in seen.values() for name in memories} - set(names)
        former = former if gone else set()
    return names
