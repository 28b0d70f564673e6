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
    """The domain of the episode; the first one if somebody wrote several."""
    entities: tuple[str, ...] = ()
    """The names in the episode."""
    more_domains: tuple[str, ...] = ()
    """Its other domains."""

    @property
    def domains(self) -> tuple[str, ...]:
        """All its domains."""
        return self.more_domains if self.domain is None else (self.domain, *self.more_domains)
