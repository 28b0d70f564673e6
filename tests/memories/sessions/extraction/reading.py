"""Reads messages as extraction does without the model."""

from __future__ import annotations

from datetime import datetime

from djinn_memory.memories.sessions.extraction.claims import Claim
from djinn_memory.memories.sessions.extraction.rules import settled, told_in


def claims_in(text: str, said: datetime, *, personal: bool = True) -> list[Claim]:
    """The claims in a message that its words alone prove, in order."""
    return settled([*told_in(text, said, personal=personal)], None)
