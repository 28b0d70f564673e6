"""Translates a `Selection` to SQL over the rows of a scope's memories and chunks.

Each condition means the same as in `store.index.selection`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime

from msgspec import Struct, field

from djinn_memory.home import access
from djinn_memory.models import Filters
from djinn_memory.notes.slugs import fold, name_key
from djinn_memory.store.index.records import ChunkRef, Forms, Selection
from djinn_memory.store.postgres.index.scopes import ReadScope, Scopes

FROM = "from index_memories as memory"
CHUNKS = (
    "from index_chunks as chunk join index_memories as memory "
    "on memory.user_id = chunk.user_id and memory.number = chunk.memory"
)

_IN_PATH = "position(%s in memory.folded) > 0"
_HAS_FIELD = "memory.field_keys @> array[%s]"
_HAS_TAG = "memory.tag_keys @> array[%s]"
_SOMEWHERE = (
    "memory.number in (select memory from index_chunks where user_id = %s and number = any(%s))"
)
_NAMED = (
    "(memory.name = %s or memory.alias_keys @> array[%s] "
    "or memory.file_name = %s and memory.block is null or memory.field_keys @> array[%s])"
)
_IN_JOURNAL = (
    "exists (select from index_memories as section where section.user_id = %s "
    "and section.note_id = memory.note_id and section.block is not null)"
)
_HELD = (
    "(memory.number = any(%s) or "
    "coalesce(memory.created, case when memory.type is not distinct from 'fact' then '' "
    "else memory.date end) <= case when position('T' in coalesce(memory.created, memory.date)) > 0 "
    "then %s else %s end or "
    "memory.type is not distinct from 'fact' and memory.fields @> '[[\"valid_from\"]]' or "
    "memory.plane is not distinct from 'knowledge' and exists (select from index_chunks as history "
    "where history.user_id = %s and history.memory = memory.number "
    "and history.headings ->> -1 = 'History'))"
)
_BETWEEN = "memory.date {} case when position('T' in memory.date) > 0 then %s else %s end"


class RowCondition(Struct):
    """A boolean SQL expression over memory and chunk, and its parameters."""

    parts: list[str] = field(default_factory=list)
    values: list[object] = field(default_factory=list)

    @property
    def sql(self) -> str:
        """The expression."""
        return " and ".join(self.parts)

    def add(self, sql: str, *values: object) -> None:
        """Add a requirement."""
        self.parts.append(sql)
        self.values.extend(values)


class ScopeSelections:
    """Translates selections of memories in some scopes to SQL conditions."""

    def __init__(
        self,
        scopes: Scopes,
        chunks_with: Callable[[Forms], Collection[int]],
        neighbours: Callable[[int], Collection[int]],
    ) -> None:
        """`chunks_with` finds the chunks that contain a phrase in any of its forms.

        `neighbours` finds the memories at the other end of a memory's links. Both return numbers in
        the index.
        """
        self.scopes = scopes
        self._chunks_with = chunks_with
        self._neighbours = neighbours
        self._expired: dict[tuple[int, datetime], list[str]] = {}

    def covered(self, selection: Selection) -> list[ReadScope]:
        """The scopes that a selection covers."""
        return self.scopes.named(selection.filters.vaults)

    def takes_all(self, scope: ReadScope, selection: Selection) -> bool:
        """Whether a selection includes all memories of a scope."""
        plain = Selection(Filters(vaults=selection.filters.vaults), now=selection.now)
        return selection == plain and not self._expired_by(scope, _clock(selection))

    def where(
        self, scope: ReadScope, selection: Selection, *, chunks: bool = False
    ) -> RowCondition:
        """The condition of a selection in a scope.

        With `chunks`, the chunk itself must contain the phrases.
        """
        where = RowCondition()
        where.add("memory.user_id = %s", scope.id)
        if scope.hides:
            where.add("memory.domain_set = any(%s)", scope.visible)
        _filter(where, selection.filters)
        if selection.filters.as_of:
            self._held(where, scope, selection.filters.as_of)
        if expired := self._expired_by(scope, _clock(selection)):
            where.add("(memory.expires is null or not memory.expires && %s)", expired)
        for phrase in dict.fromkeys(selection.phrases):
            numbers = self._numbers_with(scope, phrase)
            if chunks:
                where.add("chunk.number = any(%s)", numbers)
            else:
                where.add(_SOMEWHERE, scope.id, numbers)
        for phrase in dict.fromkeys(selection.without):
            where.add(f"not {_SOMEWHERE}", scope.id, self._numbers_with(scope, phrase))
        if chunks and selection.first_chunk:
            where.add("chunk.ordinal = 0")
        self._identified(where, scope, selection)
        if selection.whole_files:
            where.add(f"not {_IN_JOURNAL}", scope.id)
        return where

    def refs(
        self, chunk_ids: Iterable[int], conditions: Mapping[int, RowCondition]
    ) -> dict[int, ChunkRef]:
        """The chunks that meet the condition of their scope, given by its position."""
        refs = {}
        for scope, numbers in self.scopes.of(chunk_ids):
            where = conditions.get(scope.position)
            if where is None:
                continue
            listed = self.scopes.rows(
                f"select chunk.number, memory.number, path, first_line, ordinal {CHUNKS} "
                f"where chunk.user_id = %s and chunk.number = any(%s) and {where.sql}",
                (scope.id, numbers, *where.values),
            )
            for number, memory, path, line, ordinal in listed:
                place = (scope.name, path, line, ordinal)
                refs[scope.key(number)] = ChunkRef(scope.key(number), scope.key(memory), place)
        return refs

    def conditions(self, selection: Selection) -> dict[int, RowCondition]:
        """The condition of a selection of chunks in each scope that it covers, by position."""
        return {
            scope.position: self.where(scope, selection, chunks=True)
            for scope in self.covered(selection)
        }

    def chunks_of(self, conditions: Mapping[int, RowCondition]) -> list[int]:
        """All chunks that meet the condition of their scope."""
        return [
            scope.key(number)
            for scope in self.scopes
            if (where := conditions.get(scope.position))
            for (number,) in self.scopes.rows(
                f"select chunk.number {CHUNKS} where {where.sql}", where.values
            )
        ]

    def _identified(self, where: RowCondition, scope: ReadScope, selection: Selection) -> None:
        """Require what identifies a memory."""
        if selection.ids is not None:
            where.add("memory.uid = any(%s)", list(selection.ids))
        if selection.hashes is not None:
            hashes = [bytes.fromhex(key) for key in selection.hashes]
            where.add("memory.hash = any(%s)", hashes)
        if selection.places is not None:
            paths = [plain(path) for name, path in selection.places if name == scope.name]
            where.add("memory.path = any(%s)", paths)
        if selection.name is not None:
            name = plain(name_key(selection.name))
            where.add(_NAMED, name, name, name, field_key("filename", name))
        if selection.linked is not None:
            listed = dict(self._by_position(self._neighbours(selection.linked)))
            where.add("memory.number = any(%s)", listed.get(scope.position, []))

    def _by_position(self, keys: Collection[int]) -> Iterable[tuple[int, list[int]]]:
        return ((scope.position, numbers) for scope, numbers in self.scopes.of(keys))

    def _numbers_with(self, scope: ReadScope, phrase: Forms) -> list[int]:
        return dict(self._by_position(self._chunks_with(phrase))).get(scope.position, [])

    def _held(self, where: RowCondition, scope: ReadScope, at: str) -> None:
        """Require that a memory held at a time; see `store.index.selection`."""
        from djinn_memory.notes.dates import local_day
        from djinn_memory.notes.periods import period_of

        listed = self.scopes.rows(
            "select number, fields from index_memories where user_id = %s "
            "and type is distinct from 'fact' and domain_set = any(%s) "
            "and (fields @> '[[\"valid_from\"]]' or fields @> '[[\"valid_to\"]]')",
            (scope.id, scope.visible),
        )
        periods = {}
        for number, fields in listed:
            first = dict(reversed([(key, value) for key, value in fields]))
            periods[number] = period_of(first.get("valid_from"), first.get("valid_to"))
        out = [number for number, period in periods.items() if not period.covers(at)]
        begun = [number for number, period in periods.items() if period.start]
        where.add("not memory.number = any(%s)", out)
        where.add(_HELD, begun, at, local_day(at), scope.id)

    def _expired_by(self, scope: ReadScope, now: datetime | None) -> list[str]:
        """The values of `expires` that have passed. A day ends in the local time zone."""
        if now is None:
            return []
        known = scope.position, now
        if known not in self._expired:
            from djinn_memory.notes.dates import over

            if "expires" not in scope.kept.facts:
                listed = self.scopes.rows(
                    "select distinct unnest(expires) from index_memories where user_id = %s "
                    "and expires is not null and domain_set = any(%s)",
                    (scope.id, scope.visible),
                )
                scope.kept.facts["expires"] = [text for (text,) in listed]
            texts = scope.kept.facts["expires"]
            self._expired[known] = [text for text in texts if over(text.upper(), now)]
        return self._expired[known]


def plain(text: str) -> str:
    """A text as Postgres takes it: bytes that are no text, and NUL, match nothing."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def _clock(selection: Selection) -> datetime | None:
    """The time at which memories must not have expired."""
    at = selection.filters.as_of
    return datetime.fromisoformat(at) if at and selection.now else selection.now


def _filter(where: RowCondition, filters: Filters) -> None:
    """Add the conditions of the filters."""
    if filters.types:
        where.add("memory.type = any(%s)", [plain(fold(kind)) for kind in filters.types])
    if filters.planes:
        where.add("memory.plane = any(%s)", [plain(plane) for plane in filters.planes])
    if filters.domains:
        keys = [_field(access.DOMAIN, domain) for domain in filters.domains]
        where.add("memory.field_keys && %s", keys)
    for tag in filters.tags:
        where.add(_HAS_TAG, _tag(tag))
    if filters.paths:
        paths = [plain(fold(path)) for path in filters.paths]
        where.add(f"({' or '.join([_IN_PATH] * len(paths))})", *paths)
    for key, value in filters.excluded:
        if key == "tag":
            where.add(f"not {_HAS_TAG}", _tag(value))
        elif key == "path":
            where.add(f"not {_IN_PATH}", plain(fold(value)))
        elif key in ("type", "plane"):
            where.add(f"memory.{key} is distinct from %s", plain(fold(value)))
        else:
            where.add(f"not {_HAS_FIELD}", _field(key, value))
    if filters.since or filters.until:
        _between(where, filters.since, filters.until)
    for key, value in filters.where:
        where.add(_HAS_FIELD, _field(key, value))


def _between(where: RowCondition, since: str | None, until: str | None) -> None:
    """Require that a memory is from these days, or times."""
    from djinn_memory.notes.dates import day_begins, day_ends
    from djinn_memory.notes.periods import first_day, last_day

    if since:
        day = first_day(since)
        where.add(_BETWEEN.format(">="), day if "T" in day else day_begins(day), day)
    if until:
        day = last_day(until)
        where.add(_BETWEEN.format("<="), day if "T" in day else day_ends(day), day)


def _field(key: str, value: str) -> str:
    return plain(field_key(fold(key), fold(value)))


def _tag(tag: str) -> str:
    return plain(fold(tag.lstrip("#").rstrip("/:")))


def field_key(key: str, value: str) -> str:
    """A field as filters compare it."""
    return f"{key}={value}"
