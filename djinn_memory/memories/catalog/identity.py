"""The name of a memory in the ledger: its id, else its vault and path, tracked by its text."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from djinn_memory.models import Filters, Vault
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import IndexedMemory, Selection

MERGED = "merged"
"""The field with the ids of the memories that were merged into one. Their events count for it."""


class LedgerName(Struct, frozen=True):
    """The name of a memory in events."""

    memory: str
    """Its id, else `<vault uuid>/<path>`."""
    hash: str | None
    """The hash of its text, which identifies it after a rename; None for a memory with an id."""
    place: str
    """`<vault uuid>/<path>`, also for a memory with an id."""


def ledger_name(memory: IndexedMemory, vault: Vault) -> LedgerName:
    """The name of a memory of this vault in the ledger.

    When several memories share an id, the oldest keeps it; memories that all agents see come before
    those of one agent. The others are identified by path, and sections of a journal also by block
    id.
    """
    place = f"{vault.id}/{memory.path}"
    if memory.block:
        place = f"{place}#^{memory.block}"
    if memory.id and memory.owns_id:
        return LedgerName(memory.id, None, place)
    return LedgerName(place, memory.hash, place)


def located(index: Index, names: Collection[str]) -> dict[str, IndexedMemory]:
    """The memories that still exist, by their names in the ledger."""
    vaults = {vault.name: vault for vault in index.vaults}
    by_uuid = {vault.id: vault.name for vault in index.vaults}
    places = [name.partition("#^")[0].partition("/") for name in names if "/" in name]
    at = tuple((by_uuid[uuid], path) for uuid, _, path in places if uuid in by_uuid)
    memories: dict[str, IndexedMemory] = {}
    for selection in (Selection(ids=tuple(names)), Selection(places=at)):
        for memory in index.memories(selection):
            place = ledger_name(memory, vaults[memory.vault]).place
            memories |= {name: memory for name in (place, memory.id) if name}
    missing = {*names}.difference(memories)
    for name in sorted(missing.intersection(index.values(MERGED))) if missing else ():
        filters = Filters(where=((MERGED, name),))
        for memory in index.memories(Selection(filters), limit=1):
            memories[name] = memory
    return memories
