"""Compares the rows that follow from notes on the server with what the notes say."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from uuid import UUID, uuid5

from djinn_memory.models import Progress
from djinn_memory.store.postgres.connection import reading
from djinn_memory.store.postgres.index.comparison import differing_rows
from djinn_memory.store.postgres.notes import ServerNote
from djinn_memory.store.postgres.seeds import stats, stored_rows
from djinn_memory.store.postgres.seeds.projections import LostName
from djinn_memory.store.postgres.seeds.seed_rows import (
    NOTE_TABLES,
    MemoryFactRow,
    MemorySummaryRow,
    SeedRow,
)
from djinn_memory.store.postgres.values import clean
from djinn_memory.sync.notes import derived
from djinn_memory.sync.notes.link import VaultLink
from djinn_memory.sync.projections import PushedNote, project

BATCH = 500
"""Number of notes whose rows are compared at once."""

REPAIR = "run `djinn sync backfill --all`"
"""The remedy for rows and bytes that differ from what this home has."""


def differing(link: VaultLink, notes: Sequence[ServerNote]) -> Iterator[tuple[str, str]]:
    """The paths of those notes whose rows differ, and how. This home has the same version of all.

    The vectors themselves are not compared: a row may only lack one that this home has.
    """
    embedder = link.runtime.models.embedder
    embeds = embedder is not None and embedder.identity == link.model.identity
    with reading(link.connection, link.address) as tx:
        pending = stats.waiting_notes(tx, link.scope, "rows")
        unembedded = stats.waiting_notes(tx, link.scope, "vectors") - pending
        lost = stored_rows.lost_names(tx, link.scope)
        for start in range(0, len(notes), BATCH):
            page = notes[start : start + BATCH]
            ids = [note.note_id for note in page]
            rows = stored_rows.rows_of_notes(tx, link.scope, ids)
            here = {note.note_id: note for note in _indexed(link, page)}
            listed = [(note.note_id, note.rows) for note in here.values()]
            indexed = differing_rows(tx, link.scope, listed, embeds=embeds)
            for note in page:
                own = here.get(note.note_id)
                if note.note_id in pending:
                    yield note.path, "has no rows on the server yet; run `djinn sync run`"
                elif own:
                    expected = _expected(link, own, lost.get(note.note_id, ()))
                    tables = [*_tables(note.note_id, expected, rows), *indexed[note.note_id]]
                    if tables:
                        yield note.path, f"does not match its rows in {', '.join(tables)}; {REPAIR}"
                    elif note.note_id in unembedded and _is_embedded(own):
                        yield note.path, "lacks vectors on the server; run `djinn sync backfill`"
            done = start + len(page)
            link.runtime.progress(Progress("check", done, len(notes), link.vault.name))


def _is_embedded(note: PushedNote) -> bool:
    return all(
        window.vector is not None
        for memory in note.rows.memories
        for chunk in memory.chunks
        for window in chunk.windows
    )


def _indexed(link: VaultLink, notes: Sequence[ServerNote]) -> list[PushedNote]:
    changes = [change for note in notes if (change := derived.unchanged(link, note))]
    return derived.indexed(link, changes)


def _expected(link: VaultLink, note: PushedNote, lost: Collection[LostName]) -> list[SeedRow]:
    """The rows that a note has, without those that other notes have in its place."""
    names = {(lost_name.kind, lost_name.name) for lost_name in lost}
    taken = {uuid5(link.scope, name) for kind, name in names if kind == "id"}
    return [
        row
        for row in project(link.scope, link.vault, note, link.runtime.now(), taken)
        if not (isinstance(row, MemoryFactRow) and _fact_name(row) in names)
        and not (isinstance(row, MemorySummaryRow) and ("summary", "") in names)
    ]


def _fact_name(row: MemoryFactRow) -> tuple[str, str]:
    return "fact", clean(f"{row.category}/{row.key}")


def _tables(
    note_id: UUID, expected: Sequence[SeedRow], rows: Mapping[tuple[UUID, str], list[str]]
) -> Iterator[str]:
    """The tables in which the rows of a note differ."""
    for kind, table in NOTE_TABLES.items():
        wanted = [stored_rows.as_stored(row) for row in expected if type(row) is kind]
        if sorted(wanted) != sorted(rows.get((note_id, table), [])):
            yield table
