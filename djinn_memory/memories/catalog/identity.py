"""What the ledger calls a memory: by its id, else by its vault and path, followed by its text."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

import apsw
from msgspec import Struct

from djinn_memory.models import Vault
from djinn_memory.store.ledger import Ledger, reading
from djinn_memory.store.sqlite import rows


class LedgerName(Struct, frozen=True):
    """A memory as events name it."""

    memory: str
    """Its id, else `<vault uuid>/<path>`."""
    hash: str | None
    """Of its text, by which it is known at another path; None where the id does that."""
    place: str
    """`<vault uuid>/<path>`, whether or not it has an id."""


def ledger_names(
    connection: apsw.Connection, note_ids: Collection[int], vaults: Mapping[int, Vault]
) -> dict[int, LedgerName]:
    """What the ledger calls these notes.

    Of several notes with one id it is the oldest's; the others are known by their paths.
    """
    found = rows(
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
    made = {}
    for key, vault, path, digest, uid, younger in found:
        place = f"{vaults[vault].id}/{path}"
        by_id = uid and not younger
        made[key] = LedgerName(uid if by_id else place, None if by_id else digest, place)
    return made


def names(
    connection: apsw.Connection, ledger: Ledger, known: Mapping[int, LedgerName]
) -> dict[int, list[str]]:
    """By note: under what earlier events may name it, what they call it now first.

    A note that had no id was known by its path, and one without an id that was renamed by another
    path, from which it is gone: there it was seen with a text that this note has or had, and that
    no other has.
    """
    made = {key: list(dict.fromkeys((one.memory, one.place))) for key, one in known.items()}
    texts = {one.hash: key for key, one in known.items() if one.hash}
    if not texts:
        return made
    now = set(texts)
    places = {known[key].memory: key for key in texts.values()}
    for memory, had in reading.hashes(ledger, places).items():
        texts |= dict.fromkeys(had - now, places[memory])
    for digest, memories in reading.seen_with(ledger, texts).items():
        key = texts[digest]
        former = memories - set(made[key])
        if former and _copies(connection, digest) == (digest in now):
            made[key] += _gone(connection, ledger, former)
    return made


def _gone(connection: apsw.Connection, ledger: Ledger, former: set[str]) -> list[str]:
    """Of memories known by their paths those that are gone, and what they were called before."""
    found: list[str] = []
    while former:
        gone = [one for one in sorted(former) if one not in found and not _there(connection, one)]
        found += gone
        texts = {digest for some in reading.hashes(ledger, gone).values() for digest in some}
        seen = reading.seen_with(ledger, texts) if texts else {}
        former = {one for some in seen.values() for one in some} - set(found) if gone else set()
    return found


def _copies(connection: apsw.Connection, digest: str) -> int:
    count: int = connection.execute(
        "select count(*) from note where hash = ?", (bytes.fromhex(digest),)
    ).get
    return count


def _there(connection: apsw.Connection, memory: str) -> bool:
    # An id names a note for good: it is never another's former name.
    return "/" not in memory or bool(
        connection.execute(
            "select exists (select 1 from vault join note on vault_id = vault.id "
            "where substr(?1, 1, length(uuid) + 1) = uuid || '/' "
            "and path = substr(?1, length(uuid) + 2))",
            (memory,),
        ).get
    )


def located(
    connection: apsw.Connection, memories: Sequence[str], vaults: Mapping[int, Vault]
) -> dict[str, int]:
    """By what the ledger calls them: the notes of these vaults that are still there."""
    found = {}
    for key, uid, vault, path in rows(
        connection,
        "select note.id, uid, vault_id, path from note join memory on note_id = note.id "
        "join vault on vault.id = vault_id "
        "where uid in (select value from json_each(?1)) "
        "or uuid || '/' || path in (select value from json_each(?1))",
        (json.dumps(list(memories)),),
    ):
        if vault in vaults:
            for name in (f"{vaults[vault].id}/{path}", uid):
                if name:
                    found[name] = key
    return found
