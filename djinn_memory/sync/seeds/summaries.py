"""Rows of `memory_summary`, from the notes of summaries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from djinn_memory.memories.sessions.summary import TITLE, TYPE
from djinn_memory.notes.slugs import fold
from djinn_memory.store.postgres.seeds.seed_rows import MemorySummaryRow
from djinn_memory.sync.seeds.seed_memory import SeedMemory, time_of


def rows(memories: Sequence[SeedMemory]) -> Iterator[MemorySummaryRow]:
    """The row of the summary in a note, unless another one superseded it."""
    for memory in memories:
        rows, superseded = memory.rows, fold(memory.text("status") or "") == "superseded"
        if (rows.type, rows.title, rows.block) == (TYPE, TITLE, None) and not superseded:
            note = memory.note
            changed = time_of(rows.updated) or time_of(rows.created)
            yield MemorySummaryRow(note.text[note.body :].strip(), changed, memory.name)
