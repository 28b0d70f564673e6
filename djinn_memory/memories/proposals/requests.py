"""Requests and answers about proposals. The module is cheap to import for front ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from djinn_memory.models import Problem
from djinn_memory.search.narrowing import AgentName, OnlyAgent

ProposalStatus = Literal["open", "accepted", "dismissed", "withdrawn"]


class ListProposals(Struct, frozen=True):
    """List the open proposals of upkeep, oldest first."""

    kind: Annotated[
        Annotated[str, Meta(max_length=40)] | None, Meta(description="Only proposals of this kind.")
    ] = None
    all: Annotated[
        bool, Meta(description="Include proposals that were accepted, dismissed or withdrawn.")
    ] = False
    limit: Annotated[int, Meta(ge=1, le=100_000, description="Maximum number of proposals.")] = 50
    agent: OnlyAgent = None


class ShowProposal(Struct, frozen=True):
    """Show a proposal: its notes, its reason and its evidence."""

    proposal: Annotated[
        str,
        Meta(
            max_length=40,
            description="The id of the proposal: `prp_` or `con_` and ten characters.",
        ),
    ]
    agent: OnlyAgent = None


class _ChosenProposals(Struct, frozen=True):
    """A request about some proposals, or all."""

    proposals: Annotated[
        Sequence[Annotated[str, Meta(max_length=40)]],
        Meta(description="The ids of the proposals, as their list shows them."),
    ] = ()
    all: Annotated[
        bool, Meta(description="All open proposals but contradictions, instead of some ids.")
    ] = False
    kind: Annotated[
        Annotated[str, Meta(max_length=40)] | None,
        Meta(description="All open proposals of this kind, instead of some ids."),
    ] = None
    dry_run: Annotated[bool, Meta(description="Report what would be done, without doing it.")] = (
        False
    )
    agent: OnlyAgent = None


class AcceptProposals(_ChosenProposals, frozen=True):
    """Carry out proposals."""


class DismissProposals(_ChosenProposals, frozen=True):
    """Dismiss proposals. They are not made again."""


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
        Keep, Meta(description="The side that holds. The other is closed. `both` changes no note.")
    ]
    note: Annotated[
        Annotated[str, Meta(max_length=2000)] | None,
        Meta(description="Why it was settled so. The ledger keeps it."),
    ] = None
    agent: AgentName = None


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


class Proposal(Struct, frozen=True):
    """A change that upkeep proposes."""

    id: str
    """`prp_`, or `con_` for a contradiction, and ten characters: the same for the same kind and
    the same notes."""
    kind: str
    """The kind, such as `archive`."""
    status: ProposalStatus
    """`open`; `accepted`, `dismissed`; or `withdrawn` when the reason no longer holds or a note has
    changed since."""
    reason: str
    """Why it is proposed, in one sentence."""
    evidence: tuple[str, ...]
    """The figures behind the reason, the deciding one first, such as `staleness 0.93`."""
    action: str
    """The effect of acceptance."""
    subjects: tuple[ProposalSubject, ...]
    """The notes and other subjects."""
    since: str
    """When it was made, as ISO 8601 in UTC."""
    agent: str | None
    """The agent whom it concerns; null for several agents."""
    change: str | None = None
    """The id of the change that carried it out, which `djinn undo` accepts; null if there is
    none."""


class ProposalList(Struct, frozen=True):
    """The proposals of upkeep."""

    proposals: tuple[Proposal, ...]
    """The proposals, oldest first."""
    total: int
    """The number of proposals, also of those that the limit leaves out."""
    kinds: dict[str, int]
    """The number of open proposals of each kind."""


class ProposalView(Struct, frozen=True):
    """A proposal."""

    proposal: Proposal
    """The proposal."""


class ProposalReport(Struct, frozen=True):
    """The proposals that were accepted or dismissed."""

    proposals: tuple[Proposal, ...]
    """The proposals, with their new status. In a dry run they are still open."""
    change: str | None = None
    """The id of the change that carried them out; null if no note changed."""
    problems: tuple[Problem, ...] = ()
    """Proposals that were not carried out, and why."""
