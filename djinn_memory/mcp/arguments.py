"""Arguments of tools that differ from the fields of the requests."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import NODEFAULT, Meta, Struct

NARROWING_HINTS = {
    "vaults": "Only these vaults.",
    "types": "Only these, such as decision.",
    "tags": "Only with all of these.",
    "since": "2026-03-01, 2026-03 or 30d.",
    "until": "Inclusive.",
    "as_of": "What held on this day.",
}
"""Descriptions of the narrowing arguments, for the tools that have them."""

NAME_HINT = "An id, vault:path, path, title or alias."


class Argument(Struct, frozen=True):
    """An argument that differs from the request's field, or that only the tool has."""

    type: Any
    default: Any = None


def required_text(most: int, description: str) -> Argument:
    """A required text of 1 to `most` characters."""
    meta = Meta(min_length=1, max_length=most, description=description)
    return Argument(Annotated[str, meta], NODEFAULT)


def optional_text(most: int, description: str, *, least: int | None = None) -> Argument:
    """An optional text of `least` to `most` characters."""
    meta = Meta(min_length=least, max_length=most, description=description)
    return Argument(Annotated[str, meta] | None)


def number(
    least: int, most: int, description: str | None = None, default: int | None = None
) -> Argument:
    """An optional whole number within bounds."""
    kind = Annotated[int, Meta(ge=least, le=most, description=description)]
    return Argument(kind | None if default is None else kind, default)
