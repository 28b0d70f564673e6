"""Translates a `Selection` to SQL over the rows of note, memory and chunk."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import apsw
from msgspec import Struct, field

from djinn_memory.home import access
from djinn_memory.models import Filters, Vault
from djinn_memory.notes.slugs import fold, name_key
from djinn_memory.store.index import compartments
from djinn_memory.store.index.records import ChunkRef, Forms, Phrase, Selection
from djinn_memory.store.sqlite import rows

if TYPE_CHECKING:
    from djinn_memory.store.index.links import SeenTarget

_IN_PATH = "instr(note.folded, ?) > 0"
_HAS_FIELD = (
    "exists (select 1 from field where field.memory_id = memory.id and key = ? and folded = ?)"
)
_HAS_DOMAIN = (
    "exists (select 1 from field where field.memory_id = memory.id and key = ? "
    "and folded in (select value from json_each(?)))"
)
_HAS_TAG = (
    "exists (select 1 from tag where tag.memory_id = memory.id "
    "and (folded = ? or substr(folded, 1, ?) in (?, ?)))"
)
_EXPIRED = (
    "memory.id not in (select memory_id from field where key = 'expires' "
    "and folded in (select value from json_each(?)))"
)
_PHRASE = "chunk.id in (select value from json_each(?))"
_SOMEWHERE = f"memory.id in (select memory_id from chunk where {_PHRASE})"
_LINKED = (
    "memory.id in (select target_memory_id from link where memory_id = ? "
    "union select memory_id from link where target_memory_id = ?)"
)
_LINKED_AS_SEEN = (
    "memory.id in (select target_memory_id from link where memory_id = ? "
    "and id not in (select value from json_each(?)) "
    "union select memory_id from link where target_memory_id = ? "
    "and id not in (select value from json_each(?)) "
    "union select value ->> 1 from json_each(?) where value ->> 0 = ? "
    "union select value ->> 0 from json_each(?) where value ->> 1 = ?)"
)
_NAMED = (
    "memory.id in (select id from memory where name = ? "
    "union select memory_id from alias where name = ? "
    "union select memory.id from note join memory on note_id = note.id and block is null "
    "where note.name = ? "
    "union select memory_id from field where key = 'filename' and folded = ?)"
)
_IN_JOURNAL = (
    "exists (select 1 from memory as section "
    "where section.note_id = note.id and section.block is not null)"
)


_HELD = (
    "(memory.id in (select value from json_each(?)) or "
    "coalesce(memory.created, iif(memory.type is 'fact', '', memory.date)) "
    "<= iif(instr(coalesce(memory.created, memory.date), 'T'), ?, ?) or "
    "memory.type is 'fact' and exists "
    "(select 1 from field where memory_id = memory.id and key = 'valid_from') or "
    "memory.plane is 'knowledge' and exists "
    "(select 1 from chunk where memory_id = memory.id and headings like '%\"History\"]'))"
)
"""Whether a memory has a period that began, or was created before a time.

The properties of an entity may have held before its note was made. Its history tells, which the
index does not know."""

PLACE = "(select name from vault where id = note.vault_id), note.path, memory.lines_above"
"""The sort order for otherwise equal rows. It does not depend on when they were indexed."""

NEWEST_PLACE = (
    "(select name from vault where id = note.vault_id), "
    "iif(memory.block is null, 0, length(note.path)) desc, "
    "iif(memory.block is null, note.path, ''), note.path desc, memory.lines_above desc"
)
"""`PLACE` for an order with the newest first: sections of journals come in reverse. A further
journal of a day has a longer name, such as `2026-11-20.home-2.md`."""


class Condition(Struct):
    """A boolean SQL expression over note, memory and chunk, and its bound values."""

    parts: list[str] = field(default_factory=list)
    values: list[object] = field(default_factory=list)

    @property
    def sql(self) -> str:
        """The expression."""
        return " and ".join(self.parts)

    def add(self, sql: str, *bound: object) -> None:
        """Add a requirement."""
        self.parts.append(sql)
        # Bytes of the command line that are no text come as lone surrogates: they match nothing.
        self.values.extend(
            value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
            for value in bound
        )

    def among(self, column: str, values: Collection[object]) -> None:
        """Require that a column has one of these values."""
        self.add(f"{column} in ({', '.join('?' * len(values))})", *values)


_ANY = Condition()


class Selections:
    """Translates selections of memories in some vaults to SQL conditions."""

    def __init__(
        self,
        connection: apsw.Connection,
        vaults: Mapping[int, Vault],
        every: Sequence[Vault] = (),
    ) -> None:
        """The keys of `vaults` are their numbers in the index; `every` are those of the home."""
        self._connection = connection
        self._vaults = tuple(vaults.values())
        self._every = every or self._vaults
        self._compartments = compartments.readable(connection, vaults.values())
        self.hides = bool(compartments.hidden(connection, vaults.values()))
        """Whether any memory of these vaults may be hidden from the reader."""
        self._names = {number: vault.name for number, vault in vaults.items()}
        self._numbers = {name: number for number, name in self._names.items()}
        self._expired: dict[datetime, tuple[str, ...]] = {}

    @property
    def compartments(self) -> list[int]:
        """The numbers of the readable compartments."""
        return [compartment.number for compartment in self._compartments]

    def compartments_of(self, selection: Selection) -> list[list[int]]:
        """The numbers of the readable compartments of each vault that a selection covers."""
        names = selection.filters.vaults or self._numbers
        return [
            [part.number for part in self._compartments if part.vault.name == name]
            for name in names
        ]

    def _vaults_of(self, selection: Selection) -> list[int]:
        """The numbers of the vaults that a selection covers."""
        names = selection.filters.vaults or self._numbers
        return [self._numbers[name] for name in names if name in self._numbers]

    def takes_all(self, selection: Selection) -> bool:
        """Whether a selection includes all memories of its vaults."""
        plain = Selection(Filters(vaults=selection.filters.vaults), now=selection.now)
        return selection == plain and not self._expired_by(_clock(selection))

    def where(self, selection: Selection, *, chunks: bool = False) -> Condition:
        """The condition of a selection.

        With `chunks`, the chunk itself must contain the phrases.
        """
        where = Condition()
        where.among("note.vault_id", self._vaults_of(selection))
        if self.hides:
            where.among("memory.compartment_id", self.compartments)
        _filter(where, selection.filters)
        if selection.filters.as_of:
            self._held(where, selection.filters.as_of)
        if expired := self._expired_by(_clock(selection)):
            where.add(_EXPIRED, json.dumps(expired))
        for phrase in dict.fromkeys(selection.phrases):
            where.add(_PHRASE if chunks else _SOMEWHERE, json.dumps(self.chunks_with(phrase)))
        for phrase in dict.fromkeys(selection.without):
            where.add(f"not {_SOMEWHERE}", json.dumps(self.chunks_with(phrase)))
        if chunks and selection.first_chunk:
            where.add("chunk.ordinal = 0")
        if selection.ids is not None:
            where.among("memory.uid", selection.ids)
        if selection.hashes is not None:
            where.among("note.hash", [bytes.fromhex(key) for key in selection.hashes])
        if selection.places is not None:
            numbers = self._numbers
            places = [(numbers[name], path) for name, path in selection.places if name in numbers]
            where.add(
                "(note.vault_id, note.path) in (select value ->> 0, value ->> 1 from json_each(?))",
                json.dumps(places),
            )
        if selection.name is not None:
            where.add(_NAMED, *[name_key(selection.name)] * 4)
        if selection.linked is not None:
            self._linked(where, selection.linked)
        if selection.whole_files:
            where.add(f"not {_IN_JOURNAL}")
        return where

    @cached_property
    def seen_targets(self) -> dict[int, SeenTarget]:
        """The targets of links that the reader may not follow to where they lead, by link."""
        if not self.hides:
            return {}
        from djinn_memory.store.index.links import seen_targets

        reserved = access.reserved_for(self._every)
        return seen_targets(self._connection, self._vaults, reserved)

    def refs(
        self, table: Literal["chunk", "window"], ids: Collection[int], where: Condition = _ANY
    ) -> dict[int, ChunkRef]:
        """The chunk of each row of a table that meets a condition."""
        chunk = "cross join chunk on chunk.id = chunk_id " if table == "window" else ""
        among = f"{table}.id in (select value from json_each(?))"
        listed = rows(
            self._connection,
            f"select {table}.id, chunk.id, memory.id, vault_id, path, first_line, ordinal "
            f"from {table} {chunk}cross join memory on memory.id = memory_id "
            f"cross join note on note.id = note_id where {' and '.join([among, *where.parts])}",
            (json.dumps(list(ids)), *where.values),
        )
        return {
            key: ChunkRef(chunk_id, memory_id, (self._names[vault], path, line, ordinal))
            for key, chunk_id, memory_id, vault, path, line, ordinal in listed
        }

    def chunks_of(self, where: Condition) -> set[int]:
        """All chunks that meet a condition."""
        sql = (
            "select chunk.id from chunk join memory on memory.id = memory_id "
            f"join note on note.id = note_id where {where.sql}"
        )
        return {chunk for (chunk,) in rows(self._connection, sql, where.values)}

    def chunks_with(self, spellings: Forms) -> list[int]:
        """The chunks that contain a phrase in any of its forms."""
        wanted = " OR ".join(quoted(words, prefixes=False) for words in spellings)
        return [
            chunk
            for number in self.compartments
            for (chunk,) in rows(
                self._connection,
                f"select rowid from words_{number:d} where words_{number:d} match ?",
                (wanted,),
            )
        ]

    def _linked(self, where: Condition, memory_id: int) -> None:
        """Require that a link leads to a memory or comes from it, as the reader may see links."""
        if not self.seen_targets:
            where.add(_LINKED, memory_id, memory_id)
            return
        links = json.dumps(list(self.seen_targets))
        ends = json.dumps([(seen.source, seen.memory_id) for seen in self.seen_targets.values()])
        where.add(_LINKED_AS_SEEN, memory_id, links, memory_id, links, *(ends, memory_id) * 2)

    def _held(self, where: Condition, at: str) -> None:
        """Require that a memory held at a time.

        A fact is left out only if its note was made later and tells of no earlier value. Whether it
        had a value stands in its history, which the index does not know.
        """
        from djinn_memory.notes.dates import local_day
        from djinn_memory.notes.periods import period_of

        fields: dict[int, dict[str, str]] = {}
        for memory, key, value in rows(
            self._connection,
            "select memory_id, key, value from field join memory on memory.id = memory_id "
            "where key in ('valid_from', 'valid_to') and memory.type is not 'fact' "
            "and compartment_id in (select value from json_each(?)) order by field.rowid desc",
            (json.dumps(self.compartments),),
        ):
            fields.setdefault(memory, {})[key] = value
        periods = {
            memory: period_of(texts.get("valid_from"), texts.get("valid_to"))
            for memory, texts in fields.items()
        }
        out = [memory for memory, period in periods.items() if not period.covers(at)]
        begun = [memory for memory, period in periods.items() if period.start]
        where.add("memory.id not in (select value from json_each(?))", json.dumps(out))
        where.add(_HELD, json.dumps(begun), at, local_day(at))

    def _expired_by(self, now: datetime | None) -> tuple[str, ...]:
        """The values of `expires` that have passed. A day ends in the local time zone."""
        if now is None:
            return ()
        if now not in self._expired:
            from djinn_memory.notes.dates import over

            # Comparing in SQL would need rules of its own for what is a date.
            listed = rows(
                self._connection,
                "select distinct field.folded from field join memory on memory.id = memory_id "
                "where key = 'expires' and compartment_id in (select value from json_each(?))",
                (json.dumps(self.compartments),),
            )
            self._expired[now] = tuple(text for (text,) in listed if over(text.upper(), now))
        return self._expired[now]


def _clock(selection: Selection) -> datetime | None:
    """The time at which memories must not have expired."""
    at = selection.filters.as_of
    return datetime.fromisoformat(at) if at and selection.now else selection.now


def _filter(where: Condition, filters: Filters) -> None:
    """Add the conditions of the filters.

    A memory must have all `tags`; a nested tag such as `project/x` also matches `project`. It needs
    only one of several types, planes, domains or paths.
    """
    if filters.types:
        where.among("memory.type", [fold(kind) for kind in filters.types])
    if filters.planes:
        where.among("memory.plane", filters.planes)
    if filters.domains:
        listed = json.dumps([fold(domain) for domain in filters.domains])
        where.add(_HAS_DOMAIN, access.DOMAIN, listed)
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
    if filters.since or filters.until:
        _between(where, filters.since, filters.until)
    for key, value in filters.where:
        where.add(_HAS_FIELD, fold(key), fold(value))


def _between(where: Condition, since: str | None, until: str | None) -> None:
    """Require that a memory is from these days, or times.

    A memory has a day, which is compared as it is, or a time in UTC, which is compared with the
    ends of the days in the time zone of this machine.
    """
    from djinn_memory.notes.dates import day_begins, day_ends
    from djinn_memory.notes.periods import first_day, last_day

    if since:
        day = first_day(since)
        begin = day if "T" in day else day_begins(day)
        where.add("memory.date >= iif(instr(memory.date, 'T'), ?, ?)", begin, day)
    if until:
        day = last_day(until)
        end = day if "T" in day else day_ends(day)
        where.add("memory.date <= iif(instr(memory.date, 'T'), ?, ?)", end, day)


def _tag(tag: str) -> tuple[str, int, str, str]:
    """The values for `_HAS_TAG`: a tag such as `project` includes `project/x` and `project:x`."""
    folded = fold(tag.lstrip("#").rstrip("/:"))
    return folded, len(folded) + 1, f"{folded}/", f"{folded}:"


def quoted(words: Phrase, *, prefixes: bool = True) -> str:
    """A phrase in quotation marks for FTS5.

    With `prefixes`, a single character of an unspaced script matches any pair that it begins.
    """
    return f'"{" ".join(words)}"{"*" if prefixes and lone(words) else ""}'


def lone(words: Phrase) -> bool:
    """Whether a phrase is a single character of an unspaced script."""
    if len(words) != 1 or len(words[0]) != 1 or words[0].isascii():
        return False
    from djinn_memory.languages import scripts

    return scripts.unspaced(words[0])
