"""What `djinn summary` prints with `--json`."""

from __future__ import annotations

from collections.abc import Sequence

from djinn_memory.memories.sessions.requests import NarrativeSummary, SummaryChange
from djinn_memory.models import Problem


class SummaryShow(
    NarrativeSummary,
    frozen=True,
    tag="djinn.summary.show/1",
    tag_field="schema",
    forbid_unknown_fields=True,
):
    """The summary."""

    problems: Sequence[Problem] = ()


class SummarySet(
    SummaryChange,
    frozen=True,
    tag="djinn.summary.set/1",
    tag_field="schema",
    forbid_unknown_fields=True,
):
    """What became of a summary that was set or built."""
