"""What `djinn recall` and `djinn rate` print with `--json`."""

from __future__ import annotations

from collections.abc import Sequence

from djinn_memory.memories.recall.rating import RatingResult
from djinn_memory.memories.recall.recall import RecallResult
from djinn_memory.models import Problem


class Recall(
    RecallResult, frozen=True, tag="djinn.recall/1", tag_field="schema", forbid_unknown_fields=True
):
    """The answer to one recall."""


class Rate(
    RatingResult, frozen=True, tag="djinn.rate/1", tag_field="schema", forbid_unknown_fields=True
):
    """What was rated."""

    problems: Sequence[Problem] = ()
