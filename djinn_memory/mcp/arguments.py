"""Arguments of tools that differ from the fields of the requests."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import NODEFAULT, Meta, Struct

NARROWING_HINTS = {
    "vaults": "Only these values.",
    "types": "Only these, such as decision.",
    "tags": "Only with all of these.",
    "since": "2026-03-01, 2026-03 or 30d.",
    "until": "Inclusive.",
}
"""What narrows a request, for the tools that offer it."""

NAME_HINT = "An id, vault:path, path, title or alias."


class Argument(Struct, frozen=True):
    """An argument that differs from the request's field, or that only the tool knows."""

    type: Any
    default: Any = None


def required_text(most: int, description: str) -> Argument:
    """A text of 1 to `most` characters that every call has to give."""
    meta = Meta(min_length=1, max_length=most, description=description)
    return Argument(Annotated[str, meta], NODEFAULT)


def optional_text(most: int, description: str, *, least: int | None = None) -> Argument:
    """A text of `least` to `most` characters that may be left out."""
    meta = Meta(min_length=least, max_length=most, description=description)
    return Argument(Annotated[str, meta] | None)


def number(
    least: int, most: int, description: str | None = None, default: int | None = None
) -> Argument:
    """A whole number within bounds that may be left out."""
    kind = Annotated[int, Meta(ge=least, le=most, description=description)]
    return Argument(kind | None if default is None else kind, default)
