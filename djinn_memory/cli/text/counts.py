"""The size of an index as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.store.index.records import CatalogStats


def sizes(stats: CatalogStats) -> str:
    """Such as `2 notes, 5 chunks`, and the number of memories where a note has several."""
    several = stats.memories != stats.notes
    memories = f"{count(stats.memories, 'memory')}, " if several else ""
    return f"{count(stats.notes, 'note')}, {memories}{count(stats.chunks, 'chunk')}"
