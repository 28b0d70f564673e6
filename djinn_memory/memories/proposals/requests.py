"""Values of proposals that answers and requests have. The module is cheap to import."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

ProposalStatus = Literal["open", "accepted", "dismissed", "withdrawn"]
Keep = Literal["A", "B", "both"]


class ProposalSubject(Struct, frozen=True):
    """A subject of a proposal, such as a note."""

    name: str
    """The address of the memory, or the id of another subject, such as a gap."""
    title: str | None
    """The title; null if it no longer exists."""
    vault: str | None = None
    """The vault of the memory; null for another subject."""
    path: str | None = None
    """The path of the memory in its vault; null for another subject."""
