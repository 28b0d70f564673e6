"""The name of a memory in the ledger: its id, else its vault and path, tracked by its text."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from djinn_memory.models import Vault
from djinn_memory.search.backend import Index
from djinn_memory.store.index.memories import count_hash, place_exists
from djinn_memory.store.index.records import IndexedMemory, Selection
from djinn_memory.store.ledger import Ledger, reading
from djinn_memory.store.sqlite import rows

if TYPE_CHECKING:
    import apsw


class LedgerName(Struct, frozen=True):
    """The name of a memory in events."""

    memory: str
    """Its id, else `<vault uuid>/<path>`."""
    hash: str | None
    """The hash of its text, which identifies it at another path; None for a memory with an id."""
    place: str
    """`<vault uuid>/<path>`, also for a memory with an id."""


def ledger_name(memory: IndexedMemory, vault: Vault) -> LedgerName:
    """The name of a memory of this vault in the ledger.

    When several memories share an id, the oldest keeps it. The others are identified by path, and
    sections of a journal by their block id as well.
    """
    place = f"{vault.id}/{memory.path}"
    if memory.block:
        place = f"{place}#^{memory.block}"
    if memory.id and memory.owns_id:
        return LedgerName(memory.id, None, place)
    return LedgerName(place, memory.hash, place)


def ledger_names(
    connection: apsw.Connection, note_ids: Collection[int], vaults: Mapping[int, Vault]
) -> dict[int, LedgerName]:
    """What the ledger calls these notes.

    When several notes share an id, the oldest keeps it. The others are identified by path.
    """
    notes = rows(
        connection,
        "select note.id, vault_id, path, lower(hex(hash)), uid, uid is not null and exists ("
        "select 1 from memory as other join note as its on its.id = other.note_id "
        "where other.uid = memory.uid and other.id <> memory.id and "
        "(coalesce(other.created, 'z'), its.mtime_ns, its.path) < "
        "(coalesce(memory.created, 'z'), note.mtime_ns, note.path)) "
        "from note join memory on memory.note_id = note.id "
        "where note.id in (select value from json_each(?))",
        (json.dumps(list(note_ids)),),
    )
    names = {}
    for key, vault, path, digest, uid, younger in notes:
        place = f"{vaults[vault].id}/{path}"
        by_id = uid and not younger
        names[key] = LedgerName(uid if by_id else place, None if by_id else digest, place)
    return names


def former_names(
    connection: apsw.Connection, ledger: Ledger, known: Mapping[int, LedgerName]
) -> dict[int, list[str]]:
    """By note: the names that earlier events may have for it, its current name first.

    A note that had no id was known by its path. A note without an id that was renamed was known by
    another path, where it is gone: it was seen there with a text that this note has or had, and
    that no other note has.
    """
    names = {key: list(dict.fromkeys((name.memory, name.place))) for key, name in known.items()}
    texts = {name.hash: key for key, name in known.items() if name.hash}
    if not texts:
        return names
    current = set(texts)
    places = {known[key].memory: key for key in texts.values()}
    for memory, hashes in reading.hashes(ledger, places).items():
        texts |= dict.fromkeys(hashes - current, places[memory])
    for digest, memories in reading.seen_with(ledger, texts).items():
        key = texts[digest]
        former = memories - set(names[key])
        if former and count_hash(connection, digest) == (digest in current):
            names[key] += _gone(connection, ledger, former)
    return names


def _gone(connection: apsw.Connection, ledger: Ledger, former: set[str]) -> list[str]:
    """The names of memories known by path that are gone, and the names they had before."""
    names: list[str] = []
    while former:
        gone = [
            name
            for name in sorted(former)
            if name not in names and not place_exists(connection, name)
        ]
        names += gone
        hashes = reading.hashes(ledger, gone).values()
        texts = {digest for digests in hashes for digest in digests}
        seen = reading.seen_with(ledger, texts) if texts else {}
        former = {name for memories in seen.values() for name in memories} - set(names)
        former = former if gone else set()
    return names


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
    return memories
