"""Requests and answers about the inbox. The module is cheap to import for front ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from djinn_memory.memories.proposals.requests import Keep, ProposalSubject
from djinn_memory.models import Problem
from djinn_memory.search.narrowing import DryRun, OnlyAgent

ReviewKind = Literal[
    "conflict", "contradiction", "extraction", "statement", "merge", "gap", "archive"
]
"""The kinds of items, the gravest first."""

_Note = Annotated[
    Annotated[str, Meta(max_length=2000)] | None,
    Meta(description="Why a contradiction is decided so. The ledger keeps it."),
]


class ListReview(Struct, frozen=True):
    """List what waits for a decision, the gravest and newest first."""

    kind: Annotated[ReviewKind | None, Meta(description="Only items of this kind.")] = None
    limit: Annotated[int, Meta(ge=1, le=100_000, description="Maximum number of items.")] = 50
    agent: OnlyAgent = None


class ShowReview(Struct, frozen=True):
    """Show an item: its notes, its reason and its evidence."""

    name: Annotated[str, Meta(max_length=200, description="The number or the id of an item.")]
    agent: OnlyAgent = None


class _DecideReview(Struct, frozen=True):
    """A request about some items, or all of a kind."""

    items: Annotated[
        Sequence[Annotated[str, Meta(max_length=200)]],
        Meta(description="The numbers or ids of items, as the list shows them."),
    ] = ()
    all: Annotated[
        ReviewKind | None, Meta(description="All items of this kind, instead of some.")
    ] = None
    note: _Note = None
    dry_run: DryRun = False
    agent: OnlyAgent = None


class AcceptReview(_DecideReview, frozen=True):
    """Carry out what items propose."""

    keep: Annotated[
        Keep | None,
        Meta(
            description="The side of a contradiction that holds. The other is closed. `both` "
            "changes no note."
        ),
    ] = None


class DismissReview(_DecideReview, frozen=True):
    """Dismiss items. They do not come back for the same reason."""


class ReviewItem(Struct, frozen=True):
    """Something that waits for a decision."""

    number: int
    """The place in the list, from 1. It changes when items come and go."""
    id: str
    """The id, which stays: of a proposal or a contradiction, of a copy, or the name of a session.
    """
    kind: ReviewKind
    """The kind."""
    title: str
    """What it is about."""
    reason: str
    """Why it waits, in one sentence."""
    action: str
    """What accepting it changes."""
    evidence: tuple[str, ...]
    """The figures or the statements behind the reason."""
    subjects: tuple[ProposalSubject, ...]
    """The notes and other subjects."""
    since: str
    """Since when it waits, as ISO 8601; of a contradiction the newer of its two dates."""
    agent: str | None
    """The agent whom it concerns; null for several agents."""


class ReviewList(Struct, frozen=True):
    """What waits for a decision."""

    items: tuple[ReviewItem, ...]
    """The items, the gravest kind first and the newest of a kind first."""
    total: int
    """The number of items, also of those that the limit leaves out."""
    kinds: dict[str, int]
    """The number of items of each kind."""


class ReviewReport(Struct, frozen=True):
    """The items that were accepted or dismissed, or would be."""

    items: tuple[ReviewItem, ...]
    """The items."""
    changes: tuple[str, ...] = ()
    """The ids of the changes of notes, which `djinn undo` takes back."""
    problems: tuple[Problem, ...] = ()
    """Items that were not decided, and why."""
