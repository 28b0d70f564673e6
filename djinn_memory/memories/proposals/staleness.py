"""How stale a note is, from 0 to 1. Pure: the time is a parameter.

The staleness is what was forgotten after `idle` days, on a forgetting curve with the half-life `h`:

    staleness = 1 - 2 ** -(idle / h)

This is the half-life regression of Settles and Meeder ("A Trainable Spaced Repetition Model for
Language Learning", ACL 2016), in which each kind of use makes the half-life longer by a factor:

    h = half-life of the type
        * sqrt(1 + uses) * sqrt(1 + linking notes)
        * 2 ** (2 * usefulness - 1) * 2 ** (2 * importance - 1)
        * 1/4, if the note no longer holds

The square roots are their features for earlier exposures. They fit the weights to data; here each
weight is 1/2 or 1, so that a person can follow the numbers.
"""

from __future__ import annotations

import math

from msgspec import Struct

from djinn_memory.scoring import NEUTRAL

OVER_FACTOR = 0.25
"""A note that is expired, superseded or done becomes stale four times as fast."""


class NoteUse(Struct, frozen=True):
    """What counts for the staleness of a note."""

    idle_days: float
    """Days since it was last used, changed or verified, or since its date."""
    half_life_days: float
    """The half-life of its type."""
    uses: int = 0
    """How often it was opened, cited or rated useful."""
    usefulness: float = NEUTRAL
    """The share of useful ratings, from 0 to 1; see `scoring.score`."""
    links: int = 0
    """The number of notes that link to it."""
    importance: float = NEUTRAL
    """Its importance, from 0 to 1."""
    is_over: bool = False
    """Whether it is expired, superseded or done."""


def half_life(use: NoteUse) -> float:
    """The half-life of a note in days."""
    return float(
        use.half_life_days
        * math.sqrt(1 + use.uses)
        * math.sqrt(1 + use.links)
        * 2 ** (2 * use.usefulness - 1)
        * 2 ** (2 * use.importance - 1)
        * (OVER_FACTOR if use.is_over else 1)
    )


def staleness(use: NoteUse) -> float:
    """The staleness of a note: 0 on the day of its last use, 0.5 after one half-life."""
    return float(1 - 2 ** -(max(0.0, use.idle_days) / half_life(use)))
