"""What `djinn recall` and `djinn rate` print with `--json`."""

from __future__ import annotations

from collections.abc import Sequence

from djinn_memory.memories.rating import Rated
from djinn_memory.memories.recall import Recalled
from djinn_memory.models import Problem


class Recall(
    Recalled, frozen=True, tag="djinn.recall/1", tag_field="schema", forbid_unknown_fields=True
):
    """The answer to one recall."""


class Rate(Rated, frozen=True, tag="djinn.rate/1", tag_field="schema", forbid_unknown_fields=True):
    """What was rated."""

    problems: Sequence[Problem] = ()
