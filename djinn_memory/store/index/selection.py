"""A `Selection` as SQL over the rows of note, memory and chunk."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from msgspec import Struct, field

from djinn_memory.models import Filters
from djinn_memory.notes.slugs import fold
from djinn_memory.store.index import words
from djinn_memory.store.index.records import Forms, Selection, WordMatch

_IN_PATH = "instr(note.folded, ?) > 0"
_HAS_FIELD = (
    "exists (select 1 from field where field.memory_id = memory.id and key = ? and folded = ?)"
)
_HAS_TAG = (
    "exists (select 1 from tag where tag.memory_id = memory.id "
    "and (folded = ? or substr(folded, 1, ?) = ?))"
)
_EXPIRED = (
    "memory.id not in (select memory_id from field where key = 'expires' "
    "and folded in (select value from json_each(?)))"
)
_PHRASE = "chunk.id in (select rowid from words where words match ?)"
_SOMEWHERE = f"memory.id in (select memory_id from chunk where {_PHRASE})"
_LINKED = (
    "memory.id in (select target_memory_id from link where memory_id = ? "
    "union select memory_id from link where target_memory_id = ?)"
)
_IN_JOURNAL = (
    "exists (select 1 from memory as section "
    "where section.note_id = note.id and section.block is not null)"
)


class Condition(Struct):
    """A boolean SQL expression over note, memory and chunk, and its bound values."""

    parts: list[str] = field(default_factory=list)
    values: list[object] = field(default_factory=list)

    @property
    def sql(self) -> str:
        """The expression."""
        return " and ".join(self.parts)

    def add(self, sql: str, *bound: object) -> None:
        """Require one thing more."""
        self.parts.append(sql)
        # Bytes of the command line that are no text come as lone surrogates: they match nothing.
        self.values.extend(
            value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
            for value in bound
        )

    def among(self, column: str, values: Collection[object]) -> None:
        """Require that a column has one of some values."""
        self.add(f"{column} in ({', '.join('?' * len(values))})", *values)


def condition(
    selection: Selection,
    vaults: Mapping[str, int],
    expired: Collection[str],
    *,
    chunks: bool,
) -> Condition:
    """The selection among `vaults`, given as names with the index's numbers.

    `expired` are the folded values of `expires` that are left out. With `chunks` the phrases must
    stand in the chunk of each row, else anywhere in the memory.
    """
    where = Condition()
    names = selection.filters.vaults or vaults
    where.among("note.vault_id", [vaults[name] for name in names if name in vaults])
    _filter(where, selection.filters)
    if expired:
        where.add(_EXPIRED, json.dumps(list(expired)))
    for phrase in dict.fromkeys(selection.phrases):
        where.add(_PHRASE if chunks else _SOMEWHERE, _expression(phrase))
    for phrase in dict.fromkeys(selection.without):
        where.add(f"not {_SOMEWHERE}", _expression(phrase))
    if chunks and selection.first_chunk:
        where.add("chunk.ordinal = 0")
    if selection.ids is not None:
        where.among("memory.uid", selection.ids)
    if selection.hashes is not None:
        where.among("note.hash", [bytes.fromhex(key) for key in selection.hashes])
    if selection.places is not None:
        places = [(vaults[name], path) for name, path in selection.places if name in vaults]
        where.add(
            "(note.vault_id, note.path) in (select value ->> 0, value ->> 1 from json_each(?))",
            json.dumps(places),
        )
    if selection.linked is not None:
        where.add(_LINKED, selection.linked, selection.linked)
    if selection.whole_files:
        where.add(f"not {_IN_JOURNAL}")
    return where


def _filter(where: Condition, filters: Filters) -> None:
    """Several tags must all be there, also as the upper part of a nested one.

    Several types, planes or paths are alternatives.
    """
    if filters.types:
        where.among("memory.type", [fold(kind) for kind in filters.types])
    if filters.planes:
        where.among("memory.plane", filters.planes)
    for tag in filters.tags:
        where.add(_HAS_TAG, *_tag(tag))
    if filters.paths:
        alternatives = " or ".join([_IN_PATH] * len(filters.paths))
        where.add(f"({alternatives})", *map(fold, filters.paths))
    for key, value in filters.excluded:
        if key == "tag":
            where.add(f"not {_HAS_TAG}", *_tag(value))
        elif key == "path":
            where.add(f"not {_IN_PATH}", fold(value))
        elif key in ("type", "plane"):
            where.add(f"memory.{key} is not ?", fold(value))
        else:
            where.add(f"not {_HAS_FIELD}", fold(key), fold(value))
    if filters.since:
        where.add("memory.date >= ?", filters.since)
    if filters.until:
        # A day includes its hours: `2026-03-04T09:00` sorts behind `2026-03-04`.
        where.add("memory.date < ?", f"{filters.until}~")
    for key, value in filters.where:
        where.add(_HAS_FIELD, fold(key), fold(value))


def _tag(tag: str) -> tuple[str, int, str]:
    folded = fold(tag.lstrip("#").rstrip("/"))
    return folded, len(folded) + 1, f"{folded}/"


def _expression(phrase: Forms) -> str:
    return words.expression(WordMatch((phrase,)), prefixes=False)
