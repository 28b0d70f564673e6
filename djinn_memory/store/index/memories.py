"""Notes, memories and chunks in the index. A memory is written whole and removed whole."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import apsw
import msgspec
from msgspec import Struct

from djinn_memory.models import Chunk, Vault, plane_of
from djinn_memory.notes.slugs import fold
from djinn_memory.notes.vault.walk import FileStat
from djinn_memory.store.index import links, vectors, words
from djinn_memory.store.sqlite import rows

if TYPE_CHECKING:
    from djinn_memory.notes.note import Note
    from djinn_memory.notes.note_file import NoteMemory


MAX_NAMES = 2_000
"""Characters of the tags, and of the aliases, that every chunk of a note is searched by. The rest
belongs to its first chunk alone."""


class IndexedFile(Struct, frozen=True):
    """A note's file as the index remembers it."""

    note_id: int
    stat: FileStat
    seen_ns: int
    hash: bytes
    problem: str | None


class KnownMemory(Struct, frozen=True):
    """A memory of a note as the index remembers it."""

    memory_id: int
    digest: bytes | None
    """As `NoteMemory.digest`; None in an index made by an earlier version."""
    line: int
    offset: int


class Window(Struct, frozen=True):
    """A window of a chunk: its span in the chunk's text, key and length of the text it embeds."""

    start: int
    end: int
    hash: bytes
    length: int


class ParsedMemory(Struct, frozen=True):
    """A memory to be written, with its chunks."""

    source: NoteMemory
    note: Note
    chunks: Sequence[tuple[Chunk, Sequence[Window]]]


class NoteChanges(Struct, frozen=True):
    """The changes to a note; memories that are not among them stay as they are."""

    written: Sequence[ParsedMemory]
    """New memories, and those with another text than before."""
    shifted: Sequence[tuple[KnownMemory, NoteMemory]]
    """Memories of the same text at another place in their file."""
    removed: Sequence[int]
    """Ids of memories that are gone."""
    problem: str | None


class SearchNames(Struct, frozen=True):
    """The names of a note beside its title, by which each of its chunks is searched."""

    aliases: str
    tags: str

    def shortened(self) -> SearchNames:
        """The first of them: 100,000 tags in every chunk of a long note would fill the disk."""
        return SearchNames(*(text[:MAX_NAMES] for text in (self.aliases, self.tags)))


def vault_id(connection: apsw.Connection, vault: Vault) -> int:
    """The number of a vault in the index, assigned at its first reading; a rename keeps it."""
    connection.execute(
        "insert into vault (uuid, name) values (?, ?) "
        "on conflict (uuid) do update set name = excluded.name where name <> excluded.name",
        (vault.id, vault.name),
    )
    number: int = connection.execute("select id from vault where uuid = ?", (vault.id,)).get
    return number


def dialect(connection: apsw.Connection, vault: int) -> str | None:
    """The dialect in which all notes of a vault were read; None before the first reading."""
    name: str | None = connection.execute("select dialect from vault where id = ?", (vault,)).get
    return name


def set_dialect(connection: apsw.Connection, vault: int, name: str) -> None:
    """Record that all notes of a vault have been read in a dialect."""
    connection.execute("update vault set dialect = ? where id = ?", (name, vault))


def vault_ids(connection: apsw.Connection, vaults: Sequence[Vault]) -> dict[int, Vault]:
    """The vaults that the index knows, by its numbers."""
    by_uuid = {vault.id: vault for vault in vaults}
    return {
        key: by_uuid[uuid]
        for key, uuid in connection.execute("select id, uuid from vault")
        if uuid in by_uuid
    }


def known(
    connection: apsw.Connection, vault: int, only: Collection[str] | None = None
) -> dict[str, IndexedFile]:
    """The notes of a vault by path; with `only`, those at or below these paths."""
    sql = (
        "select path, id, size, mtime_ns, ctime_ns, inode, seen_ns, hash, problem "
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
        path: IndexedFile(key, FileStat(path, size, mtime, ctime, inode), seen, digest, problem)
        for path, key, size, mtime, ctime, inode, seen, digest, problem in listed
    }


def of_note(connection: apsw.Connection, note_id: int) -> dict[str | None, KnownMemory]:
    """The memories of a note by block id; None stands for a whole note."""
    return {
        block: KnownMemory(*row)
        for block, *row in connection.execute(
            "select block, id, digest, lines_above, characters_above from memory where note_id = ?",
            (note_id,),
        )
    }


def shares_file(connection: apsw.Connection, memory_id: int) -> bool:
    """Whether the file of a memory is a journal, which holds others too."""
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
    changes: NoteChanges,
) -> None:
    """Write a note and its changed memories.

    Notes and memories keep their numbers, so that links to them stay. Words are searchable at once.
    Windows wait for their vectors.
    """
    stat = (file.size, file.mtime_ns, file.ctime_ns, file.inode, seen_ns, digest, changes.problem)
    note_id: int | None = connection.execute(
        "update note set size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, seen_ns = ?, "
        "hash = ?, problem = ? where vault_id = ? and path = ? returning id",
        (*stat, vault, file.path),
    ).get
    names_changed = note_id is None
    if note_id is None:
        note_id = connection.execute(
            "insert into note (vault_id, path, folded, size, mtime_ns, ctime_ns, inode, seen_ns, "
            "hash, problem) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning id",
            (vault, file.path, fold(file.path), *stat),
        ).get
    assert note_id is not None
    known = {memory.memory_id: block for block, memory in of_note(connection, note_id).items()}
    for memory_id in changes.removed:
        names_changed = names_changed or known[memory_id] is None
        _clear(connection, memory_id)
        connection.execute("delete from memory where id = ?", (memory_id,))
    for before, source in changes.shifted:
        _shift(connection, before, source)
    for memory in changes.written:
        names_changed = names_changed or memory.source.block is None
        _put_memory(connection, note_id, file, memory)
    links.unsettle(connection, names=names_changed)


def touch(connection: apsw.Connection, note_id: int, file: FileStat, seen_ns: int) -> None:
    """Store the new times or the new path of a file with unchanged bytes."""
    connection.execute(
        "update note set path = ?, folded = ?, size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, "
        "seen_ns = ? where id = ?",
        (
            file.path,
            fold(file.path),
            file.size,
            file.mtime_ns,
            file.ctime_ns,
            file.inode,
            seen_ns,
            note_id,
        ),
    )


def redate(connection: apsw.Connection, note_id: int, file: FileStat, note: Note) -> None:
    """Store the new time of a file with unchanged bytes, for a note that does not say its own."""
    modified = _modified(file)
    connection.execute(
        "update memory set updated = ?, date = ? where note_id = ? and block is null",
        (note.updated or modified, note.date or modified, note_id),
    )


def remove(connection: apsw.Connection, note_id: int) -> None:
    """Remove a note with its memories."""
    for memory in of_note(connection, note_id).values():
        _clear(connection, memory.memory_id)
    connection.execute("delete from note where id = ?", (note_id,))
    links.unsettle(connection)


def forget(connection: apsw.Connection, vault: Vault, path: str) -> None:
    """Remove the note at a path of a vault, if the index has it."""
    listed = rows(
        connection,
        "select note.id from note join vault on vault.id = vault_id where uuid = ? and path = ?",
        (vault.id, path),
    )
    for (note_id,) in listed:
        remove(connection, note_id)


def keep_vaults(connection: apsw.Connection, uuids: Collection[str]) -> int:
    """Remove all vaults but these, with their notes; returns how many were removed."""
    stale = [
        number
        for number, uuid in rows(connection, "select id, uuid from vault")
        if uuid not in uuids
    ]
    for number in stale:
        for (note_id,) in rows(connection, "select id from note where vault_id = ?", (number,)):
            remove(connection, note_id)
        connection.execute("delete from vault where id = ?", (number,))
    return len(stale)


def _clear(connection: apsw.Connection, memory_id: int) -> None:
    """Remove the chunks, words, vectors, fields and links of a memory."""
    chunk_ids = [
        chunk_id
        for (chunk_id,) in rows(
            connection, "select id from chunk where memory_id = ?", (memory_id,)
        )
    ]
    windows = rows(
        connection,
        "select id from window where embedded and chunk_id in (select value from json_each(?))",
        (json.dumps(chunk_ids),),
    )
    vectors.remove(connection, [window_id for (window_id,) in windows])
    words.remove(connection, chunk_ids)
    for table in ("chunk", "tag", "alias", "field", "link", "block"):
        connection.execute(f"delete from {table} where memory_id = ?", (memory_id,))


def _shift(connection: apsw.Connection, before: KnownMemory, source: NoteMemory) -> None:
    """Move an unchanged memory, its chunks and its links to another place in their file."""
    lines, characters = source.line - before.line, source.offset - before.offset
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


def _put_memory(
    connection: apsw.Connection, note_id: int, file: FileStat, memory: ParsedMemory
) -> None:
    """Write a memory over its earlier version."""
    from djinn_memory.languages.detection import ENGLISH, detect, detect_part

    source, note = memory.source, memory.note
    memory_id = _put_row(connection, note_id, file, source, note)
    connection.executemany(
        "insert or ignore into tag values (?, ?, ?)",
        [(memory_id, tag, fold(tag)) for tag in note.tags],
    )
    connection.executemany(
        "insert or ignore into alias values (?, ?)",
        [(memory_id, alias) for alias in note.aliases],
    )
    connection.executemany(
        "insert into field values (?, ?, ?, ?)",
        [(memory_id, fold(key), value, fold(value)) for key, value in note.fields],
    )
    language = detect(note.text[note.body :])
    names = SearchNames(" \n".join(note.aliases), " ".join(note.tags))
    for ordinal, (chunk, windows) in enumerate(memory.chunks):
        own = detect_part(note.text[chunk.start : chunk.end], language)
        text = note.searched[chunk.start : chunk.end]
        words.add(
            connection,
            _put_chunk(connection, memory_id, ordinal, source.line, text, chunk, windows),
            title=note.title,
            aliases=names.aliases,
            headings=" \n".join(chunk.headings),
            tags=names.tags,
            path=file.path.removesuffix(".md"),
            body=text,
            language=None if own == ENGLISH else own,
        )
        names = names.shortened()
    links.put(connection, note_id, memory_id, source, note)


def _put_row(
    connection: apsw.Connection, note_id: int, file: FileStat, source: NoteMemory, note: Note
) -> int:
    """Write the row of a memory, and clear what belonged to its earlier version; returns its id."""
    # A journal's file changes with every record, its records do not.
    modified = _modified(file) if source.block is None else note.created or note.date
    values = {
        "note_id": note_id,
        "block": source.block,
        "uid": note.id,
        "type": note.type,
        "plane": plane_of(note.type) if source.block is None else "episodic",
        "title": note.title,
        "created": note.created,
        "updated": note.updated or modified,
        "date": note.date or modified or _modified(file),
        "dated": note.date is not None,
        "digest": source.digest,
        "lines_above": source.line,
        "characters_above": source.offset,
    }
    memory_id: int | None = connection.execute(
        "select id from memory where note_id = ? and block is ?", (note_id, source.block)
    ).get
    if memory_id is None:
        names, marks = ", ".join(values), ", ".join(f":{name}" for name in values)
        inserted: int = connection.execute(
            f"insert into memory ({names}) values ({marks}) returning id", values
        ).get
        return inserted
    _clear(connection, memory_id)
    assignments = ", ".join(f"{name} = :{name}" for name in values)
    connection.execute(
        f"update memory set {assignments} where id = :id", {**values, "id": memory_id}
    )
    return memory_id


def _modified(file: FileStat) -> str:
    from datetime import UTC, datetime

    from djinn_memory.notes.dates import moment

    return moment(datetime.fromtimestamp(file.mtime_ns / 1e9, UTC))


def _put_chunk(
    connection: apsw.Connection,
    memory_id: int,
    ordinal: int,
    above: int,
    text: str,
    chunk: Chunk,
    windows: Sequence[Window],
) -> int:
    """Write a chunk with its windows; `above` lines of the file stand above the memory's text."""
    chunk_id: int = connection.execute(
        "insert into chunk "
        "(memory_id, ordinal, headings, first_line, last_line, page, parts, text) "
        "values (?, ?, ?, ?, ?, ?, ?, ?) returning id",
        (
            memory_id,
            ordinal,
            json.dumps(chunk.headings, ensure_ascii=False),
            chunk.first_line + above,
            chunk.last_line + above,
            chunk.page,
            json.dumps(msgspec.to_builtins(chunk.parts)) if chunk.parts else None,
            text,
        ),
    ).get
    connection.executemany(
        "insert into window (chunk_id, start, stop, hash, length) values (?, ?, ?, ?, ?)",
        [(chunk_id, window.start, window.end, window.hash, window.length) for window in windows],
    )
    return chunk_id


def count_hash(connection: apsw.Connection, digest: str) -> int:
    """How many notes and sections have a text, given as its hash in hexadecimal."""
    count: int = connection.execute(
        "select (select count(*) from note where hash = ?1) "
        "+ (select count(*) from memory where digest = ?1 and block is not null)",
        (bytes.fromhex(digest),),
    ).get
    return count


def place_exists(connection: apsw.Connection, place: str) -> bool:
    """Whether `<vault uuid>/<path>` is a note, or `<vault uuid>/<path>#^<block>` a section.

    An id, which names a note for good, always is one.
    """
    if "/" not in place:
        return True
    uuid, _, path = place.partition("/")
    note, _, block = path.rpartition("#^")
    exists: int = connection.execute(
        "select exists (select 1 from vault join note on vault_id = vault.id "
        "where uuid = ?1 and path = ?2) or exists (select 1 from vault join note "
        "on vault_id = vault.id join memory on note_id = note.id "
        "where uuid = ?1 and path = ?3 and block = ?4)",
        (uuid, path, note, block),
    ).get
    return bool(exists)


def window_hashes(connection: apsw.Connection) -> set[bytes]:
    """The hashes of all windows, under which their vectors are cached."""
    return {key for (key,) in rows(connection, "select distinct hash from window")}
