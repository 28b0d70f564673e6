"""Requests about contradictions. The module is cheap to import for front ends."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from djinn_memory.search.narrowing import AgentName

SETTLED = "contradiction.settled"
"""The kind of the events. There is one for the contradiction, and one for each of its memories."""

Keep = Literal["A", "B", "both"]


class ListContradictions(Struct, frozen=True):
    """List memories that contradict each other and both hold now."""

    limit: Annotated[
        int, Meta(ge=1, le=1000, description="The maximum number of contradictions.")
    ] = 50
    agent: AgentName = None


class SettleContradiction(Struct, frozen=True):
    """Settle a contradiction: close one of its sides, or record that both hold."""

    contradiction: Annotated[
        str, Meta(max_length=40, description="The id of the contradiction, such as con_....")
    ]
    keep: Annotated[
        Keep,
        Meta(description="The side that holds. The other is closed. `both` changes no note."),
    ]
    note: Annotated[
        Annotated[str, Meta(max_length=2000)] | None,
        Meta(description="Why it was settled so. The ledger keeps it."),
    ] = None
    agent: AgentName = None
