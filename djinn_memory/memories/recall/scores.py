"""What the ledger says of an agent's memories: scores, and every number behind them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import Struct

from djinn_memory.memories.catalog.catalog import MemoryEntry
from djinn_memory.memories.catalog.identity import ledger_names, located, names
from djinn_memory.memories.recall.rescoring import counted, pool_of
from djinn_memory.models import Vault
from djinn_memory.scoring import Record, Score, own_word, pooled, score, share_of
from djinn_memory.store.index.memories import vault_ids
from djinn_memory.store.ledger import reading
from djinn_memory.store.sqlite import rows
from djinn_memory.store.state import State


class MemoryScore(Struct, frozen=True):
    """A memory's score and every number behind it."""

    memory: str
    """What the ledger calls it: its id, else the id of its vault and its path."""
    title: str
    """Its title."""
    vault: str
    """The vault it is in."""
    path: str
    """Its file there."""
    agents: tuple[str, ...]
    """Whose uses and ratings count."""
    record: Record
    """How often it was used and rated, and when last."""
    score: Score
    """As of now."""
    importance: float | None
    """What the note says of itself, 0 to 1; null where it says nothing."""
    confidence: float | None
    """What the note says of itself, 0 to 1; null where it says nothing."""
    own: float
    """By what the note's own word multiplies."""


def scored(state: State, entries: Sequence[MemoryEntry], agent: str) -> list[MemoryScore]:
    """The scores of these memories for an agent, as of now."""
    vaults = vault_ids(state.index, state.home.vaults)
    config = state.home.config.scoring
    known = ledger_names(state.index, [one.note_id for one in entries], vaults)
    ledger = state.ledger_if_any
    called = names(state.index, ledger, known) if ledger else {}
    every = [name for some in called.values() for name in some]
    records = reading.records(ledger, every) if ledger else {}
    shared = pool_of(state.home)
    now = datetime.now(UTC).isoformat()
    found = []
    for one in entries:
        pool = state.home.named((one.vault,))[0].id == shared
        mine = counted(records, called.get(one.note_id, ()), agent, everybody=pool)
        record = pooled(list(mine.values()))
        importance, confidence = (
            share_of(_field(state, one.note_id, key)) for key in ("importance", "confidence")
        )
        found.append(
            MemoryScore(
                memory=known[one.note_id].memory,
                title=one.title,
                vault=one.vault,
                path=one.path,
                agents=tuple(sorted({who for _, who in mine} | {agent})),
                record=record,
                score=score(record, config, now),
                importance=importance,
                confidence=confidence,
                own=own_word(importance, confidence, config),
            )
        )
    return found


def rated(state: State, vaults: Sequence[Vault], agent: str) -> list[int]:
    """The notes that an agent used or rated, those last touched first."""
    ledger = state.ledger_if_any
    if ledger is None:
        return []
    config = state.home.config
    agents = config.agents if config.scoring.shared else [agent]
    numbered = vault_ids(state.index, vaults)
    memories = [memory for who, memory, _ in reading.scored(ledger, agents)]
    there = located(state.index, memories, numbered)
    return list(dict.fromkeys(there[one] for one in memories if one in there))


def _field(state: State, note_id: int, key: str) -> str:
    found = rows(
        state.index,
        "select folded from field join memory on memory.id = memory_id "
        "where note_id = ? and key = ? limit 1",
        (note_id, key),
    )
    return found[0][0] if found else ""
