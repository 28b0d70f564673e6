"""Writes vaults, notes and their memories to the index.

A memory is written or removed as a whole.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import apsw
from msgspec import Struct
from msgspec.structs import asdict

from djinn_memory.models import Vault
from djinn_memory.notes.slugs import fold, name_key
from djinn_memory.notes.vault import FileStat
from djinn_memory.store.index import compartments, links, vectors, words
from djinn_memory.store.index.memory_rows import ParsedMemory, put_memory, time_text
from djinn_memory.store.sqlite import rows, write_row

if TYPE_CHECKING:
    from djinn_memory.notes.note_file import NoteFile, NoteMemory


class IndexedFile(Struct, frozen=True):
    """The index's record of a note's file."""

    note_id: int
    stat: FileStat
    seen_ns: int
    hash: bytes
    problem: str | None
    changed: str | None
    """When djinn saw its text change, else when it was last committed, if it was."""


class _KnownMemory(Struct, frozen=True):
    """The index's record of a memory in a note."""

    memory_id: int
    digest: bytes | None
    """As `NoteMemory.digest`; None in an index made by an earlier version."""
    line: int
    offset: int


def vault_row(connection: apsw.Connection, vault: Vault) -> tuple[int, str | None]:
    """The number of a vault in the index, and the dialect in which all its notes were read.

    The number is assigned at the first reading and survives a rename. Before the first reading the
    dialect is None.
    """
    connection.execute(
        "insert into vault (uuid, name) values (?, ?) "
        "on conflict (uuid) do update set name = excluded.name where name <> excluded.name",
        (vault.id, vault.name),
    )
    [(number, dialect)] = rows(
        connection, "select id, dialect from vault where uuid = ?", (vault.id,)
    )
    compartments.of_memory(connection, number, [])
    return number, dialect


def rename_vault(connection: apsw.Connection, before: str, after: str) -> None:
    """Give a vault another id."""
    connection.execute("update or ignore vault set uuid = ? where uuid = ?", (after, before))


def set_dialect(connection: apsw.Connection, vault: int, name: str) -> None:
    """Record that all notes of a vault have been read in a dialect."""
    connection.execute("update vault set dialect = ? where id = ?", (name, vault))


def vault_ids(connection: apsw.Connection, vaults: Sequence[Vault]) -> dict[int, Vault]:
    """The vaults that the index contains, by their numbers, in the order given."""
    numbers = dict(connection.execute("select uuid, id from vault"))
    return {numbers[vault.id]: vault for vault in vaults if vault.id in numbers}


def known(
    connection: apsw.Connection, vault: int, only: Collection[str] | None = None
) -> dict[str, IndexedFile]:
    """The notes of a vault by path; with `only`, those at or below these paths."""
    sql = (
        "select path, id, size, mtime_ns, ctime_ns, inode, seen_ns, hash, problem, changed "
        "from note where vault_id = ?"
    )
    if only is None:
        listed = rows(connection, sql, (vault,))
    else:
        # `/` is the character before `0`.
        listed = rows(
            connection,
            "with looked as (select value from json_each(?)) "
            f"{sql} and path in looked union "
            f"{sql.replace('from note', 'from looked join note')} "
            "and path > value || '/' and path < value || '0'",
            (json.dumps(list(only)), vault, vault),
        )
    return {
        path: IndexedFile(key, FileStat(path, size, mtime, ctime, inode), seen, *more)
        for path, key, size, mtime, ctime, inode, seen, *more in listed
    }


def contents(connection: apsw.Connection, vault: Vault) -> list[tuple[str, bytes, int, str | None]]:
    """Path, hash, size and id of all notes of a vault, by path. A journal has no id."""
    return rows(
        connection,
        "select path, hash, size, (select uid from memory where note_id = note.id "
        "and block is null) from note join vault on vault.id = vault_id where uuid = ? "
        "order by path",
        (vault.id,),
    )


def of_note(connection: apsw.Connection, note_id: int | None) -> dict[str | None, _KnownMemory]:
    """The memories of a note by block id. The key None stands for a whole note."""
    return {
        block: _KnownMemory(*row)
        for block, *row in connection.execute(
            "select block, id, digest, lines_above, characters_above from memory where note_id = ?",
            (note_id,),
        )
    }


def can_append(connection: apsw.Connection, note_id: int, blocks: Collection[str | None]) -> bool:
    """Whether a note has sections, and none of them has one of these block ids in any case."""
    fits: int = connection.execute(
        "select exists (select 1 from memory where note_id = ?1 and block is not null) "
        "and not exists (select 1 from memory where note_id = ?1 and block collate nocase in "
        "(select value from json_each(?2)))",
        (note_id, json.dumps([*blocks])),
    ).get
    return bool(fits)


def shares_file(connection: apsw.Connection, memory_id: int) -> bool:
    """Whether the file of a memory is a journal, which holds other memories too."""
    shared: int = connection.execute(
        "select exists (select 1 from memory join memory as section "
        "on section.note_id = memory.note_id where memory.id = ? and section.block is not null)",
        (memory_id,),
    ).get
    return bool(shared)


def put(
    connection: apsw.Connection,
    vault: int,
    file: FileStat,
    seen_ns: int,
    digest: bytes,
    content: NoteFile,
    parsed: Mapping[str | None, ParsedMemory],
    changed: str | None,
    *,
    appended: bool = False,
) -> None:
    """Write a note and its new or changed memories: `parsed`, by block id.

    With `appended`, all memories of `content` are new, and the note's other memories are kept.
    Notes and memories keep their numbers, so that links to them stay valid. Words are searchable
    at once. Windows wait for their vectors.
    """
    note_id: int | None = connection.execute(
        "select id from note where vault_id = ? and path = ?", (vault, file.path)
    ).get
    known = {} if appended else of_note(connection, note_id)
    gone = known.keys() - {source.block for source in content.memories}
    links.unsettle(connection, names=note_id is None or None in parsed or None in gone)
    values = {"vault_id": vault, "hash": digest, "problem": content.problem}
    values["changed"] = changed
    note_id = write_row(connection, "note", {**_stat(file, seen_ns), **values}, note_id)
    for block in gone:
        connection.execute("delete from memory where id = ?", (known[block].memory_id,))
    for source in content.memories:
        before = known.get(source.block)
        if source.block in parsed:
            memory_id = before.memory_id if before else None
            with vectors.preserved(connection, memory_id):
                memory = parsed[source.block]
                put_memory(connection, vault, note_id, memory_id, file, source, memory, changed)
        elif before:
            _shift(connection, before, source)


def touch(connection: apsw.Connection, note_id: int, file: FileStat, seen_ns: int) -> None:
    """Store the new times or the new path of a file whose bytes are unchanged."""
    write_row(connection, "note", _stat(file, seen_ns), note_id)


def _stat(file: FileStat, seen_ns: int) -> dict[str, object]:
    names = {"folded": fold(file.path), "name": name_key(posixpath.basename(file.path))}
    return {**asdict(file), **names, "seen_ns": seen_ns}


def undated(
    connection: apsw.Connection, vault: int, only: Collection[str] | None = None
) -> list[str]:
    """The paths of the notes of a vault that have no date; with `only`, those at these paths."""
    listed = rows(
        connection,
        "select path from note join memory on note_id = note.id "
        "where vault_id = ?1 and block is null and date = '' "
        "and (?2 is null or path in (select value from json_each(?2)))",
        (vault, None if only is None else json.dumps(list(only))),
    )
    return [path for (path,) in listed]


def put_dates(connection: apsw.Connection, vault: int, times: Mapping[str, int]) -> None:
    """Date notes that have no date by times in seconds since 1970, given by path."""
    for path, seconds in times.items():
        connection.execute(
            "update note set changed = :at where vault_id = :vault and path = :path; "
            "update memory set date = :at, updated = coalesce(updated, :at) where block is null "
            "and note_id = (select id from note where vault_id = :vault and path = :path)",
            {"at": time_text(seconds), "vault": vault, "path": path},
        )


def remove(connection: apsw.Connection, note_id: int) -> None:
    """Remove a note with its memories."""
    connection.execute("delete from note where id = ?", (note_id,))
    links.unsettle(connection)


def forget(
    connection: apsw.Connection, vault: Vault, paths: Sequence[str], block: str | None = None
) -> None:
    """Remove the notes at these paths of a vault. Paths without a note are ignored.

    With `block`, only the journal section with this block id is removed.
    """
    notes = (
        "from note where vault_id = (select id from vault where uuid = ?) "
        "and path in (select value from json_each(?))"
    )
    which = (vault.id, json.dumps(list(paths)))
    if block is None:
        connection.execute(f"delete {notes}", which)
    else:
        sql = f"delete from memory where note_id in (select id {notes}) and block = ?"
        connection.execute(sql, (*which, block))
    if connection.changes():
        links.unsettle(connection)


def keep_vaults(connection: apsw.Connection, uuids: Collection[str]) -> None:
    """Remove all vaults except these, with their notes and words."""
    listed = rows(connection, "select id, uuid from vault")
    for number in [number for number, uuid in listed if uuid not in uuids]:
        held = compartments.of_vault(connection, number)
        connection.execute("delete from vault where id = ?", (number,))
        for compartment in held:
            words.drop(connection, compartment)
        links.unsettle(connection)


def _shift(connection: apsw.Connection, before: _KnownMemory, source: NoteMemory) -> None:
    """Move an unchanged memory, its chunks and its links to their new position in the file."""
    lines, characters = source.line - before.line, source.offset - before.offset
    if not (lines or characters):
        return
    connection.execute(
        "update memory set lines_above = ?, characters_above = ? where id = ?",
        (source.line, source.offset, before.memory_id),
    )
    connection.execute(
        "update chunk set first_line = first_line + ?1, last_line = last_line + ?1 "
        "where memory_id = ?2 and ?1",
        (lines, before.memory_id),
    )
    connection.execute(
        "update link set line = line + ?, start = start + ?2, stop = stop + ?2 "
        "where memory_id = ?3 and field is null",
        (lines, characters, before.memory_id),
    )


def visible_notes(connection: apsw.Connection, vaults: Sequence[Vault]) -> dict[str, bytes]:
    """The hashes of the notes with a memory that the readers of vaults may see, by vault/path."""
    listed = rows(
        connection,
        "select distinct vault.name || '/' || path, hash from memory "
        "join note on note.id = note_id join vault on vault.id = vault_id "
        "where compartment_id in (select value from json_each(?))",
        (json.dumps(compartments.numbers(connection, vaults)),),
    )
    return dict(listed)


def window_hashes(connection: apsw.Connection, vaults: Sequence[Vault] | None = None) -> set[bytes]:
    """The window hashes of `vaults`, or of all vaults. Vectors are cached under these hashes."""
    sql, values = "select distinct window.hash from window", []
    if vaults is not None:
        sql += (
            " join chunk on chunk.id = chunk_id "
            "where in_compartment in (select value from json_each(?))"
        )
        values = [json.dumps(compartments.numbers(connection, vaults))]
    return {key for (key,) in rows(connection, sql, values)}


def count_hash(connection: apsw.Connection, digest: str, vaults: Sequence[Vault]) -> int:
    """The number of notes and sections of `vaults` whose text has this hash, in hexadecimal."""
    count: int = connection.execute(
        "with readable as (select value from json_each(?2)) "
        "select (select count(*) from note where hash = ?1 and exists (select 1 from memory "
        "where note_id = note.id and compartment_id in readable)) + (select count(*) from memory "
        "where digest = ?1 and block is not null and compartment_id in readable)",
        (bytes.fromhex(digest), json.dumps(compartments.numbers(connection, vaults))),
    ).get
    return count


def place_exists(connection: apsw.Connection, place: str, vaults: Sequence[Vault]) -> bool:
    """Whether `<vault uuid>/<path>` is a note of `vaults`, or `...#^<block>` a section.

    True for every id, because an id names a note permanently. A memory that the readers of the
    vaults may not see does not exist.
    """
    if "/" not in place:
        return True
    uuid, _, path = place.partition("/")
    note, _, block = path.rpartition("#^")
    exists: int = connection.execute(
        "select exists (select 1 from vault join note on vault_id = vault.id "
        "join memory on note_id = note.id "
        "where uuid = ?1 and (path = ?2 or path = ?3 and block = ?4) "
        "and compartment_id in (select value from json_each(?5)))",
        (uuid, path, note, block, json.dumps(compartments.numbers(connection, vaults))),
    ).get
    return bool(exists)
