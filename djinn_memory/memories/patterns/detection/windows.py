"""Windows of time, and how often a feature would fall into each of them by chance.

The chance is relative to the user's own rhythm: the occurrences of a feature are spread over the
hours in which there was any activity, in the same eight weeks. A day counts once, however often the
feature occurs on it, so that a burst of turns is one occurrence.
"""

from __future__ import annotations

from calendar import monthrange
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from djinn_memory.memories.patterns.detection.history import History

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from djinn_memory.memories.patterns.detection.history import Integers

    Numbers = NDArray[np.float64]
    Flags = NDArray[np.bool_]

BLOCK = 56
"""Days over which the rhythm of the user is taken to be the same."""

WIDTHS = (1, 2, 3, 4)
"""The widths of windows, in hours. What needs a wider one follows the day rather than the clock."""

EVERY_DAY = tuple(range(7))
WEEKDAY_SETS: tuple[tuple[int, ...], ...] = (
    *((day,) for day in range(7)), (0, 1, 2, 3, 4), (5, 6), EVERY_DAY,
)  # fmt: skip
"""The sets of weekdays that are tested. Other sets are put together from single weekdays."""

LAST = 32
"""The day of the month that stands for the last one."""


class TimeWindow(Struct, frozen=True, order=True):
    """A recurring window of time."""

    weekdays: tuple[int, ...] = EVERY_DAY
    """The weekdays from Monday, which is 0."""
    start: int = 0
    """The first hour."""
    width: int = 24
    """The number of hours; it may go past midnight."""
    month_day: int | None = None
    """The day of the month, or `LAST`; None for each week."""

    @property
    def hours(self) -> tuple[int, ...]:
        """The hours of the window."""
        return tuple((self.start + step) % 24 for step in range(self.width))


class WindowCounts(Struct, frozen=True):
    """How often a feature was in each window, and the share that chance explains."""

    windows: tuple[TimeWindow, ...]
    days: int
    """The number of days with the feature."""
    hits: Numbers
    """The number of these days in each window."""
    shares: Numbers
    """The expected share of these days in each window."""


class Rhythm:
    """The activity of a history, by weekday and hour, in blocks of weeks."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._activity = history.activity
        self._block = np.arange(history.length) // BLOCK
        blocks = int(self._block[-1]) + 1 if history.length else 0
        # A short last block has too few days for a rhythm of its own.
        if blocks > 1 and history.length % BLOCK and history.length % BLOCK < BLOCK // 2:
            self._block = np.minimum(self._block, blocks - 2)
        self.windows = (
            *(TimeWindow(days) for days in WEEKDAY_SETS[:-1]),
            *(
                TimeWindow(days, start, width)
                for days in WEEKDAY_SETS for start in range(24) for width in WIDTHS
            ),
            *(TimeWindow(month_day=day) for day in range(1, LAST + 1)),
        )  # fmt: skip

        self._positions = {window: number for number, window in enumerate(self.windows)}

    def position(self, window: TimeWindow) -> int:
        """The position of a window among those that are counted."""
        return self._positions[window]

    @cached_property
    def month_days(self) -> Integers:
        """The day of the month of each day."""
        dates = map(self._history.date_of, range(self._history.length))
        return np.array([date.day for date in dates])

    @cached_property
    def is_last(self) -> Flags:
        """Whether a day is the last one of its month."""
        dates = map(self._history.date_of, range(self._history.length))
        return np.array([date.day == monthrange(date.year, date.month)[1] for date in dates])

    def count(self, episodes: Integers) -> WindowCounts:
        """Count the days of episodes with a feature in each window."""
        history = self._history
        cells = np.unique(history.cells(episodes))
        days = np.unique(cells // 24)
        grid = np.zeros((len(days), 24), dtype=bool)
        grid[np.searchsorted(days, cells // 24), cells % 24] = True
        share_of_day = self._share_of_day(days)
        chance_by_hour = self._chance_by_hour(days, share_of_day)
        number_of_hours = grid.sum(axis=1)
        hits: list[float] = []
        shares: list[float] = []
        weekdays = history.weekdays[days]
        by_weekday = np.bincount(history.weekdays, weights=share_of_day, minlength=7)
        member = np.array([[day in chosen for day in range(7)] for chosen in WEEKDAY_SETS])
        hits += [float(member[chosen][weekdays].sum()) for chosen in range(len(WEEKDAY_SETS) - 1)]
        shares += [
            float(by_weekday[member[chosen]].sum()) for chosen in range(len(WEEKDAY_SETS) - 1)
        ]
        in_windows = _rolled(grid, np.logical_or)
        chance = _rolled(chance_by_hour, np.add)
        # With a number of hours on a day, each has its own chance to lie in the window.
        many, weight = np.unique(number_of_hours, return_counts=True)
        missing = np.zeros_like(chance)
        for number, times in zip(many, weight, strict=True):
            missing += times * (1 - np.clip(chance, 0, 1)) ** int(number)
        reach = (1 - missing / len(days)) * by_weekday[:, None, None]
        of_weekday = (weekdays == np.arange(7)[:, None]).astype(np.float64)
        by_day = np.tensordot(of_weekday, in_windows.astype(np.float64), axes=1)
        for chosen in member:
            hits += by_day[chosen].sum(axis=0).ravel().tolist()
            shares += reach[chosen].sum(axis=0).ravel().tolist()
        for month_day in range(1, LAST + 1):
            on_day = self.is_last if month_day == LAST else self.month_days == month_day
            hits.append(float(on_day[days].sum()))
            shares.append(float(share_of_day[on_day].sum()))
        return WindowCounts(self.windows, len(days), np.array(hits), np.array(shares))

    def hits(self, window: TimeWindow, episodes: Integers) -> Integers:
        """Those of the episodes that are in a window."""
        history = self._history
        days, hours = history.days[episodes], history.minutes[episodes] // 60
        inside = np.isin(history.weekdays[days], window.weekdays) & np.isin(hours, window.hours)
        if window.month_day is not None:
            of_month = self.month_days[days] == window.month_day
            inside &= self.is_last[days] if window.month_day == LAST else of_month
        return episodes[inside]

    def occasions(self, window: TimeWindow, first: int, last: int) -> int:
        """How many days of a period a window is on, of those with any activity."""
        span = np.arange(first, last + 1)
        on_day = np.isin(self._history.weekdays[span], window.weekdays)
        if window.month_day is not None:
            of_month = self.month_days[span] == window.month_day
            on_day &= self.is_last[span] if window.month_day == LAST else of_month
        return int((on_day & (self._activity[span].sum(axis=1) > 0)).sum())

    def _share_of_day(self, days: Integers) -> Numbers:
        """The share of each day in the occurrences of a feature that is on these days."""
        total = self._activity.sum(axis=1)
        result = np.zeros(len(total))
        counts = np.bincount(self._block[days], minlength=int(self._block[-1]) + 1)
        self._rates = np.zeros(len(counts))
        for block in np.flatnonzero(counts):
            inside = self._block == block
            rate = _rate(total[inside], int(counts[block]))
            self._rates[block] = rate
            weights = 1 - (1 - rate) ** total[inside]
            result[inside] = weights / weights.sum() * counts[block] / len(days)
        return result

    def _chance_by_hour(self, days: Integers, share_of_day: Numbers) -> Numbers:
        """By weekday and hour: the chance of an occurrence on the weekday to be in the hour."""
        rates = self._rates[self._block][:, None]
        weights: Numbers = 1 - (1 - rates) ** self._activity
        sums = weights.sum(axis=1, keepdims=True)
        within = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
        hours = (self._history.weekdays[:, None] * 24 + np.arange(24)).ravel()
        weighted = (within * share_of_day[:, None]).ravel()
        summed: Numbers = np.bincount(hours, weights=weighted, minlength=7 * 24).astype(np.float64)
        result = summed.reshape(7, 24)
        sums = result.sum(axis=1, keepdims=True)
        chance: Numbers = np.divide(result, sums, out=np.zeros_like(result), where=sums > 0)
        return chance


def _rolled(values: Any, join: Any) -> Any:
    """Values of 24 hours, joined over windows of each width: (rows, 24 starts, widths)."""
    joined = values
    widths = [joined]
    for step in range(1, len(WIDTHS)):
        joined = join(joined, np.roll(values, -step, axis=1))
        widths.append(joined)
    return np.stack(widths, axis=2)


def _rate(activity: Numbers, days: int) -> float:
    """The chance of a unit of activity to have a feature, so that it is on a number of days."""
    active = activity[activity > 0]
    if days >= len(active):
        return 0.999
    low, high = 0.0, 0.999
    for _ in range(30):
        middle = (low + high) / 2
        if float((1 - (1 - middle) ** active).sum()) < days:
            low = middle
        else:
            high = middle
    return (low + high) / 2
