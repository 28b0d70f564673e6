"""The memories and chunks of an index on a server: their SQL, and the parts that a reader sees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from djinn_memory.store.index.selection import Selections, Tables
from djinn_memory.store.postgres.index.scopes import ReadScope, Scopes

_CHUNKS = (
    "from index_chunks as chunk join index_memories as memory "
    "on memory.user_id = chunk.user_id and memory.number = chunk.memory"
)


def field_key(key: str, value: str) -> str:
    """A field as filters compare it."""
    return f"{key}={value}"


POSTGRES = Tables(
    memories="from index_memories as memory",
    chunks=_CHUNKS,
    known_chunks=_CHUNKS,
    chunks_alone="from index_chunks as chunk",
    own="chunk.user_id = {part}",
    windows="index_windows as windows "
    "on windows.user_id = chunk.user_id and windows.chunk = chunk.number",
    links="join index_links as link "
    "on link.user_id = memory.user_id and link.memory = memory.number",
    tags="cross join lateral unnest(memory.tags) as tag",
    field="cross join lateral (select pair ->> 1 as value "
    "from jsonb_array_elements(memory.fields) as pair where pair ->> 0 = %s) as field",
    named="from unnest(%s::text[]) as wanted (value) join index_memories as memory "
    "on memory.name = wanted.value or memory.alias_keys @> array[wanted.value]",
    memory="memory.number",
    chunk="chunk.number",
    owner="chunk.memory",
    among="= any(%s)",
    waiting="windows.vector is null",
    modified="memory.modified_ns",
    vault_order="",
    columns={
        "memory_id": "memory.number",
        # A statement reads one vault.
        "vault": "0",
        "id": "uid",
        **{
            name: f"memory.{name}"
            for name in (
                *("path", "block", "type", "plane", "title", "created", "updated", "date"),
                *("dated", "problem", "tags", "aliases", "fields"),
            )
        },
        "hash": "encode(case when block is null then hash else digest end, 'hex')",
        "first_chunk": "case when chunks > 0 then memory.number + 1 end",
        "text": "(select substr(text, 1, {characters}) from index_chunks as chunk "
        "where chunk.user_id = {part} and chunk.memory = memory.number and ordinal = 0)",
    },
    predicates={
        "type": lambda *types: ("memory.type = any(%s)", types),
        "plane": lambda *planes: ("memory.plane = any(%s)", planes),
        "field": lambda key, *values: (
            "memory.field_keys && %s",
            [field_key(key, value) for value in values],
        ),
        "stated": lambda *keys: (
            f"({' or '.join(['memory.fields @> %s::jsonb'] * len(keys))})",
            *(f'[["{key}"]]' for key in keys),
        ),
        "tag": lambda tag: ("memory.tag_keys @> array[%s]", tag),
        "path": lambda *parts: (
            f"({' or '.join(['position(%s in memory.folded) > 0'] * len(parts))})",
            *parts,
        ),
        "since": lambda *times: (
            "memory.date >= case when position('T' in memory.date) > 0 then %s else %s end",
            *times,
        ),
        "until": lambda *times: (
            "nullif(memory.date, '') <= "
            "case when position('T' in memory.date) > 0 then %s else %s end",
            *times,
        ),
        "unexpired": lambda *values: (
            "(memory.expires is null or not memory.expires && %s)",
            values,
        ),
        "began": lambda at, day, *numbers: (
            "(memory.number = any(%s) or coalesce(memory.created, case when "
            "memory.type is not distinct from 'fact' then '' else memory.date end) "
            "<= case when position('T' in coalesce(memory.created, memory.date)) > 0 "
            "then %s else %s end or "
            "memory.type is not distinct from 'fact' and memory.fields @> '[[\"valid_from\"]]' or "
            "memory.plane is not distinct from 'knowledge' and exists "
            "(select from index_chunks as history where history.user_id = {part} "
            "and history.memory = memory.number and history.headings ->> -1 = 'History'))",
            *(numbers, at, day),
        ),
        "id": lambda *ids: ("memory.uid = any(%s)", ids),
        "hash": lambda *hashes: ("memory.hash = any(%s)", [bytes.fromhex(key) for key in hashes]),
        "place": lambda *paths: ("memory.path = any(%s)", paths),
        "name": lambda name: (
            "(memory.name = %s or memory.alias_keys @> array[%s] "
            "or memory.file_name = %s and memory.block is null or memory.field_keys @> array[%s])",
            *(name, name, name, field_key("filename", name)),
        ),
        "memory": lambda *numbers: ("memory.number = any(%s)", numbers),
        "chunk": lambda *numbers: ("chunk.number = any(%s)", numbers),
        "holding": lambda *numbers: (
            "memory.number in "
            "(select memory from index_chunks where user_id = {part} and number = any(%s))",
            numbers,
        ),
        "first": lambda: ("chunk.ordinal = 0",),
        "journal": lambda: (
            "exists (select from index_memories as section where section.user_id = {part} "
            "and section.note_id = memory.note_id and section.block is not null)",
        ),
    },
)


class ScopeSelections(Selections[ReadScope]):
    """Finds the memories and chunks of selections in some scopes."""

    tables = POSTGRES

    def __init__(self, scopes: Scopes) -> None:
        super().__init__()
        self._scopes = scopes
        self.hides = any(scope.hides for scope in scopes)

    def parts(self, names: Sequence[str] = ()) -> list[ReadScope]:
        """The scopes of the vaults with these names; without names, all."""
        return self._scopes.named(names)

    def of(self, keys: Iterable[int]) -> Iterator[tuple[ReadScope, list[int]]]:
        """See `Selections`."""
        return self._scopes.of(keys)
