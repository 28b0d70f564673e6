"""Notes, memories and chunks in the index: written whole, removed whole."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
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


MAX_NAMES = 2_000
"""Characters of a note's tags, and of its aliases, by which every chunk of it is found; by the
others its first chunk is."""


class IndexedFile(Struct, frozen=True):
    """A note's file as the index remembers it."""

    note_id: int
    stat: FileStat
    seen_ns: int
    hash: bytes
    problem: str | None


class Window(Struct, frozen=True):
    """A window of a chunk: its span in the chunk's text, key and length of the text it embeds."""

    start: int
    end: int
    hash: bytes
    length: int


class SearchNames(Struct, frozen=True):
    """What a note is called beside its title, as each of its chunks is found by it."""

    aliases: str
    tags: str

    def shortened(self) -> SearchNames:
        """The first of them: 100,000 tags in all chunks of a note would be its square."""
        return SearchNames(*(text[:MAX_NAMES] for text in (self.aliases, self.tags)))


def vault_id(connection: apsw.Connection, vault: Vault) -> int:
    """The index's number for a vault, given when it is first seen; follows a rename by its UUID."""
    connection.execute(
        "insert into vault (uuid, name) values (?, ?) "
        "on conflict (uuid) do update set name = excluded.name where name <> excluded.name",
        (vault.id, vault.name),
    )
    number: int = connection.execute("select id from vault where uuid = ?", (vault.id,)).get
    return number


def dialect(connection: apsw.Connection, vault: int) -> str | None:
    """The dialect in which all notes of a vault were read; None before the first reading."""
    found: str | None = connection.execute("select dialect from vault where id = ?", (vault,)).get
    return found


def set_dialect(connection: apsw.Connection, vault: int, name: str) -> None:
    """Say that all notes of a vault have been read in a dialect."""
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
    """Every note of a vault that is in the index, by path; or those at or below paths `only`."""
    sql = (
        "select path, id, size, mtime_ns, ctime_ns, inode, seen_ns, hash, problem "
        "from note where vault_id = ?"
    )
    if only is None:
        found = rows(connection, sql, (vault,))
    else:
        # `/` is the character before `0`.
        found = rows(
            connection,
            "with looked as (select value from json_each(?)) "
            f"{sql} and path in looked union "
            f"{sql.replace('from note', 'from looked join note')} "
            "and path > value || '/' and path < value || '0'",
            (json.dumps(list(only)), vault, vault),
        )
    return {
        path: IndexedFile(key, FileStat(path, size, mtime, ctime, inode), seen, digest, problem)
        for path, key, size, mtime, ctime, inode, seen, digest, problem in found
    }


def put(
    connection: apsw.Connection,
    vault: int,
    file: FileStat,
    seen_ns: int,
    digest: bytes,
    note: Note,
    chunks: Iterable[tuple[Chunk, Sequence[Window]]],
) -> int:
    """Write a note with all that hangs off it, in the place of what was known at its path.

    The note keeps its number, so that links to it stay. Words are findable at once; windows wait
    for their vectors.
    """
    from djinn_memory.languages.detection import ENGLISH, detect, detect_part

    stat = (file.size, file.mtime_ns, file.ctime_ns, file.inode, seen_ns, digest, note.problem)
    note_id: int | None = connection.execute(
        "select id from note where vault_id = ? and path = ?", (vault, file.path)
    ).get
    if note_id is None:
        note_id = connection.execute(
            "insert into note (vault_id, path, folded, size, mtime_ns, ctime_ns, inode, seen_ns, "
            "hash, problem) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning id",
            (vault, file.path, fold(file.path), *stat),
        ).get
    else:
        _clear(connection, note_id)
        connection.execute(
            "update note set size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, seen_ns = ?, "
            "hash = ?, problem = ? where id = ?",
            (*stat, note_id),
        )
    assert note_id is not None
    memory_id = _put_memory(connection, note_id, file, note)
    language = detect(note.text[note.body :])
    names = SearchNames(" \n".join(note.aliases), " ".join(note.tags))
    for ordinal, (chunk, windows) in enumerate(chunks):
        own = detect_part(note.text[chunk.start : chunk.end], language)
        spoken = None if own == ENGLISH else own
        _put_chunk(connection, memory_id, ordinal, file.path, note, names, chunk, windows, spoken)
        names = names.shortened()
    links.put(connection, note_id, note)
    links.unsettle(connection)
    return note_id


def touch(connection: apsw.Connection, note_id: int, file: FileStat, seen_ns: int) -> None:
    """Remember a file's new times, or its new path, for unchanged bytes."""
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
    """Remember when a file of unchanged bytes was changed last, where the note does not say it."""
    modified = _modified(file)
    connection.execute(
        "update memory set updated = ?, date = ? where note_id = ?",
        (note.updated or modified, note.date or modified, note_id),
    )


def remove(connection: apsw.Connection, note_id: int) -> None:
    """Forget a note and all that hangs off it."""
    _clear(connection, note_id)
    connection.execute("delete from note where id = ?", (note_id,))
    links.unsettle(connection)


def forget(connection: apsw.Connection, vault: Vault, path: str) -> None:
    """Forget the note at a path, if it is known; its number may be another's by now."""
    found = rows(
        connection,
        "select note.id from note join vault on vault.id = vault_id where uuid = ? and path = ?",
        (vault.id, path),
    )
    for (note_id,) in found:
        remove(connection, note_id)


def remove_vault(connection: apsw.Connection, vault: int) -> None:
    """Forget a vault and its notes."""
    for (note_id,) in rows(connection, "select id from note where vault_id = ?", (vault,)):
        remove(connection, note_id)
    connection.execute("delete from vault where id = ?", (vault,))


def _clear(connection: apsw.Connection, note_id: int) -> None:
    chunk_ids = [
        key
        for (key,) in rows(
            connection,
            "select chunk.id from chunk join memory on memory.id = memory_id where note_id = ?",
            (note_id,),
        )
    ]
    marks = json.dumps(chunk_ids)
    windows = rows(
        connection,
        "select id from window where embedded and chunk_id in (select value from json_each(?))",
        (marks,),
    )
    vectors.remove(connection, [key for (key,) in windows])
    words.remove(connection, chunk_ids)
    connection.execute("delete from memory where note_id = ?", (note_id,))
    connection.execute("delete from link where note_id = ?", (note_id,))
    connection.execute("delete from block where note_id = ?", (note_id,))


def _put_memory(connection: apsw.Connection, note_id: int, file: FileStat, note: Note) -> int:
    modified = _modified(file)
    memory_id: int = connection.execute(
        "insert into memory (note_id, uid, type, plane, title, created, updated, date, dated) "
        "values (?, ?, ?, ?, ?, ?, ?, ?, ?) returning id",
        (
            note_id,
            note.id,
            note.type,
            plane_of(note.type),
            note.title,
            note.created,
            note.updated or modified,
            note.date or modified,
            note.date is not None,
        ),
    ).get
    for tag in note.tags:
        connection.execute(
            "insert or ignore into tag values (?, ?, ?)", (memory_id, tag, fold(tag))
        )
    for alias in note.aliases:
        connection.execute("insert or ignore into alias values (?, ?)", (memory_id, alias))
    connection.executemany(
        "insert into field values (?, ?, ?, ?)",
        [(memory_id, fold(key), value, fold(value)) for key, value in note.fields],
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
    path: str,
    note: Note,
    names: SearchNames,
    chunk: Chunk,
    windows: Sequence[Window],
    language: str | None,
) -> None:
    text = note.searched[chunk.start : chunk.end]
    chunk_id: int = connection.execute(
        "insert into chunk "
        "(memory_id, ordinal, headings, first_line, last_line, page, parts, text) "
        "values (?, ?, ?, ?, ?, ?, ?, ?) returning id",
        (
            memory_id,
            ordinal,
            json.dumps(chunk.headings, ensure_ascii=False),
            chunk.first_line,
            chunk.last_line,
            chunk.page,
            json.dumps(msgspec.to_builtins(chunk.parts)) if chunk.parts else None,
            text,
        ),
    ).get
    connection.executemany(
        "insert into window (chunk_id, start, stop, hash, length) values (?, ?, ?, ?, ?)",
        [(chunk_id, one.start, one.end, one.hash, one.length) for one in windows],
    )
    words.add(
        connection,
        chunk_id,
        title=note.title,
        aliases=names.aliases,
        headings=" \n".join(chunk.headings),
        tags=names.tags,
        path=path.removesuffix(".md"),
        body=text,
        language=language,
    )
