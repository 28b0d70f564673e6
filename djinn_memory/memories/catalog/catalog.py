"""The catalog of memories: list, find, describe and count them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, TypeVar

import apsw
from msgspec import Struct

from djinn_memory.errors import NotFound, UsageError
from djinn_memory.memories.catalog.requests import CatalogField
from djinn_memory.models import Filters, Memory, Problem, Vault
from djinn_memory.notes.link_resolution import LinkTarget, Resolver
from djinn_memory.search.filters import condition
from djinn_memory.search.hits import on_disk, tags
from djinn_memory.store.index import links
from djinn_memory.store.index.memories import vault_ids
from djinn_memory.store.sqlite import Row, rows

M = TypeVar("M", bound=Memory)


class MemoryEntry(Memory, frozen=True, kw_only=True):
    """A memory, and where the index keeps it."""

    note_id: int

    @property
    def memory(self) -> Memory:
        """The memory without its place in the index."""
        return self.extended(Memory)

    def extended(self, kind: type[M], **more: Any) -> M:
        """The memory as a record that has more fields."""
        fields: dict[str, Any] = {name: getattr(self, name) for name in Memory.__struct_fields__}
        return kind(**fields, **more)


class LinkEnd(Struct, frozen=True):
    """A link as one of its two notes sees it."""

    target: str
    """The target as written."""
    title: str | None
    """The other note's title; null while the target is unresolved or no note."""
    vault: str | None
    """The other note's vault."""
    path: str | None
    """The other note's path."""
    line: int
    """The line of the link, from 1; 0 for a field of the front matter."""
    field: str | None
    """The field of the front matter that holds the link; null for a link in the text."""
    embed: bool
    """Whether the link shows its target in its own place: `![[...]]`."""
    how: str | None
    """How the target was resolved: by `path`, `title` and so on; null while it is unresolved."""
    ambiguous: bool
    """Whether other notes could be meant as well."""


Links = tuple[LinkEnd, ...]


class MemoryDetail(Memory, frozen=True, kw_only=True):
    """A whole memory."""

    aliases: tuple[str, ...]
    """Its other names."""
    fields: dict[str, tuple[str, ...]]
    """Its front matter as text, one value or many for each field; dotted names for fields within
    fields."""
    text: str = ""
    """The whole file, front matter included, as it is on the disk now."""
    links: Links
    """What it leads to, in the order of the text."""
    backlinks: Links
    """What leads to it, from the vaults that the agent sees."""
    problems: tuple[Problem, ...] = ()
    """What is wrong with its note."""


class CatalogStats(Struct, frozen=True):
    """How much there is."""

    notes: int
    """Notes: one for each file."""
    chunks: int
    """Chunks: the parts of notes that hits return."""
    windows: int
    """Windows: the parts of chunks that are embedded."""
    pending: int
    """Windows that have no vector yet."""
    links: int
    """Links in notes, including embeds and links in front matter."""
    unresolved: int
    """Links that lead nowhere."""
    broken: int
    """Notes with a problem, such as front matter that is not YAML."""
    types: dict[str, int]
    """Notes of each type, the most frequent first; the fields below are sorted likewise."""
    planes: dict[str, int]
    """Notes of each plane."""
    tags: dict[str, int]
    """Notes with each tag."""
    vaults: dict[str, int]
    """Notes in each vault."""


_ENTRY = (
    "select note.id, uid, type, plane, title, vault_id, path, created, updated, date, memory.id "
    "from memory join note on note.id = note_id "
)


def entries(
    connection: apsw.Connection,
    filters: Filters,
    vaults: Sequence[Vault],
    limit: int,
    skip: int = 0,
) -> list[MemoryEntry]:
    """List memories that satisfy `filters` and are still on the disk, the newest first."""
    numbered = vault_ids(connection, vaults)
    where, values = condition(filters, numbered)
    matching = rows(connection, f"{_ENTRY} where {where} order by date desc, path", values)
    present = (row for row in matching if on_disk(numbered[row[5]], row[6]))
    return [_entry(connection, row, numbered) for row in islice(present, skip, skip + limit)]


def find(connection: apsw.Connection, name: str, vaults: Sequence[Vault]) -> MemoryEntry:
    """Find the memory that `name` means: an id, a path, a title, an alias or a file name.

    A path may begin with `vault/`; `vault:path` is never ambiguous. Names resolve as links do.
    Raises `NotFound`, or `UsageError` with the choices when several notes could be meant.
    """
    numbered = vault_ids(connection, vaults)
    targets = {target.key: target for target in links.targets(connection, vaults)}
    keys = _exact(name, targets.values()) or _resolve(name, targets.values(), vaults)
    if len(keys) > 1:
        places = ", ".join(f"{targets[key].vault}:{targets[key].path}" for key in keys)
        raise UsageError(f"{name!r} could be any of: {places}; name one like that")
    notes = rows(connection, f"{_ENTRY} where note.id = ?", tuple(keys)) if keys else []
    if not notes or not on_disk(numbered[notes[0][5]], notes[0][6]):
        raise NotFound(
            f"no note {name!r}; give an id, a path or a title as `djinn memory list` shows them"
        )
    return _entry(connection, notes[0], numbered)


def entry_of(connection: apsw.Connection, note_id: int, vaults: Sequence[Vault]) -> MemoryEntry:
    """The memory of a note in these vaults."""
    [row] = rows(connection, f"{_ENTRY} where note.id = ?", (note_id,))
    return _entry(connection, row, vault_ids(connection, vaults))


def detail(
    connection: apsw.Connection, entry: MemoryEntry, vaults: Sequence[Vault]
) -> MemoryDetail:
    """All that the index has of a memory, with its links both ways inside `vaults`."""
    [(memory, problem)] = rows(
        connection,
        "select memory.id, problem from memory join note on note.id = note_id where note.id = ?",
        (entry.note_id,),
    )
    aliases = rows(connection, "select alias from alias where memory_id = ?", (memory,))
    fields: dict[str, tuple[str, ...]] = {}
    for key, value in rows(
        connection, "select key, value from field where memory_id = ?", (memory,)
    ):
        fields[key] = (*fields.get(key, ()), value)
    forward, backward = links_of(connection, entry, vaults)
    return entry.extended(
        MemoryDetail,
        aliases=tuple(alias for (alias,) in aliases),
        fields=fields,
        links=forward,
        backlinks=backward,
        problems=(Problem(f"{entry.vault}/{entry.path}", problem),) if problem else (),
    )


def links_of(
    connection: apsw.Connection, entry: MemoryEntry, vaults: Sequence[Vault]
) -> tuple[Links, Links]:
    """The links of a memory, and the links to it, inside `vaults`."""
    numbered = vault_ids(connection, vaults)
    return (
        _link_ends(connection, "note_id", "target_note_id", entry.note_id, numbered),
        _link_ends(connection, "target_note_id", "note_id", entry.note_id, numbered),
    )


def values(connection: apsw.Connection, field: CatalogField, vaults: Sequence[Vault]) -> list[str]:
    """The values of a field in these vaults, in alphabetical order."""
    where, bound = condition(Filters(), vault_ids(connection, vaults))
    source = "memory join note on note.id = note_id"
    if field == "tag":
        source += " join tag on tag.memory_id = memory.id"
    column: str = field
    if field in ("fact", "category", "key"):
        where, column = f"{where} and type = 'fact'", "title" if field == "fact" else "value"
    if field in ("category", "key"):
        source += f" join field on field.memory_id = memory.id and field.key = '{field}'"
    if field == "document":
        source += " join field on field.memory_id = memory.id and key = 'filename'"
        where, column = f"{where} and plane = 'documents'", "value"
    sql = (
        f"select distinct {column} from {source} where {where} and {column} is not null order by 1"
    )
    return [value for (value,) in connection.execute(sql, bound)]


def stats(connection: apsw.Connection, filters: Filters, vaults: Sequence[Vault]) -> CatalogStats:
    """Count the memories that satisfy `filters`."""
    numbered = vault_ids(connection, vaults)
    where, values = condition(filters, numbered)
    base = f"from memory join note on note.id = note_id where {where}"

    def count(sql: str) -> int:
        return int(connection.execute(sql, values).get or 0)

    def group(what: str, source: str = base) -> dict[str, int]:
        counted = rows(
            connection, f"select {what}, count(*) {source} group by 1 order by 2 desc, 1", values
        )
        return {str(key): number for key, number in counted if key is not None}

    chunk = f"from chunk where memory_id in (select memory.id {base})"
    window = f"from window where chunk_id in (select id {chunk})"
    link = f"from link where note_id in (select note.id {base})"
    by_vault = group("note.vault_id")
    return CatalogStats(
        notes=count(f"select count(*) {base}"),
        chunks=count(f"select count(*) {chunk}"),
        windows=count(f"select count(*) {window}"),
        pending=count(f"select count(*) {window} and not embedded"),
        links=count(f"select count(*) {link}"),
        unresolved=count(f"select count(*) {link} and how is null"),
        broken=count(f"select count(*) {base} and problem is not null"),
        types=group("type"),
        planes=group("plane"),
        tags=group("tag", f"from tag where memory_id in (select memory.id {base})"),
        vaults={numbered[int(key)].name: number for key, number in by_vault.items()},
    )


def _entry(connection: apsw.Connection, row: Row, vaults: dict[int, Vault]) -> MemoryEntry:
    note, uid, kind, plane, title, vault, path, created, updated, date, memory = row
    return MemoryEntry(
        id=uid, type=kind, plane=plane, title=title, vault=vaults[vault].name, path=path,
        tags=tags(connection, memory), created=created, updated=updated, date=date, note_id=note,
    )  # fmt: skip


def _exact(name: str, targets: Iterable[LinkTarget]) -> list[int]:
    """By vault and path, which is one note, else by id or as a path in any vault."""
    for target in targets:
        if name == f"{target.vault}:{target.path}":
            return [target.key]
    return [
        target.key
        for target in targets
        if name in (target.id, target.path, f"{target.vault}/{target.path}")
    ]


def _resolve(name: str, targets: Iterable[LinkTarget], vaults: Sequence[Vault]) -> list[int]:
    written = name.strip().removeprefix("[[").removesuffix("]]").removesuffix(".md")
    if not written:
        return []
    keys: dict[int, None] = {}
    for vault in vaults:
        own = [target for target in targets if target.vault == vault.name]
        resolver = Resolver(own, dialects={vault.name: vault.dialect})
        result = resolver.resolve(written, source_vault=vault.name, source_path="")
        if result.key is not None:
            keys.update(dict.fromkeys(result.ambiguous or (result.key,)))
    return list(keys)


def _link_ends(
    connection: apsw.Connection, here: str, there: str, note: int, vaults: dict[int, Vault]
) -> Links:
    ends = connection.execute(
        "select target, title, vault_id, path, line, field, embed, how, candidates from link "
        f"left join note on note.id = link.{there} left join memory on memory.note_id = note.id "
        f"where link.{here} = ? order by path, line, start",
        (note,),
    )
    return tuple(
        LinkEnd(
            target, title, vaults[vault].name if vault is not None else None, path, line, field,
            bool(embed), how, bool(candidates),
        )
        for target, title, vault, path, line, field, embed, how, candidates in ends
        if vault is None or vault in vaults
    )  # fmt: skip
