"""Scores: what the ledger says of an agent's memories, with every number behind it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from djinn_memory.memories.catalog.catalog import MemoryEntry, entry_of, find
from djinn_memory.memories.catalog.identity import former_names, ledger_names, located
from djinn_memory.memories.recall.requests import ShowScores
from djinn_memory.memories.recall.rescoring import counted, pool_of
from djinn_memory.models import Vault
from djinn_memory.runtime import Namespace, operation
from djinn_memory.scoring import Record, Score, own_word, pooled, score, share_of
from djinn_memory.store.index.memories import vault_ids
from djinn_memory.store.ledger import reading
from djinn_memory.store.sqlite import rows


class MemoryScore(Struct, frozen=True):
    """The score of a memory and every number behind it."""

    memory: str
    """The name of the memory in the ledger: its id, else the id of its vault and its path."""
    title: str
    """The title of the memory."""
    vault: str
    """The vault it is in."""
    path: str
    """Its file there."""
    agents: tuple[str, ...]
    """Whose uses and ratings count."""
    record: Record
    """How often it was used and rated, and when last."""
    score: Score
    """The score as of now."""
    importance: float | None
    """What the note says of itself, 0 to 1; null if it says nothing."""
    confidence: float | None
    """What the note says of itself, 0 to 1; null if it says nothing."""
    own: float
    """The factor that follows from importance and confidence."""


class MemoryScores(Struct, frozen=True):
    """What use and ratings say of memories."""

    scores: tuple[MemoryScore, ...]
    """The memory that was named, else all that were used or rated, the most recent first."""


class Scores(Namespace):
    """How use and ratings move the memories of a home."""

    @operation(ShowScores)
    def show(self, request: ShowScores) -> MemoryScores:
        """Show the score of a memory, or of all memories that the agent used or rated."""
        agent = self.runtime.home.agent(request.agent)
        vaults = self.runtime.fresh_scope(agent)
        index = self._state.index
        if request.name is not None:
            entries = [find(index, request.name, vaults)]
        else:
            entries = [entry_of(index, note, vaults) for note in self._rated(vaults, agent)]
        return MemoryScores(tuple(self._scores(entries, agent)))

    def _scores(self, entries: Sequence[MemoryEntry], agent: str) -> list[MemoryScore]:
        """The scores of these memories for an agent, as of now."""
        state = self._state
        vaults = vault_ids(state.index, state.home.vaults)
        config = state.home.config.scoring
        names = ledger_names(state.index, [entry.note_id for entry in entries], vaults)
        ledger = state.ledger_if_any
        former = former_names(state.index, ledger, names) if ledger else {}
        every = [name for several in former.values() for name in several]
        records = reading.records(ledger, every) if ledger else {}
        shared = pool_of(state.home)
        now = self.runtime.now().isoformat()
        scores = []
        for entry in entries:
            pool = state.home.named((entry.vault,))[0].id == shared
            mine = counted(records, former.get(entry.note_id, ()), agent, everybody=pool)
            record = pooled(list(mine.values()))
            importance, confidence = (
                share_of(self._field(entry.note_id, key)) for key in ("importance", "confidence")
            )
            scores.append(
                MemoryScore(
                    memory=names[entry.note_id].memory,
                    title=entry.title,
                    vault=entry.vault,
                    path=entry.path,
                    agents=tuple(sorted({who for _, who in mine} | {agent})),
                    record=record,
                    score=score(record, config, now),
                    importance=importance,
                    confidence=confidence,
                    own=own_word(importance, confidence, config),
                )
            )
        return scores

    def _rated(self, vaults: Sequence[Vault], agent: str) -> list[int]:
        """The notes that an agent used or rated, the most recent first."""
        ledger = self._state.ledger_if_any
        if ledger is None:
            return []
        config = self._state.home.config
        agents = config.agents if config.scoring.shared else [agent]
        numbered = vault_ids(self._state.index, vaults)
        names = [memory for _, memory, _ in reading.scored(ledger, agents)]
        notes = located(self._state.index, names, numbered)
        return list(dict.fromkeys(notes[name] for name in names if name in notes))

    def _field(self, note_id: int, key: str) -> str:
        values = rows(
            self._state.index,
            "select folded from field join memory on memory.id = memory_id "
            "where note_id = ? and key = ? limit 1",
            (note_id, key),
        )
        return values[0][0] if values else ""
