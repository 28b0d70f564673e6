"""What `djinn wake`, `checkpoint` and `sleep` print with `--json`."""

from __future__ import annotations

from djinn_memory.memories.sessions.requests import WakeContext
from djinn_memory.memories.writing.remember import RememberResult


class Wake(
    WakeContext, frozen=True, tag="djinn.wake/1", tag_field="schema", forbid_unknown_fields=True
):
    """The context to start with."""


class Checkpoint(
    RememberResult,
    frozen=True,
    tag="djinn.checkpoint/1",
    tag_field="schema",
    forbid_unknown_fields=True,
):
    """The note that was written."""


class Sleep(
    RememberResult, frozen=True, tag="djinn.sleep/1", tag_field="schema", forbid_unknown_fields=True
):
    """The handoff that was written."""
