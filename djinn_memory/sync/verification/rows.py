"""Compares the rows that follow from notes on the server with what the notes say."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from uuid import uuid5

from djinn_memory.models import Progress
from djinn_memory.store.postgres.index import comparison
from djinn_memory.store.postgres.notes import ServerNote
from djinn_memory.store.postgres.projections import differences, stats
from djinn_memory.store.postgres.projections.note_tables import LostName
from djinn_memory.store.postgres.projections.tables import FACTS, SUMMARY, NoteRow, Row
from djinn_memory.store.postgres.values import clean
from djinn_memory.sync.notes import derived
from djinn_memory.sync.notes.link import VaultLink
from djinn_memory.sync.projections.pushed_notes import PushedNote, project

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
    with link.reading() as tx:
        pending = stats.waiting_notes(tx, link.scope, "rows")
        unembedded = stats.waiting_notes(tx, link.scope, "vectors") - pending
        lost = differences.lost_names(tx, link.scope)
        for start in range(0, len(notes), BATCH):
            page = notes[start : start + BATCH]
            ids = [note.note_id for note in page]
            here = {note.note_id: note for note in _indexed(link, page)}
            listed = [(note.note_id, note.rows) for note in here.values()]
            indexed = comparison.differing_tables(tx, link.scope, listed, embeds=embeds)
            expected = [
                row for own in here.values() for row in _expected(link, own, lost[own.note_id])
            ]
            projected = differences.differing_tables(tx, link.scope, ids, expected)
            for note in page:
                own = here.get(note.note_id)
                if note.note_id in pending:
                    yield note.path, "has no rows on the server yet; run `djinn sync run`"
                elif own:
                    tables = [*projected[note.note_id], *indexed[note.note_id]]
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


def _expected(link: VaultLink, note: PushedNote, lost: Collection[LostName]) -> list[NoteRow]:
    """The rows that a note has, without those that other notes have in its place."""
    names = {(kind, name) for kind, name, _ in lost}
    taken = {uuid5(link.scope, name) for kind, name in names if kind == "id"}
    return [
        row
        for row in project(link.scope, link.vault, note, link.runtime.now(), taken)
        if not (row.table is FACTS and _fact_name(row.values) in names)
        and not (row.table is SUMMARY and ("summary", "") in names)
    ]


def _fact_name(row: Row) -> tuple[str, str]:
    return "fact", clean(f"{row['category']}/{row['key']}")
