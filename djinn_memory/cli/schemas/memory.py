"""What `djinn memory` prints with `--json`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from djinn_memory.memories.catalog.catalog import CatalogStats, LinkEnd
from djinn_memory.models import Memory, Problem, SearchResult
from djinn_memory.upkeep.purge import PurgeReport


class Search(
    SearchResult, frozen=True, tag="djinn.search/1", tag_field="schema", forbid_unknown_fields=True
):
    """The answer to one search."""


class MemoryList(Struct, tag="djinn.memory.list/1", tag_field="schema", forbid_unknown_fields=True):
    """Memories, without a question asked."""

    memories: Sequence[Memory]
    """The newest first."""
    problems: Sequence[Problem] = ()


class MemoryShow(
    Memory, frozen=True, tag="djinn.memory.show/1", tag_field="schema", forbid_unknown_fields=True
):
    """A whole memory."""

    aliases: Sequence[str]
    """Its other names."""
    fields: dict[str, list[str]]
    """Its front matter as text, one value or many for each field; dotted names for fields within
    fields."""
    text: str
    """The whole file, front matter included, as it stands on the disk now."""
    links: Sequence[LinkEnd]
    """What it leads to, in the order of the text."""
    backlinks: Sequence[LinkEnd]
    """What leads to it, from the vaults that the agent sees."""
    problems: Sequence[Problem] = ()


class MemoryDelete(
    Struct, tag="djinn.memory.delete/1", tag_field="schema", forbid_unknown_fields=True
):
    """A memory that was, or would be, moved to the trash."""

    memory: Memory
    """What the name on the command line means."""
    moved_to: Path | None
    """Where its file lies now; null when it stays, for `--dry-run` or a no to the question."""
    problems: Sequence[Problem] = ()


class MemoryPurge(
    PurgeReport,
    frozen=True,
    tag="djinn.memory.purge/1",
    tag_field="schema",
    forbid_unknown_fields=True,
):
    """A memory that was removed for good."""

    purged: bool = False
    """False for `--dry-run` or a no to the question: then all is there still."""


class MemoryStats(
    CatalogStats,
    frozen=True,
    tag="djinn.memory.stats/1",
    tag_field="schema",
    forbid_unknown_fields=True,
):
    """How much there is in the vaults that the agent sees."""

    problems: Sequence[Problem] = ()
