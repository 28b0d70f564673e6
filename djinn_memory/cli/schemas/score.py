"""What `djinn score` prints with `--json`."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from djinn_memory.memories.recall.scores import MemoryScore
from djinn_memory.models import Problem


class ScoreShow(Struct, tag="djinn.score.show/1", tag_field="schema", forbid_unknown_fields=True):
    """What use and ratings say of memories."""

    scores: Sequence[MemoryScore]
    """Of the memory that was named, else of all that were used or rated, the last first."""
    problems: Sequence[Problem] = ()
