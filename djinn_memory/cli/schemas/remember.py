"""What `djinn remember` prints with `--json`."""

from __future__ import annotations

from djinn_memory.memories.remember import Remembered


class Remember(
    Remembered, frozen=True, tag="djinn.remember/1", tag_field="schema", forbid_unknown_fields=True
):
    """What was written."""
