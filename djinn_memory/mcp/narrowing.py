"""The arguments by which several tools are narrowed to some memories."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

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
