"""What `djinn gap` prints with `--json`."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from djinn_memory.memories.recall.gaps import GapGroup, GapSuggestion
from djinn_memory.models import Problem
from djinn_memory.store.ledger.reading import Gap


class GapList(Struct, tag="djinn.gap.list/1", tag_field="schema", forbid_unknown_fields=True):
    """What an agent looked for in vain."""

    groups: Sequence[GapGroup]
    """Gaps about one thing are one group; the oldest first."""
    problems: Sequence[Problem] = ()


class GapReport(Struct, tag="djinn.gap.report/1", tag_field="schema", forbid_unknown_fields=True):
    """A gap that was told of."""

    gap_id: str
    """What `djinn gap close` takes."""
    problems: Sequence[Problem] = ()


class GapClose(Struct, tag="djinn.gap.close/1", tag_field="schema", forbid_unknown_fields=True):
    """A gap that was closed."""

    gap: Gap
    """As it is now."""
    problems: Sequence[Problem] = ()


class GapSuggest(Struct, tag="djinn.gap.suggest/1", tag_field="schema", forbid_unknown_fields=True):
    """Notes that may answer open gaps."""

    suggestions: Sequence[GapSuggestion]
    """One for each gap that a note written since may answer."""
    problems: Sequence[Problem] = ()
