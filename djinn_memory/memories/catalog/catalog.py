"""What is remembered, without a question asked: list, show, count, and where a name leads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Literal

import apsw
from msgspec import Struct

from djinn_memory.errors import NotFound, UsageError
from djinn_memory.models import Filters, Memory, Vault
from djinn_memory.notes.link_resolution import LinkTarget, Resolver
from djinn_memory.search.filters import condition
from djinn_memory.search.hits import on_disk, tags
from djinn_memory.store.index import links
from djinn_memory.store.index.memories import vault_ids
from djinn_memory.store.sqlite import Row, rows


class MemoryEntry(Memory, frozen=True, kw_only=True):
    """A memory, and where the index keeps it."""

    note_id: int
    digest: bytes = b""
    """Of the bytes that its file had when a person was shown it; empty in a list."""


class LinkEnd(Struct, frozen=True):
    """A link as one of its two notes sees it."""

    target: str
    """As written."""
    title: str | None
    """The other note's title; None while the target is unresolved or no note."""
    vault: str | None
    """The other note's vault."""
    path: str | None
    """The other note's path."""
    line: int
    """Where the link stands, from 1; 0 for a field of the front matter."""
    field: str | None
    """The front matter's field that holds the link; None for one in the text."""
    embed: bool
    """Whether it shows what it leads to in its own place: `![[...]]`."""
    how: str | None
    """How the target was found, by `path`, `title` and so on; None while it is unresolved."""
    ambiguous: bool
    """Whether other notes could be meant as well."""


class MemoryDetail(Struct, frozen=True):
    """A whole memory."""

    entry: MemoryEntry
    aliases: tuple[str, ...]
    fields: tuple[tuple[str, str], ...]
    links: tuple[LinkEnd, ...]
    backlinks: tuple[LinkEnd, ...]
    problem: str | None


Known = Literal["tag", "type", "title", "document", "fact", "category", "key"]


class CatalogStats(Struct, frozen=True):
    """How much there is."""

    notes: int
    """One for each file."""
    chunks: int
    """The parts of notes that hits return."""
    windows: int
    """The parts of chunks that are embedded."""
    pending: int
    """Windows that wait for their vector."""
    links: int
    """Links in notes, embeds and links in front matter included."""
    unresolved: int
    """Links that lead nowhere."""
    broken: int
    """Notes with a problem, such as front matter that is no YAML."""
    types: dict[str, int]
    """Notes of each type, the most frequent first; likewise below."""
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
    """Memories that satisfy `filters` and are still on the disk, newest first.

    The first `skip` of them are left out.
    """
    numbered = vault_ids(connection, vaults)
    where, values = condition(filters, numbered)
    found = rows(connection, f"{_ENTRY} where {where} order by date desc, path", values)
    present = (row for row in found if on_disk(numbered[row[5]], row[6]))
    return [_entry(connection, row, numbered) for row in islice(present, skip, skip + limit)]


def find(connection: apsw.Connection, name: str, vaults: Sequence[Vault]) -> MemoryEntry:
    """The memory that `name` means: an id, a path, a title, alias or file name.

    A path may begin with `vault/`; `vault:path` is never ambiguous.

    Names resolve as links do. Raises `NotFound`, and `UsageError` with the choices when several
    notes could be meant.
    """
    numbered = vault_ids(connection, vaults)
    targets = {target.key: target for target in links.targets(connection, vaults)}
    keys = _exact(name, targets.values()) or _resolve(name, targets.values(), vaults)
    if len(keys) > 1:
        places = ", ".join(f"{targets[key].vault}:{targets[key].path}" for key in keys)
        raise UsageError(f"{name!r} could be any of: {places}; name one like that")
    found = rows(connection, f"{_ENTRY} where note.id = ?", tuple(keys)) if keys else []
    if not found or not on_disk(numbered[found[0][5]], found[0][6]):
        raise NotFound(
            f"no note {name!r}; give an id, a path or a title as `djinn memory list` shows them"
        )
    return _entry(connection, found[0], numbered)


def entry_of(connection: apsw.Connection, note_id: int, vaults: Sequence[Vault]) -> MemoryEntry:
    """The memory of a note of these vaults."""
    [row] = rows(connection, f"{_ENTRY} where note.id = ?", (note_id,))
    return _entry(connection, row, vault_ids(connection, vaults))


def detail(
    connection: apsw.Connection, entry: MemoryEntry, vaults: Sequence[Vault]
) -> MemoryDetail:
    """All that the index knows of a memory, with links both ways inside `vaults`."""
    numbered = vault_ids(connection, vaults)
    [(memory, problem)] = rows(
        connection,
        "select memory.id, problem from memory join note on note.id = note_id where note.id = ?",
        (entry.note_id,),
    )
    aliases = rows(connection, "select alias from alias where memory_id = ?", (memory,))
    fields = rows(connection, "select key, value from field where memory_id = ?", (memory,))
    return MemoryDetail(
        entry,
        tuple(alias for (alias,) in aliases),
        tuple(fields),
        tuple(_links(connection, "note_id", "target_note_id", entry.note_id, numbered)),
        tuple(_links(connection, "target_note_id", "note_id", entry.note_id, numbered)),
        problem,
    )


def known(connection: apsw.Connection, what: Known, vaults: Sequence[Vault]) -> list[str]:
    """All tags, types, titles or files of documents in these vaults, in alphabetical order."""
    where, values = condition(Filters(), vault_ids(connection, vaults))
    source = "memory join note on note.id = note_id"
    if what == "tag":
        source += " join tag on tag.memory_id = memory.id"
    column: str = what
    if what in ("fact", "category", "key"):
        where, column = f"{where} and type = 'fact'", "title" if what == "fact" else "value"
    if what in ("category", "key"):
        source += f" join field on field.memory_id = memory.id and field.key = '{what}'"
    if what == "document":
        source += " join field on field.memory_id = memory.id and key = 'filename'"
        where, column = f"{where} and plane = 'documents'", "value"
    sql = (
        f"select distinct {column} from {source} where {where} and {column} is not null order by 1"
    )
    return [name for (name,) in connection.execute(sql, values)]


def stats(connection: apsw.Connection, filters: Filters, vaults: Sequence[Vault]) -> CatalogStats:
    """Counts over the memories that satisfy `filters`."""
    numbered = vault_ids(connection, vaults)
    where, values = condition(filters, numbered)
    base = f"from memory join note on note.id = note_id where {where}"

    def count(sql: str) -> int:
        return int(connection.execute(sql, values).get or 0)

    def group(what: str, source: str = base) -> dict[str, int]:
        found = rows(
            connection, f"select {what}, count(*) {source} group by 1 order by 2 desc, 1", values
        )
        return {str(key): number for key, number in found if key is not None}

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
    found: dict[int, None] = {}
    for vault in vaults:
        own = [target for target in targets if target.vault == vault.name]
        resolver = Resolver(own, dialects={vault.name: vault.dialect})
        result = resolver.resolve(written, source_vault=vault.name, source_path="")
        if result.key is not None:
            found.update(dict.fromkeys(result.ambiguous or (result.key,)))
    return list(found)


def _links(
    connection: apsw.Connection, here: str, there: str, note: int, vaults: dict[int, Vault]
) -> list[LinkEnd]:
    found = []
    for target, title, vault, path, line, field, embed, how, candidates in connection.execute(
        "select target, title, vault_id, path, line, field, embed, how, candidates from link "
        f"left join note on note.id = link.{there} left join memory on memory.note_id = note.id "
        f"where link.{here} = ? order by path, line, start",
        (note,),
    ):
        if vault is not None and vault not in vaults:
            continue
        name = vaults[vault].name if vault is not None else None
        found.append(
            LinkEnd(target, title, name, path, line, field, bool(embed), how, bool(candidates))
        )
    return found
