"""What `djinn remember` prints with `--json`."""

from __future__ import annotations

from djinn_memory.memories.writing.remember import RememberResult


class Remember(
    RememberResult,
    frozen=True,
    tag="djinn.remember/1",
    tag_field="schema",
    forbid_unknown_fields=True,
):
    """What was written."""
