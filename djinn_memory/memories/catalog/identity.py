"""The name of a memory in the ledger: its id, else its vault and path, tracked by its text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from djinn_memory.models import Filters, Vault
from djinn_memory.search.backend import Index
from djinn_memory.store.index.memories import count_hash, place_exists
from djinn_memory.store.index.records import IndexedMemory, Selection
from djinn_memory.store.ledger import Ledger, reading
from djinn_memory.store.state import State

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


def former_names(
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


def merged_ids(memory: IndexedMemory) -> list[str]:
    """The ids of the memories that were merged into a memory."""
    return [value for key, value in memory.fields if key == MERGED]


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
