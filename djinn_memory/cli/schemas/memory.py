"""What `djinn memory` prints with `--json`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from djinn_memory.memories.catalog.catalog import CatalogStats, MemoryDetail
from djinn_memory.memories.purge import PurgeReport
from djinn_memory.models import Memory, Problem, SearchResult


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
    MemoryDetail,
    frozen=True,
    tag="djinn.memory.show/1",
    tag_field="schema",
    forbid_unknown_fields=True,
):
    """A whole memory."""


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


class MemoryStats(
    CatalogStats,
    frozen=True,
    tag="djinn.memory.stats/1",
    tag_field="schema",
    forbid_unknown_fields=True,
):
    """How much there is in the vaults that the agent sees."""

    problems: Sequence[Problem] = ()
