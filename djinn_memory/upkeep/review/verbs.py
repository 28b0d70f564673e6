"""Operations on the inbox: list and show what waits, accept and dismiss it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import get_args

from msgspec.structs import replace

from djinn_memory.errors import NotFound, Remedy, UsageError
from djinn_memory.operations.operation import Namespace, operation
from djinn_memory.search.suggest import near_names
from djinn_memory.upkeep.review.requests import (
    AcceptReview,
    DismissReview,
    ListReview,
    ReviewItem,
    ReviewKind,
    ReviewList,
    ReviewReport,
    ShowReview,
)
from djinn_memory.upkeep.review.sources import SOURCES, Decision

_LISTING = Remedy("review.list", purpose="list what waits")


class Review(Namespace, name="review"):
    """What waits for a decision of a person."""

    @operation(ListReview, rights="person")
    def list(self, request: ListReview) -> ReviewList:
        """List what waits for a decision, the gravest kind first and the newest of a kind first.

        With an agent, what concerns this agent alone.
        """
        items = self._items(request.agent)
        chosen = [entry for entry in items if request.kind in (None, entry.kind)]
        kinds = Counter[str](entry.kind for entry in items)
        return ReviewList(tuple(chosen[: request.limit]), len(chosen), {**kinds})

    @operation(ShowReview, rights="person", positional=("name",))
    def show(self, request: ShowReview) -> ReviewItem:
        """Show an item. Raises `NotFound` with similar ids."""
        [entry] = _named(self._items(request.agent), [request.name])
        return entry

    @operation(AcceptReview, writes=True, rights="person", positional=("items",))
    def accept(self, request: AcceptReview) -> ReviewReport:
        """Carry out what items propose. `djinn undo` takes changes of notes back.

        An item that cannot be carried out is a problem, and the others are carried out.
        """
        return self._decide(request)

    @operation(DismissReview, writes=True, rights="person", positional=("items",))
    def dismiss(self, request: DismissReview) -> ReviewReport:
        """Dismiss items. They do not come back for the same reason."""
        return self._decide(request)

    def _items(self, agent: str | None) -> Sequence[ReviewItem]:
        order = [*get_args(ReviewKind)]
        sources = SOURCES.values()
        listed = [entry for source in sources for entry in source.items(self.runtime, agent)]
        listed.sort(key=lambda entry: entry.since, reverse=True)
        listed.sort(key=lambda entry: order.index(entry.kind))
        return [replace(entry, number=number) for number, entry in enumerate(listed, 1)]

    def _decide(self, request: AcceptReview | DismissReview) -> ReviewReport:
        if bool(request.items) == bool(request.all):
            raise UsageError(
                "both items and a kind are given" if request.all else "no items are given",
                Remedy(purpose="give the numbers or ids of items"),
                Remedy("", {"all": None}, "choose all of a kind"),
            )
        items = self._items(request.agent)
        if request.all:
            chosen: Sequence[ReviewItem] = [entry for entry in items if entry.kind == request.all]
        else:
            chosen = _named(items, request.items)
        decision = Decision(self.runtime, request)
        for kinds, source in SOURCES.items():
            if own := [entry for entry in chosen if entry.kind in kinds]:
                source.decide(decision, own)
        return ReviewReport(tuple(decision.done), tuple(decision.changes), tuple(decision.problems))


def _named(items: Sequence[ReviewItem], names: Sequence[str]) -> Sequence[ReviewItem]:
    """The items with these ids or numbers, each once. `NotFound` suggests similar ids."""
    by_name = {f"{entry.number}": entry for entry in items} | {entry.id: entry for entry in items}
    for name in names:
        if name not in by_name:
            near = " or ".join(near_names(name, [entry.id for entry in items]))
            remedy = Remedy(purpose=f"did you mean {near}?") if near else _LISTING
            raise NotFound(f"no item {name!r} waits", remedy)
    return [*{by_name[name].id: by_name[name] for name in names}.values()]
