"""The memories and chunks of a home's index: their SQL, and the parts that a reader sees."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

import apsw
from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.models import Vault
from djinn_memory.store.index import compartments
from djinn_memory.store.index.selection import Condition, Row, Selections, Tables
from djinn_memory.store.sqlite import rows

_ANY = "in (select value from json_each(%s))"
_LIST = (
    "(select json_group_array({0}) from "
    "(select {0} from {0} where memory_id = memory.id order by {1}))"
)

SQLITE = Tables(
    memories="from memory join note on note.id = memory.note_id",
    chunks="from chunk join memory on memory.id = chunk.memory_id "
    "join note on note.id = memory.note_id",
    known_chunks="from chunk cross join memory on memory.id = chunk.memory_id "
    "cross join note on note.id = memory.note_id",
    chunks_alone="from chunk",
    own="true",
    windows="window as windows on windows.chunk_id = chunk.id",
    links="join link on link.memory_id = memory.id",
    tags="join tag on tag.memory_id = memory.id",
    field="join field on field.memory_id = memory.id and field.key = %s",
    named="from json_each(%s) as wanted cross join memory on memory.id in ("
    "select id from memory where name = wanted.value "
    "union select memory_id from alias where name = wanted.value) "
    "join note on note.id = memory.note_id",
    memory="memory.id",
    chunk="chunk.id",
    owner="chunk.memory_id",
    among=_ANY,
    waiting="not windows.embedded",
    modified="mtime_ns",
    vault_order="(select name from vault where id = vault_id), ",
    columns={
        "memory_id": "memory.id",
        "vault": "vault_id",
        "id": "uid",
        **{
            name: f"memory.{name}"
            for name in ("block", "type", "plane", "title", "created", "updated", "date", "dated")
        },
        "path": "path",
        "hash": "lower(hex(iif(block is null, hash, memory.digest)))",
        "problem": "problem",
        "tags": _LIST.format("tag", "folded"),
        "aliases": _LIST.format("alias", "alias"),
        "fields": "(select json_group_array(json_array(key, value)) from (select key, value "
        "from field where memory_id = memory.id and {keys} order by rowid))",
        "first_chunk": "(select min(id) from chunk where memory_id = memory.id)",
        "text": "(select substr(text, 1, {characters}) from chunk "
        "where memory_id = memory.id and ordinal = 0)",
    },
    predicates={
        "type": lambda *types: (f"memory.type {_ANY}", types),
        "plane": lambda *planes: (f"memory.plane {_ANY}", planes),
        "field": lambda key, *values: (
            "exists (select 1 from field where field.memory_id = memory.id "
            f"and key = %s and folded {_ANY})",
            *(key, values),
        ),
        "stated": lambda *keys: (
            f"memory.id in (select memory_id from field where key {_ANY})",
            keys,
        ),
        "tag": lambda tag: (
            "exists (select 1 from tag where tag.memory_id = memory.id "
            "and (folded = %s or substr(folded, 1, %s) in (%s, %s)))",
            *(tag, len(tag) + 1, f"{tag}/", f"{tag}:"),
        ),
        "path": lambda *parts: (
            f"({' or '.join(['instr(note.folded, %s) > 0'] * len(parts))})",
            *parts,
        ),
        "since": lambda *times: ("memory.date >= iif(instr(memory.date, 'T'), %s, %s)", *times),
        "until": lambda *times: (
            "nullif(memory.date, '') <= iif(instr(memory.date, 'T'), %s, %s)",
            *times,
        ),
        "unexpired": lambda *values: (
            "memory.id not in "
            f"(select memory_id from field where key = 'expires' and folded {_ANY})",
            values,
        ),
        "began": lambda at, day, *numbers: (
            f"(memory.id {_ANY} or "
            "coalesce(memory.created, iif(memory.type is 'fact', '', memory.date)) "
            "<= iif(instr(coalesce(memory.created, memory.date), 'T'), %s, %s) or "
            "memory.type is 'fact' and exists "
            "(select 1 from field where memory_id = memory.id and key = 'valid_from') or "
            "memory.plane is 'knowledge' and exists (select 1 from chunk "
            "where memory_id = memory.id and headings like '%\"History\"]'))",
            *(numbers, at, day),
        ),
        "id": lambda *ids: (f"memory.uid {_ANY}", ids),
        "hash": lambda *hashes: ("note.hash in (select unhex(value) from json_each(%s))", hashes),
        "place": lambda *places: (
            "(note.vault_id, note.path) in (select value ->> 0, value ->> 1 from json_each(%s))",
            places,
        ),
        "name": lambda name: (
            "memory.id in (select id from memory where name = %s "
            "union select memory_id from alias where name = %s "
            "union select memory.id from note join memory on note_id = note.id and block is null "
            "where note.name = %s "
            "union select memory_id from field where key = 'filename' and folded = %s)",
            *[name] * 4,
        ),
        "memory": lambda *numbers: (f"memory.id {_ANY}", numbers),
        "chunk": lambda *numbers: (f"chunk.id {_ANY}", numbers),
        "holding": lambda *numbers: (
            f"memory.id in (select memory_id from chunk where id {_ANY})",
            numbers,
        ),
        "first": lambda: ("chunk.ordinal = 0",),
        "journal": lambda: (
            "exists (select 1 from memory as section "
            "where section.note_id = note.id and section.block is not null)",
        ),
    },
)


class SqlitePart(Struct, frozen=True):
    """Some vaults of the index, which one statement reads."""

    connection: apsw.Connection
    vaults: Mapping[int, Vault]
    """The vaults by their numbers in the index."""
    compartments: Sequence[int]
    """The compartments that the reader may see."""
    hides: bool
    position: int = 0
    name: str = ""

    @property
    def readable(self) -> Condition:
        """See `IndexPart`."""
        where = Condition([f"note.vault_id {_ANY}"], [list(self.vaults)])
        if self.hides:
            where.add(f"memory.compartment_id {_ANY}", self.compartments)
        return where

    def key(self, number: int) -> int:
        """The same number."""
        return number

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """All rows of a query."""
        return rows(self.connection, sql.replace("%s", "?"), [*map(_bound, values)])

    def vault_of(self, value: int) -> Vault:
        """The vault with this number."""
        return self.vaults[value]

    def places(self, places: Sequence[tuple[str, str]]) -> list[tuple[int, str]]:
        """Places with the numbers of their vaults."""
        numbers = {vault.name: number for number, vault in self.vaults.items()}
        return [(numbers[name], path) for name, path in places if name in numbers]

    def expiries(self) -> list[str]:
        """See `IndexPart`."""
        listed = self.rows(
            "select distinct field.folded from field join memory on memory.id = memory_id "
            f"where key = 'expires' and compartment_id {_ANY}",
            [self.compartments],
        )
        return [text for (text,) in listed]


class SqliteSelections(Selections[SqlitePart]):
    """Finds the memories and chunks of selections in the vaults of a reader."""

    tables = SQLITE

    def __init__(self, connection: apsw.Connection, vaults: Mapping[int, Vault]) -> None:
        """The keys of `vaults` are their numbers in the index."""
        super().__init__()
        self.readable = compartments.readable(connection, vaults.values())
        """The compartments that the reader may see, in the order of the vaults."""
        self.hides = bool(compartments.hidden(connection, vaults.values()))
        """Whether any memory of these vaults may be hidden from the reader."""
        self._whole = SqlitePart(connection, vaults, self.compartments, self.hides)

    @property
    def compartments(self) -> list[int]:
        """The numbers of the readable compartments."""
        return [compartment.number for compartment in self.readable]

    def parts(self, names: Sequence[str] = ()) -> list[SqlitePart]:
        """One part with the vaults of these names; without names, with all."""
        if not names:
            return [self._whole]
        named = {key: vault for key, vault in self._whole.vaults.items() if vault.name in names}
        return [replace(self._whole, vaults=named)]

    def of(self, keys: Iterable[int]) -> list[tuple[SqlitePart, list[int]]]:
        """All numbers, which are those of the one part."""
        return [(self._whole, list(keys))]


def _bound(value: object) -> object:
    """A value of a statement. Lists become JSON."""
    if isinstance(value, str):
        # Bytes of the command line that are no text come as lone surrogates: they match nothing.
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list | tuple):
        return json.dumps(
            [_bound(each) for each in value] if value and isinstance(value[0], str) else value
        )
    return value
