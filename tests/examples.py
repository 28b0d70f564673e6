"""How many examples a property test tries: all, and fresh ones, in a soak; fewer in other runs."""

from __future__ import annotations

from hypothesis import settings

SOAK = "soak"
"""The profile of a soak."""
SHARE = 0.15
"""The part of the examples that other runs try."""


def examples(count: int, share: float = SHARE) -> int:
    """The number of examples to try where a soak tries `count` and other runs a `share` of them."""
    return count if settings.get_current_profile_name() == SOAK else round(count * share)
