"""The size of an index, and of a part of a list, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from djinn_memory.cli.output import talk
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.store.index.records import CatalogStats


def sizes(stats: CatalogStats) -> str:
    """Such as `2 notes, 5 chunks`, and the number of memories where a note has several."""
    several = stats.memories != stats.notes
    memories = f"{count(stats.memories, 'memory')}, " if several else ""
    return f"{count(stats.notes, 'note')}, {memories}{count(stats.chunks, 'chunk')}"


def print_page(skip: int, shown: int, total: int, noun: str) -> None:
    """Print on stderr which part of a list is shown, if it is not the whole list."""
    if 0 < shown < total:
        end = skip + shown
        following = f"; --offset {end} shows the next" if end < total else ""
        talk(f"{skip + 1:,} to {end:,} of {count(total, noun)}{following}")
