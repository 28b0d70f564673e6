"""An episode, as detection reads it. Cheap to import."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class Occasion(Struct, frozen=True):
    """An episode, as detection reads it."""

    at: datetime
    """Its time on the clock of the user."""
    text: str
    """The beginning of its message."""
    key: str
    """What identifies it, such as a link."""
    domain: str | None = None
    """The domain of the episode."""
    entities: tuple[str, ...] = ()
    """The names in the episode."""
