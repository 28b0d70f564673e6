"""Decides when to retry a failed step. Pure: `now` is a parameter."""

from __future__ import annotations

FIRST_SECONDS, LONGEST_SECONDS = 0.5, 60.0
"""The pause before another attempt: after the first failure, and the maximum."""


class Backoff:
    """The time at which a step may be retried."""

    def __init__(self) -> None:
        self._pause = FIRST_SECONDS
        self._until = 0.0

    def left(self, now: float) -> float:
        """Seconds until the next attempt is allowed."""
        return max(0.0, self._until - now)

    def worked(self) -> None:
        """Record a success."""
        self._pause, self._until = FIRST_SECONDS, 0.0

    def busy(self, now: float) -> None:
        """Record that another process is working on the step and will end soon."""
        self._until = now + FIRST_SECONDS

    def failed(self, now: float) -> None:
        """Record a failure. Each pause is twice as long as the previous one."""
        self._until = now + self._pause
        self._pause = min(2 * self._pause, LONGEST_SECONDS)
