"""Reads notes from the local index as rows for a server, so that the server indexes nothing."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from djinn_memory.home import access
from djinn_memory.models import Part
from djinn_memory.store.index import vectors
from djinn_memory.store.index.local import sqlite_vectors
from djinn_memory.store.index.memory_rows import NAME_BREAK, spoken_languages, word_columns
from djinn_memory.store.index.words import Columns, Tokenizer, languages
from djinn_memory.store.postgres.rows import (
    ChunkRows,
    ChunkTerms,
    LinkEndRow,
    LinkRows,
    LinkTargetRow,
    MemoryRows,
    NoteRows,
    OutgoingLinks,
    WindowRows,
)
from djinn_memory.store.sqlite import Row, rows, snapshot

if TYPE_CHECKING:
    import apsw

    from djinn_memory.models import Vault
    from djinn_memory.store.state import State

BATCH = 200
"""Notes that are read at once."""

_HEADINGS = msgspec.json.Decoder(tuple[str, ...])
_PARTS = msgspec.json.Decoder(tuple[Part, ...])

_AMONG = "in (select value from json_each(?))"


def export_notes(
    state: State, vault: Vault, paths: Sequence[str] | None = None
) -> Iterator[NoteRows]:
    """Yield the notes of a vault at these paths, or all of them, sorted by path.

    All come from one state of the index. Paths without a note are left out. A vector is None while
    its window waits to be embedded.
    """
    connection = state.index
    with snapshot(connection):
        exporter = _Exporter(state, vault)
        listed = iter(_notes(connection, vault, paths))
        while batch := list(islice(listed, BATCH)):
            yield from exporter.read(batch)


def export_links(state: State, vault: Vault, paths: Sequence[str]) -> list[OutgoingLinks]:
    """The links of the memories of the notes at these paths of a vault."""
    with snapshot(state.index):
        return list(_Exporter(state, vault).links(_notes(state.index, vault, paths)))


def link_ends(state: State, vault: Vault, paths: Sequence[str]) -> set[LinkEndRow]:
    """The ends of the links of a vault that lead to notes at these paths of the same vault."""
    listed = rows(
        state.index,
        "select distinct source.path, target.path, memory.block, memory.id is not null, how "
        "from note as target join vault on vault.id = target.vault_id "
        "join link on target_note_id = target.id join note as source on source.id = link.note_id "
        "left join memory on memory.id = target_memory_id "
        f"where uuid = ? and target.path {_AMONG} and source.vault_id = target.vault_id",
        (vault.id, json.dumps(list(paths))),
    )
    return {
        LinkEndRow(source, target, block, bool(memory), how)
        for source, target, block, memory, how in listed
    }


def _notes(connection: apsw.Connection, vault: Vault, paths: Sequence[str] | None) -> list[Row]:
    among = "" if paths is None else f"and path {_AMONG} "
    return rows(
        connection,
        "select note.id, path, folded, note.name, hash, mtime_ns, problem from note "
        f"join vault on vault.id = vault_id where uuid = ? {among}order by path",
        (vault.id,) if paths is None else (vault.id, json.dumps(list(paths))),
    )


class _Exporter:
    """Reads batches of notes of a vault, with a few queries for each batch."""

    def __init__(self, state: State, vault: Vault) -> None:
        self._state = state
        self._vault = vault
        self._connection = state.index
        self._space = vectors.serving(self._connection)
        self._tokenizer = Tokenizer(self._connection)
        self._spoken: dict[int, bool] = {}

    def read(self, notes: Sequence[Row]) -> Iterator[NoteRows]:
        """The rows of these notes, given as rows of `note`."""
        ids = [note_id for note_id, *_ in notes]
        memories = self._grouped(
            "select note_id, compartment_id, id, uid, block, type, plane, title, name, created, "
            "updated, date, dated, digest, lines_above, characters_above from memory "
            f"where note_id {_AMONG} order by note_id, lines_above, id",
            ids,
        )
        self._load([memory_id for listed in memories.values() for _, memory_id, *_ in listed])
        for note_id, path, folded, name, digest, modified_ns, problem in notes:
            own = tuple(self._memory(path, row) for row in memories.get(note_id, ()))
            yield NoteRows(path, folded, name, digest, modified_ns, problem, own)

    def links(self, notes: Sequence[Row]) -> Iterator[OutgoingLinks]:
        """The links of the memories of these notes."""
        paths = {note_id: path for note_id, path, *_ in notes}
        listed = rows(
            self._connection,
            f"select note_id, id, block from memory where note_id {_AMONG}",
            (json.dumps(list(paths)),),
        )
        self._load_links([memory_id for _, memory_id, _ in listed])
        for note_id, memory_id, block in listed:
            own = tuple(map(self._link, self._links[memory_id]))
            yield OutgoingLinks(paths[note_id], block, own)

    def _load(self, ids: Sequence[int]) -> None:
        """Read the rows that belong to these memories."""
        self._tags = self._grouped(
            f"select memory_id, tag, folded from tag where memory_id {_AMONG} order by 1, 3", ids
        )
        self._aliases = self._grouped(
            f"select memory_id, alias, name from alias where memory_id {_AMONG} order by 1, 2", ids
        )
        self._fields = self._grouped(
            f"select memory_id, key, value, folded from field where memory_id {_AMONG} "
            "order by rowid",
            ids,
        )
        self._blocks = self._grouped(
            f"select memory_id, uuid from block where memory_id {_AMONG} order by 1, 2", ids
        )
        self._load_links(ids)
        self._chunks = self._grouped(
            "select memory_id, id, ordinal, headings, first_line, last_line, page, parts, text "
            f"from chunk where memory_id {_AMONG} order by memory_id, ordinal",
            ids,
        )
        self._windows = self._read_windows(
            [chunk for listed in self._chunks.values() for chunk, *_ in listed]
        )

    def _load_links(self, ids: Sequence[int]) -> None:
        self._links = self._grouped(
            "select link.memory_id, target, heading, link.block, label, kind, embed, field, line, "
            "start, stop, how, uuid, note.path, memory.block, memory.id, candidates from link "
            "left join note on note.id = target_note_id left join vault on vault.id = vault_id "
            "left join memory on memory.id = target_memory_id "
            f"where link.memory_id {_AMONG} order by link.id",
            ids,
        )
        self._candidates = self._read_candidates()

    def _grouped(self, sql: str, ids: Sequence[int]) -> Mapping[int, list[Row]]:
        """The rows of a query by their first column, without it."""
        grouped: defaultdict[int, list[Row]] = defaultdict(list)
        for key, *row in rows(self._connection, sql, (json.dumps(ids),)):
            grouped[key].append(tuple(row))
        return grouped

    def _read_windows(self, chunk_ids: Sequence[int]) -> Mapping[int, list[WindowRows]]:
        """The windows of chunks, with the data of their vectors."""
        listed = rows(
            self._connection,
            "select chunk_id, id, start, stop, hash, length from window "
            f"where chunk_id {_AMONG} order by chunk_id, start, id",
            (json.dumps(chunk_ids),),
        )
        held, signs = {}, {}
        if self._space:
            ids = [window for _, window, *_ in listed]
            held = sqlite_vectors.of_windows(self._connection, self._space, ids)
            hashes = list({digest for *_, digest, _ in listed})
            signs = self._state.cache.token_signs(self._space.identity, hashes)
        windows: defaultdict[int, list[WindowRows]] = defaultdict(list)
        for chunk, window, start, stop, digest, length in listed:
            vector = held[window].astype("<f4").tobytes() if window in held else None
            row = WindowRows(start, stop, digest, length, vector, signs.get(digest))
            windows[chunk].append(row)
        return windows

    def _read_candidates(self) -> Mapping[int, tuple[str, str]]:
        """The vault and path of each note that an ambiguous link could mean."""
        numbers = {
            number
            for listed in self._links.values()
            for *_, candidates in listed
            for number in json.loads(candidates or "[]")
        }
        places = rows(
            self._connection,
            "select note.id, uuid, path from note join vault on vault.id = vault_id "
            f"where note.id {_AMONG}",
            (json.dumps(list(numbers)),),
        )
        return {number: (uuid, path) for number, uuid, path in places}

    def _memory(self, path: str, row: Row) -> MemoryRows:
        (
            compartment, key, uid, block, kind, plane, title, name, created, updated, date,
            dated, digest, line, offset,
        ) = row  # fmt: skip
        domains = {
            folded for name, value, folded in self._fields[key]
            if name == access.DOMAIN and value.strip()
        }  # fmt: skip
        return MemoryRows(
            uid, block, kind, plane, title, name, created, updated, date, bool(dated), digest,
            line, offset,
            tags=tuple(self._tags[key]),
            aliases=tuple(self._aliases[key]),
            fields=tuple(self._fields[key]),
            domains=tuple(sorted(domains)),
            blocks=tuple(block for (block,) in self._blocks[key]),
            chunks=tuple(self._chunks_of(key, title, path, self._speaks(compartment))),
            links=tuple(map(self._link, self._links[key])),
        )  # fmt: skip

    def _speaks(self, compartment: int) -> bool:
        """Whether any chunk of a compartment is not in English. Detection takes long."""
        if compartment not in self._spoken:
            self._spoken[compartment] = bool(languages(self._connection, [compartment]))
        return self._spoken[compartment]

    def _chunks_of(
        self, memory_id: int, title: str, path: str, detects: bool
    ) -> Iterator[ChunkRows]:
        listed = self._chunks[memory_id]
        columns = word_columns(
            title,
            path,
            NAME_BREAK.join(alias for alias, _ in self._aliases[memory_id]),
            " ".join(tag for tag, _ in self._tags[memory_id]),
            [(_HEADINGS.decode(row[2]), row[-1]) for row in listed],
        )
        spoken = spoken_languages([row[-1] for row in listed]) if detects else [None] * len(listed)
        for row, texts, language in zip(listed, columns, spoken, strict=True):
            chunk, ordinal, headings, first, last, page, parts, text = row
            yield ChunkRows(
                ordinal,
                _HEADINGS.decode(headings),
                (first, last),
                page,
                _PARTS.decode(parts or "[]"),
                text,
                self._terms(texts, language),
                language,
                tuple(self._windows[chunk]),
            )

    def _terms(self, texts: Columns, language: str | None) -> ChunkTerms:
        terms = (self._tokenizer.terms(text, language) for text in msgspec.structs.astuple(texts))
        return ChunkTerms(*(" ".join(column) for column in terms))

    def _link(self, link: Row) -> LinkRows:
        (
            target, heading, block, label, kind, embed, field, line, start, stop, how,
            uuid, path, section, memory, candidates,
        ) = link  # fmt: skip
        resolved = LinkTargetRow(uuid, path, section, memory is not None) if path else None
        could = [self._candidates.get(key) for key in json.loads(candidates or "[]")]
        return LinkRows(
            target, heading, block, label, kind, bool(embed), field, line, start, stop, how,
            resolved, tuple(filter(None, could)),
        )  # fmt: skip
