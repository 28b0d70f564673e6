"""Reads an agent's uses and ratings of memories from the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from djinn_memory.home import access
from djinn_memory.home.home import Home
from djinn_memory.memories.catalog.identity import LedgerName, former_names, ledger_name, merged_ids
from djinn_memory.models import Vault
from djinn_memory.scoring import Record, pooled
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
    names = former_names(state, ledger, known, vaults)
    for memory in memories:
        names[memory.memory_id] += merged_ids(memory)
    return names


def pool_of(home: Home) -> str | None:
    """The id of the vault in which the ratings of all agents count, or None."""
    if not home.config.scoring.shared:
        return None
    return next((vault.id for vault in home.vaults if access.is_shared_name(vault.name)), None)
