"""When to try again what failed. Pure: `now` is a parameter."""

from __future__ import annotations

FIRST_SECONDS, LONGEST_SECONDS = 0.5, 60.0
"""Between two tries: after the first failure, and after many."""


class Backoff:
    """Something that may fail for a while."""

    def __init__(self) -> None:
        self._pause = FIRST_SECONDS
        self._until = 0.0

    def left(self, now: float) -> float:
        """Seconds before it may be tried again."""
        return max(0.0, self._until - now)

    def worked(self) -> None:
        """It did not fail."""
        self._pause, self._until = FIRST_SECONDS, 0.0

    def busy(self, now: float) -> None:
        """Somebody else does it at this moment."""
        self._until = now + FIRST_SECONDS

    def failed(self, now: float) -> None:
        """It failed; each time the pause is twice that of before."""
        self._until = now + self._pause
        self._pause = min(2 * self._pause, LONGEST_SECONDS)
