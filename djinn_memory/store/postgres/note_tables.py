"""The tables that other programs read, as data, and the writer of their rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal, NamedTuple
from uuid import UUID

from djinn_memory.store.postgres.values import Row, clean, insert_rows

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor


class NoteTable(NamedTuple):
    """A table whose rows follow from single notes."""

    name: str
    key: str | None = None
    """The column with the id of a memory: the UUID5 of `djinn_id` in the scope."""
    vector: str | None = None
    """The column with a vector."""
    kind: Literal["fact", "summary"] | None = None
    """The kind of a name that belongs to one row of a scope; see `LostName`."""
    named_by: tuple[str, ...] = ()
    """The columns that make up that name."""


class NoteRow(NamedTuple):
    """A row that follows from a note. Its column `note_id` names the note."""

    table: NoteTable
    values: Row

    @property
    def name(self) -> tuple[str | None, str]:
        """The kind and the name that belong to this row alone; None for the kind if none does."""
        names = (clean(self.values[column]) for column in self.table.named_by)
        return self.table.kind, "/".join(names)


EPISODES = NoteTable("episodic_memories", "memory_id", "content_embedding")
PATTERNS = NoteTable("semantic_patterns", "pattern_id", "pattern_embedding")
OUTCOMES = NoteTable("action_outcome_mappings", "mapping_id")
ENTITIES = NoteTable("knowledge_entities", "entity_id", "entity_embedding")
RELATIONS = NoteTable("knowledge_relations")
DOCUMENTS = NoteTable("documents", "document_id")
DOCUMENT_CHUNKS = NoteTable("document_chunks", vector="chunk_embedding")
FACTS = NoteTable("memory_facts", "id", "embedding", "fact", ("category", "key"))
SUMMARY = NoteTable("memory_summary", kind="summary")

NOTE_TABLES = (
    EPISODES, PATTERNS, OUTCOMES, ENTITIES, RELATIONS, DOCUMENTS, DOCUMENT_CHUNKS, FACTS, SUMMARY,
)  # fmt: skip
"""The tables whose rows follow from notes. A table stands behind those that it refers to."""


class LostName(NamedTuple):
    """A name that one row of a scope has, and another note that would give its row the name."""

    kind: Literal["fact", "summary", "id"]
    name: str
    note: UUID


def remove(tx: Cursor, scope: UUID, note_ids: Collection[UUID]) -> set[UUID]:
    """Remove the rows that follow from notes. The caller's transaction has the scope's lock.

    Returns the other notes that lost a name to these rows, which are to be written again.
    """
    notes = list(note_ids)
    tx.execute(
        "select distinct note_id from outranked_notes "
        "where user_id = %(scope)s and not note_id = any(%(notes)s) "
        f"and (kind, name) in (select kind, name from ({_NAMES}) as own)".encode(),
        {"scope": scope, "notes": notes},
    )
    waiting = {note for (note,) in tx.fetchall()}
    names = _entity_names(tx, scope, notes)
    for table in ("outranked_notes", *(table.name for table in reversed(NOTE_TABLES))):
        sql = f"delete from {table} where user_id = %s and note_id = any(%s)"
        tx.execute(sql.encode(), (scope, notes))
    if names:
        resolve_relations(tx, scope, names)
    return waiting


def row_names(where: str) -> str:
    """A query for the names of rows, as `LostName` has them, each with its note."""
    names = [(table, "id", "djinn_id") for table in NOTE_TABLES if table.key]
    names += [
        (table, table.kind, " || '/' || ".join(table.named_by) or "''")
        for table in NOTE_TABLES
        if table.kind
    ]
    return " union all ".join(
        f"select '{kind}' as kind, {name} as name, note_id from {table.name} {where}"
        for table, kind, name in names
    )


_NAMES = row_names("where user_id = %(scope)s and note_id = any(%(notes)s)")


def mark_pending(
    tx: Cursor, scope: UUID, written: Collection[UUID], missing: Collection[UUID]
) -> None:
    """Record which notes have all their rows now, and of which they are still to be written."""
    tx.execute(
        "update notes set pending = note_id = any(%(missing)s) where user_id = %(scope)s "
        "and (note_id = any(%(missing)s) or pending and note_id = any(%(written)s))",
        {"scope": scope, "written": list(written), "missing": list(missing)},
    )


Lacking = Literal["rows", "vectors", "everything"]
"""The data that notes lack: their rows; vectors or rows; `everything` stands for all notes."""


def waiting_notes(
    tx: Cursor, scope: UUID, lacking: Lacking, note_ids: Sequence[UUID] | None = None
) -> set[UUID]:
    """The notes, or those of `note_ids`, that lack something on the server."""
    among = "" if note_ids is None else "and note_id = any(%(notes)s)"
    sql = f"select note_id from notes where user_id = %(scope)s and not deleted {among}"
    if lacking != "everything":
        sql += " and pending"
    if lacking == "vectors":
        for table in NOTE_TABLES:
            if table.vector:
                sql += (
                    f" union select note_id from {table.name} "
                    f"where user_id = %(scope)s and {table.vector} is null {among}"
                )
        sql += (
            " union select memory.note_id from index_windows as part join index_memories as memory "
            "on memory.user_id = part.user_id and memory.number = part.memory "
            f"where part.user_id = %(scope)s and part.vector is null {among}"
        )
    listed = list(note_ids or ())
    return {note for (note,) in tx.execute(sql.encode(), {"scope": scope, "notes": listed})}


def taken(tx: Cursor, scope: UUID, ids: Sequence[UUID]) -> set[UUID]:
    """The ids of memories, out of the given ones, that rows have already."""
    known: set[UUID] = set()
    for name, key, *_ in NOTE_TABLES:
        if key:
            sql = f"select {key} from {name} where user_id = %s and {key} = any(%s)"
            known |= {memory for (memory,) in tx.execute(sql.encode(), (scope, [*ids]))}
    return known


def insert(
    tx: Cursor, scope: UUID, rev: int, rows: Iterable[NoteRow], lost: Iterable[LostName] = ()
) -> None:
    """Write the rows of notes that have none yet. `lost` are the ids that other notes have."""
    from djinn_memory.store.postgres.event_tables import mark_episodes

    by_table: dict[NoteTable, list[Row]] = {table: [] for table in NOTE_TABLES}
    for row in rows:
        by_table[row.table].append(row.values)
    outranked = [*lost]
    for table, listed in by_table.items():
        if table.kind:
            listed = _last_changed(tx, scope, table, listed, outranked)
        insert_rows(tx, scope, rev, table.name, listed)
    if outranked:
        tx.executemany(
            "insert into outranked_notes (user_id, kind, name, note_id) values (%s, %s, %s, %s) "
            "on conflict do nothing",
            [(scope, *claim._replace(name=clean(claim.name))) for claim in outranked],
        )
    if episodes := [row["djinn_id"] for row in by_table[EPISODES]]:
        mark_episodes(tx, scope, episodes)
    if entities := [row["note_id"] for row in by_table[ENTITIES]]:
        resolve_relations(tx, scope, _entity_names(tx, scope, entities), entities)


def resolve_relations(
    tx: Cursor, scope: UUID, names: Sequence[str] | None = None, notes: Sequence[UUID] = ()
) -> None:
    """Find the entities that the relations of a scope name.

    With `names` only those relations are read that use one of them or follow from one of `notes`. A
    name of several entities means the first by its id.
    """
    narrowed = " and (target_key = any(%(names)s) or note_id = any(%(notes)s))"
    sql = _RESOLVE if names is None else _RESOLVE + narrowed
    tx.execute(sql.encode(), {"scope": scope, "names": [*(names or ())], "notes": [*notes]})


def _entity_names(tx: Cursor, scope: UUID, notes: Sequence[UUID]) -> list[str]:
    """The names, as they are compared, of the entities in some notes."""
    tx.execute(
        "select distinct unnest(name_keys) from knowledge_entities "
        "where user_id = %s and note_id = any(%s)",
        (scope, [*notes]),
    )
    return [name for (name,) in tx]


TARGET_ENTITY = (
    # Not by `limit 1`: the entities of the scope would be read in the order of their ids.
    "(select (array_agg(entity_id order by entity_id))[1] from knowledge_entities as entity "
    "where entity.user_id = %(scope)s and entity.name_keys @> array[relation.target_key])"
)

_RESOLVE = (
    f"update knowledge_relations as relation set target_entity_id = {TARGET_ENTITY} "
    f"where user_id = %(scope)s and target_entity_id is distinct from {TARGET_ENTITY}"
)


def _last_changed(
    tx: Cursor, scope: UUID, table: NoteTable, rows: Sequence[Row], outranked: list[LostName]
) -> list[Row]:
    """The rows to write. Of two notes with one name, the last one changed counts.

    The others are added to `outranked`, and removed if they are on the server.
    """
    kind, columns = table.kind, table.named_by
    assert kind
    best: dict[tuple[str, ...], Row] = {}
    for row in sorted(rows, key=_rank):
        name = tuple(clean(row[column]) for column in columns)
        if name in best:
            outranked.append(LostName(kind, "/".join(name), best[name]["note_id"]))
        best[name] = row
    if not best:
        return []
    names = {column: [name[at] for name in best] for at, column in enumerate(columns)}
    where = "".join(f" and {column} = any(%({column})s)" for column in columns)
    sql = f"select {', '.join(('note_id', 'updated_at', *columns))} from {table.name} "
    tx.execute(f"{sql} where user_id = %(scope)s{where}".encode(), {**names, "scope": scope})
    for note, updated, *values in tx.fetchall():
        name = tuple(values)
        # The condition is met by other pairs of these categories and keys too.
        if name not in best:
            continue
        stays = _rank({"note_id": note, "updated_at": updated}) > _rank(best[name])
        loser = best.pop(name)["note_id"] if stays else note
        outranked.append(LostName(kind, "/".join(name), loser))
        if not stays:
            sql = f"delete from {table.name} where user_id = %s and note_id = %s"
            tx.execute(sql.encode(), (scope, note))
    return [*best.values()]


def _rank(row: Row) -> tuple[float, str]:
    at: datetime | None = row["updated_at"]
    return at.timestamp() if at else 0.0, str(row["note_id"])
