"""Proposals of statements that are less sure."""

from __future__ import annotations

from collections.abc import Sequence

from djinn_memory.memories.sessions.extraction.claims import Claim
from djinn_memory.runtime import Runtime


def propose(runtime: Runtime, agent: str, session: str, claims: Sequence[Claim]) -> None:
    """Propose claims of an agent, each with its evidence, to be accepted one by one or together."""
