"""Fits a significant window to an action: its weekdays, and its hours."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from djinn_memory.memories.patterns.detection.chance import binomial_tail
from djinn_memory.memories.patterns.detection.windows import (
    EVERY_DAY,
    WIDTHS,
    Rhythm,
    TimeWindow,
    WindowCounts,
)

if TYPE_CHECKING:
    from djinn_memory.memories.patterns.detection.history import History, Integers

LEAST_EXCESS = 0.4
"""A weekday belongs to a habit if it has this part of the excess of the strongest weekday."""

NEARLY_ALWAYS = 0.8
"""The least share of its days on which a habit of some weekdays is in the hours that its window
names. On days without other activity no hour is more significant than the whole day."""

LOCAL = 4.0
"""The ratio of the days in a window to those that the rhythm explains from which an action is bound
to the weekdays of the window, whatever is on the others."""

SHARPER = math.log(1e-4)
"""The logarithm of the probability by chance below which some weekdays are elevated against the
others."""

LEAST_MORE = 0.1
"""A neighbouring hour belongs to a habit if it adds this part of its days."""


class WindowFitter:
    """Fits windows to the episodes of actions."""

    def __init__(self, history: History, rhythm: Rhythm) -> None:
        self._history, self._rhythm = history, rhythm

    def on_weekdays(
        self, window: TimeWindow, episodes: Integers, counts: WindowCounts
    ) -> TimeWindow:
        """The hours of a window on the weekdays on which they stand out."""
        singles = [
            self._rhythm.position(replace(window, weekdays=(weekday,))) for weekday in EVERY_DAY
        ]
        excess = counts.hits[singles] - counts.days * counts.shares[singles]
        chosen = excess >= LEAST_EXCESS * excess.max()
        hits, shares = counts.hits[singles], counts.shares[singles]
        part = float(shares[chosen].sum() / max(1e-9, shares.sum()))
        on_chosen, total = int(hits[chosen].sum()), int(hits.sum())
        is_local = on_chosen >= LOCAL * counts.days * float(shares[chosen].sum())
        if not is_local and binomial_tail(on_chosen, total, part) > SHARPER:
            chosen[:] = True
        weekdays = tuple(np.flatnonzero(chosen).tolist())
        window = replace(window, weekdays=weekdays)
        if window.width == 24:
            return self._in_hours(window, episodes)
        return self._widened(window, episodes, counts)

    def _in_hours(self, window: TimeWindow, episodes: Integers) -> TimeWindow:
        """A window of whole days, with the few hours in which it nearly always is."""
        hits = self.days_in(window, episodes)
        for width in WIDTHS:
            parts = [replace(window, start=start, width=width) for start in range(24)]
            inside = [self.days_in(part, episodes) for part in parts]
            best = int(np.argmax(inside))
            if inside[best] >= NEARLY_ALWAYS * hits:
                return parts[best]
        return window

    def _widened(self, window: TimeWindow, episodes: Integers, counts: WindowCounts) -> TimeWindow:
        """The window with the hours beside it in which the action stands out too.

        The time of a habit may have moved by an hour.
        """
        while 1 < window.width <= WIDTHS[-1]:
            hits = self.days_in(window, episodes)
            narrower = [
                replace(window, start=(window.start + step) % 24, width=window.width - 1)
                for step in (0, 1)
            ]
            left = [self.days_in(each, episodes) for each in narrower]
            best = int(np.argmax(left))
            chance = counts.days * (self.share(window, counts) - self.share(narrower[best], counts))
            if hits - left[best] > max(LEAST_MORE / 2 * hits, 2 * chance):
                break
            window = narrower[best]
        while window.width < WIDTHS[-1]:
            hits, share = self.days_in(window, episodes), self.share(window, counts)
            wider = [
                replace(window, start=(window.start - step) % 24, width=window.width + 1)
                for step in (0, 1)
            ]
            more = [self.days_in(each, episodes) - hits for each in wider]
            best = int(np.argmax(more))
            chance = counts.days * (self.share(wider[best], counts) - share)
            if more[best] < max(2, LEAST_MORE * hits, 2 * chance):
                break
            window = wider[best]
        return window

    def days_in(self, window: TimeWindow, episodes: Integers) -> int:
        return len(np.unique(self._history.days[self._rhythm.hits(window, episodes)]))

    def share(self, window: TimeWindow, counts: WindowCounts) -> float:
        """The expected share of a window with any weekdays."""
        if window.month_day is not None:
            return float(counts.shares[self._rhythm.position(window)])
        singles = [
            self._rhythm.position(replace(window, weekdays=(weekday,)))
            for weekday in window.weekdays
        ]
        return float(counts.shares[singles].sum())
