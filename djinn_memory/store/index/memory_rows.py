"""Writes the rows of one memory: its fields, chunks, windows and words."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from posixpath import basename
from typing import TYPE_CHECKING

import apsw
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.home import access
from djinn_memory.models import PLANES, Chunk, plane_of
from djinn_memory.notes.note import domains_of
from djinn_memory.notes.slugs import fold, name_key, tag_key
from djinn_memory.notes.vault import FileStat
from djinn_memory.store.index import compartments, links, vectors, words
from djinn_memory.store.sqlite import rows, write_row

if TYPE_CHECKING:
    from djinn_memory.notes.note import Note
    from djinn_memory.notes.note_file import NoteMemory

NAME_BREAK = " \n"
"""Separates names, so that no phrase spans two of them."""

_MAX_NAMES = 2_000
"""Maximum characters of tags, and of aliases, that are indexed with every chunk of a note. The rest
is indexed with the first chunk only: 100,000 tags in every chunk of a long note would fill the
disk."""


FEW = 50
"""Maximum memories whose vectors are moved one by one to other compartments."""


class Window(Struct, frozen=True):
    """A window of a chunk: its span in the chunk's text, and the text that it embeds."""

    start: int
    end: int
    hash: bytes | None
    """The key of its text, or None if the text is not embedded and only words find it."""
    length: int
    """The number of tokens in its text, if it is embedded."""


class ParsedMemory(Struct, frozen=True):
    """A memory to be written, with its chunks."""

    note: Note
    chunks: Sequence[tuple[Chunk, Sequence[Window]]]


def put_memory(
    connection: apsw.Connection,
    vault: int,
    note_id: int,
    memory_id: int | None,
    file: FileStat,
    source: NoteMemory,
    memory: ParsedMemory,
    changed: str | None,
) -> None:
    """Write a memory, replacing its earlier version if it has a `memory_id`.

    `changed` is when the note changed, as far as is known. It dates a note that gives no date.
    """
    from djinn_memory.languages.detection import detect, detect_part

    note = memory.note
    # Words and vectors go with the chunks. A new memory has none.
    for table in () if memory_id is None else ("chunk", "tag", "alias", "field", "link", "block"):
        connection.execute(f"delete from {table} where memory_id = ?", (memory_id,))
    domains = domains_of(note)
    compartment = compartments.of_memory(connection, vault, domains)
    row = {"note_id": note_id, "compartment_id": compartment, **_row(file, source, note, changed)}
    memory_id = write_row(connection, "memory", row, memory_id)
    connection.executemany(
        "insert or ignore into tag values (?, ?, ?)",
        [(memory_id, tag, tag_key(tag)) for tag in note.tags],
    )
    connection.executemany(
        "insert or ignore into alias values (?, ?, ?)",
        [(memory_id, alias, name_key(alias)) for alias in note.aliases],
    )
    connection.executemany(
        "insert into field values (?, ?, ?, ?)",
        [(memory_id, fold(key), value, fold(value)) for key, value in _fields(note, domains)],
    )
    language = detect(note.text[note.body :])
    aliases, tags = NAME_BREAK.join(note.aliases), " ".join(note.tags)
    texts = ((chunk.headings, note.searched[chunk.start : chunk.end]) for chunk, _ in memory.chunks)
    listed = zip(
        memory.chunks, word_columns(note.title, file.path, aliases, tags, texts), strict=True
    )
    for ordinal, ((chunk, windows), columns) in enumerate(listed):
        row = {"memory_id": memory_id, "in_compartment": compartment}
        row |= {"ordinal": ordinal, "text": columns.body}
        chunk_id = _put_chunk(connection, {**row, **_place(chunk, source)}, windows)
        own = _spoken(detect_part(note.text[chunk.start : chunk.end], language))
        words.add(connection, compartment, chunk_id, columns, own)
    links.put(connection, note_id, memory_id, source, note)


def write_names(connection: apsw.Connection) -> None:
    """Rewrite every name in the form in which names are looked up. An upgrade needs this."""
    connection.create_scalar_function("name_key", lambda *name: name_key(str(*name)), 1)
    connection.create_scalar_function("file_name", lambda *path: basename(str(*path)), 1)
    connection.execute(
        "update note set name = name_key(file_name(path)); "
        "update memory set name = name_key(title); update alias set name = name_key(alias)"
    )


def index_words(connection: apsw.Connection) -> None:
    """Index the words of compartments that have none, from the texts in the index.

    An upgrade needs this.
    """
    lacking = (
        "select id from compartment where 'words_' || id not in (select name from sqlite_schema)"
    )
    for (compartment,) in rows(connection, lacking):
        words.create(connection, compartment)
        listed = rows(connection, "select id from memory where compartment_id = ?", (compartment,))
        for (memory_id,) in listed:
            _put_words_again(connection, compartment, memory_id)


def regroup(connection: apsw.Connection, granted: Mapping[str, Collection[str]]) -> None:
    """Divide all memories by these grants: the domains that each limited agent may see."""
    compartments.put_grants(connection, granted)
    listed = rows(
        connection,
        "select memory.id, vault_id, compartment_id, json_group_array(field.folded) from memory "
        "join note on note.id = note_id join field on field.memory_id = memory.id and key = ? "
        "group by memory.id",
        (access.DOMAIN,),
    )
    moves = [
        (memory_id, before, after)
        for memory_id, vault, before, domains in listed
        if (after := compartments.of_memory(connection, vault, json.loads(domains))) != before
    ]
    if len(moves) <= FEW:
        for move in moves:
            with vectors.moved(connection, move[0]):
                _move(connection, *move)
        return
    for move in moves:
        _move(connection, *move)
    vectors.rearrange(connection)
    words.compact(connection)


def _move(connection: apsw.Connection, memory_id: int, before: int, after: int) -> None:
    """Move the words of a memory to another compartment."""
    own = "(select id from chunk where memory_id = ?)"
    connection.execute(f"delete from words_{before:d} where rowid in {own}", (memory_id,))
    connection.execute(
        "update chunk set in_compartment = ? where memory_id = ?", (after, memory_id)
    )
    connection.execute("update memory set compartment_id = ? where id = ?", (after, memory_id))
    _put_words_again(connection, after, memory_id)


def _put_words_again(connection: apsw.Connection, compartment: int, memory_id: int) -> None:
    """Index the words of a memory from the texts in the index."""
    [(title, path, aliases, tags)] = rows(
        connection,
        "select title, path, "
        "(select group_concat(alias, ?1) from alias where memory_id = memory.id), "
        "(select group_concat(tag, ' ') from tag where memory_id = memory.id) "
        "from memory join note on note.id = note_id where memory.id = ?2",
        (NAME_BREAK, memory_id),
    )
    chunks = rows(
        connection,
        "select id, headings, text from chunk where memory_id = ? order by ordinal",
        (memory_id,),
    )
    texts = [(json.loads(headings), text) for _, headings, text in chunks]
    columns = word_columns(title, path, aliases or "", tags or "", texts)
    spoken = spoken_languages([text for _, text in texts])
    for (chunk_id, *_), texts_of_chunk, language in zip(chunks, columns, spoken, strict=True):
        words.add(connection, compartment, chunk_id, texts_of_chunk, language)


def word_columns(
    title: str, path: str, aliases: str, tags: str, chunks: Iterable[tuple[Sequence[str], str]]
) -> Iterator[words.Columns]:
    """The columns of each chunk of a memory in the index.

    `aliases` are separated by `NAME_BREAK`, `tags` by a space; a chunk is its headings and text.
    The names are indexed with the first chunk, and their beginning with the others.
    """
    names = words.Columns(title, aliases, "", tags, path.removesuffix(".md"), "")
    for headings, text in chunks:
        yield replace(names, headings=NAME_BREAK.join(headings), body=text)
        names = replace(names, aliases=names.aliases[:_MAX_NAMES], tags=names.tags[:_MAX_NAMES])


def spoken_languages(texts: Sequence[str]) -> list[str | None]:
    """The language of each chunk of a memory, by its text in the index; None for English."""
    from djinn_memory.languages.detection import detect, detect_part

    language = detect("\n\n".join(texts))
    return [_spoken(detect_part(text, language)) for text in texts]


def time_text(seconds: float) -> str:
    """A time in seconds since 1970 as ISO 8601 in UTC."""
    from datetime import UTC, datetime

    from djinn_memory.notes.dates import moment

    return moment(datetime.fromtimestamp(seconds, UTC))


def _fields(note: Note, domains: Sequence[str]) -> Sequence[tuple[str, str]]:
    """The fields to store. Domains that are written in another way are stored as `domain` too."""
    stored = {fold(value) for key, value in note.fields if key == access.DOMAIN}
    more = [(access.DOMAIN, domain) for domain in domains if fold(domain) not in stored]
    return [*note.fields, *more]


def _row(file: FileStat, source: NoteMemory, note: Note, changed: str | None) -> dict[str, object]:
    # A journal's file changes with every record, its records do not.
    if source.block is not None:
        changed = note.created or note.date or time_text(file.mtime_ns / 1e9)
    return {
        "block": source.block,
        "uid": note.id,
        "type": note.type,
        "plane": _plane(note) if source.block is None else "episodic",
        "title": note.title,
        "name": name_key(note.title),
        "created": note.created,
        "updated": note.updated or changed,
        "date": note.date or changed or "",
        "dated": note.date is not None,
        "digest": source.digest,
        "lines_above": source.line,
        "characters_above": source.offset,
    }


def _plane(note: Note) -> str | None:
    """The plane of a note: that of its type. A note of a user's own type may state another."""
    plane = plane_of(note.type)
    if plane != "semantic" or note.type in PLANES[plane]:
        return plane
    stated = next((fold(value) for key, value in note.fields if key == "plane"), "")
    return stated if stated in PLANES and stated != "documents" else plane


def _place(chunk: Chunk, source: NoteMemory) -> dict[str, object]:
    """The position of a chunk."""
    return {
        "headings": json.dumps(chunk.headings, ensure_ascii=False),
        "first_line": chunk.first_line + source.line,
        "last_line": chunk.last_line + source.line,
        "page": chunk.page,
        "parts": json.dumps(msgspec.to_builtins(chunk.parts)) if chunk.parts else None,
    }


def _put_chunk(
    connection: apsw.Connection, row: Mapping[str, object], windows: Sequence[Window]
) -> int:
    chunk_id = write_row(connection, "chunk", row)
    connection.executemany(
        "insert into window (chunk_id, start, stop, hash, length) values (?, ?, ?, ?, ?)",
        [
            (chunk_id, window.start, window.end, window.hash, window.length)
            for window in windows
            if window.hash
        ],
    )
    return chunk_id


def _spoken(language: str | None) -> str | None:
    """The language whose stemmer makes words, or None for English, which FTS5 stems."""
    from djinn_memory.languages.detection import ENGLISH

    return None if language == ENGLISH else language
