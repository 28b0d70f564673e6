"""The arguments by which several tools are narrowed to some memories."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from djinn_memory.errors import UsageError
from djinn_memory.models import Filters
from djinn_memory.notes.dates import spoken_date

Types = Annotated[
    list[Annotated[str, Meta(max_length=100)]],
    Meta(
        max_length=20, description="Only memories of these types, such as decision, lesson, person."
    ),
]
Tags = Annotated[
    list[Annotated[str, Meta(max_length=200)]],
    Meta(max_length=20, description="Only memories with one of these tags, such as project/myapp."),
]
Vaults = Annotated[
    list[Annotated[str, Meta(max_length=64)]],
    Meta(max_length=20, description="Only these vaults, such as shared; leave out for all."),
]
Day = Annotated[str, Meta(max_length=40)]
Since = Annotated[Day, Meta(description="From this day on: 2026-03-01, 2026-03, 30d, yesterday.")]
Until = Annotated[Day, Meta(description="Up to this day, included.")]


def filters(
    types: list[str], tags: list[str], vaults: list[str], since: str, until: str
) -> Filters:
    """What a search, a recall or a list is narrowed to; `UsageError` for what is no day."""
    return Filters(
        vaults=tuple(vaults),
        types=tuple(types),
        tags=tuple(tags),
        since=_day("since", since),
        until=_day("until", until),
    )


def _day(name: str, text: str) -> str | None:
    found = spoken_date(text, datetime.now().astimezone()) if text else None
    if text and found is None:
        raise UsageError(f"{name}: {text!r} is no date; write 2026-03-01, 2026-03, 30d, yesterday")
    return found
