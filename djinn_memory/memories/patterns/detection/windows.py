"""Windows of time, and how often a feature would fall into each of them by chance.

The chance is relative to the user's own rhythm: the occurrences of a feature are spread over the
hours in which there was any activity, in the same eight weeks. A day counts once, however often the
feature occurs on it, so that a burst of turns is one occurrence.
"""

from __future__ import annotations

import math
from calendar import monthrange
from collections import Counter
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.memories.patterns.detection.chance import binomial_tail, odds_ratio
from djinn_memory.memories.patterns.detection.history import History

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from djinn_memory.memories.patterns.detection.history import Integers

    Numbers = NDArray[np.float64]
    Flags = NDArray[np.bool_]

BLOCK = 56
"""Days over which the rhythm of the user is taken to be the same."""

WIDTHS = (1, 2, 3, 4)
"""The widths of windows, in hours. A habit in a wider one follows the day, not the clock."""

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
        kinds = [_kind(window) for window in self.windows]
        times = Counter(kinds)
        self.tests: Numbers = np.array([float(times[kind] * len(times)) for kind in kinds])
        """By how many tests the probability of each window is corrected: those of its kind, times
        the kinds. Each kind has the same part of the false habits to expect (weighted Bonferroni,
        Genovese, Roeder and Wasserman 2006): a weekday does not pay for 672 hours of weekdays."""
        self._known_rates: dict[tuple[int, int], float] = {}

    def position(self, window: TimeWindow) -> int:
        """The position of a window among those that are counted."""
        return self._positions[window]

    def tests_of(self, window: TimeWindow) -> float:
        """By how many tests the probability of a window with any weekdays is corrected."""
        kinds = [*map(_kind, self.windows)]
        return float(self.tests[kinds.index(_kind(window))])

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
            on_day = self._of_month(month_day)
            hits.append(float(on_day[days].sum()))
            shares.append(float(share_of_day[on_day].sum()))
        return WindowCounts(self.windows, len(days), np.array(hits), np.array(shares))

    def hits(self, window: TimeWindow, episodes: Integers) -> Integers:
        """The episodes that are in a window."""
        history = self._history
        days, hours = history.days[episodes], history.minutes[episodes] // 60
        return episodes[self._is_on(window, days) & np.isin(hours, window.hours)]

    def occasions(self, window: TimeWindow, first: int, last: int) -> int:
        """How many days of a period a window is on, of those with any activity."""
        span = np.arange(first, last + 1)
        active = self._activity[span].sum(axis=1) > 0
        return int((self._is_on(window, span) & active).sum())

    def _is_on(self, window: TimeWindow, days: Integers) -> Flags:
        """Whether each of these days is one of a window."""
        of_week = np.isin(self._history.weekdays[days], window.weekdays)
        if window.month_day is None:
            return of_week
        return of_week & self._of_month(window.month_day)[days]

    def _of_month(self, month_day: int) -> Flags:
        """Whether each day has a day of the month, or is the last one."""
        return self.is_last if month_day == LAST else self.month_days == month_day

    def _share_of_day(self, days: Integers) -> Numbers:
        """The share of each day in the occurrences of a feature that is on these days."""
        total = self._activity.sum(axis=1)
        result = np.zeros(len(total))
        counts = np.bincount(self._block[days], minlength=int(self._block[-1]) + 1)
        self._rates = np.zeros(len(counts))
        for block in np.flatnonzero(counts):
            inside = self._block == block
            key = int(block), int(counts[block])
            if key not in self._known_rates:
                self._known_rates[key] = _rate(total[inside], key[1])
            rate = self._known_rates[key]
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


def _kind(window: TimeWindow) -> str:
    """Windows of a kind share the same part of the false habits to expect."""
    if window.month_day is not None:
        return "day of the month"
    if window.width == 24:
        return "weekdays"
    return "hours of a weekday" if len(window.weekdays) == 1 else "hours"


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


PART_OF_DAY = 4
"""The hours over which a topic is spread evenly, at least."""

BUSIEST_HOUR = 1 / 3
"""The highest share of a part of the day that its busiest hour has."""

BESIDE = 2
"""The hours before and after a window in which its background is counted."""

KINDS_OF_DAYS = ((0, 1, 2, 3, 4), (5, 6))
"""The weekdays over which a topic is spread evenly."""

LEAST_OWN_ODDS = 2.5
"""The least ratio of the odds of a window to those that a topic explains."""


def is_of_topic(
    history: History, rhythm: Rhythm, window: TimeWindow, episodes: Integers, significance: float
) -> bool:
    """Whether a topic with a part of the day of its own explains the episodes in a window.

    The trials are the action's days in the hours of the window and beside them, on all weekdays of
    a kind. A topic spreads them evenly over these weekdays, and over a part of the day. Days of the
    two kinds have different probabilities, so that the binomial tail of their mean is an upper
    bound (Hoeffding 1956). `significance` is corrected for the windows of these
    weekdays, as this is the best one.
    """
    if window.month_day is not None:
        return False
    kinds = [kind for kind in KINDS_OF_DAYS if {*kind} & {*window.weekdays}]
    around = TimeWindow(tuple(day for kind in kinds for day in kind))
    part = 1.0
    if window.width < 24:
        start, width = (window.start - BESIDE) % 24, window.width + 2 * BESIDE
        around = replace(around, start=start, width=width)
        part = min(1.0, max(BUSIEST_HOUR, window.width / PART_OF_DAY))
    inside = np.unique(history.days[rhythm.hits(window, episodes)])
    days = np.unique(history.days[rhythm.hits(around, episodes)])
    by_weekday = np.bincount(history.weekdays[days], minlength=7)
    expected = part * sum(
        float(by_weekday[[*kind]].sum()) * len({*kind} & {*window.weekdays}) / len(kind)
        for kind in kinds
    )
    share = expected / len(days)
    if odds_ratio(len(inside) / len(days), share) < LEAST_OWN_ODDS:
        return True
    places = len(WEEKDAY_SETS) if window.width == 24 else 24 * len(WIDTHS)
    limit = math.log(significance / places)
    return binomial_tail(len(inside), len(days), share) > limit


WEEKDAYS_OF_HABITS: tuple[tuple[int, ...], ...] = (
    *(weekdays for size in range(1, 5) for weekdays in combinations(range(7), size)),
    (0, 1, 2, 3, 4), EVERY_DAY,
)  # fmt: skip
"""The weekdays that a habit may have. Five or six others are a habit of every day."""

NEARLY_ALWAYS = 0.8
"""The least share of its days on which a habit of some weekdays is in the hours that its window
names. On days without other activity no hour is more significant than the whole day."""

LEAST_MORE = 0.1
"""A neighbouring hour belongs to a habit if it adds this part of its days."""


def _description(hits: Numbers, weights: Numbers, chosen: list[int]) -> float:
    """The length, in nats, of hits on weekdays, of which a set has a share of its own."""
    inside, total = hits[chosen].sum(), hits.sum()
    share = inside / total
    others = [day for day in EVERY_DAY if day not in chosen]
    length = 0.0
    for days, part in ((chosen, share), (others, 1 - share)):
        if days and part > 0:
            own = part * weights[days] / weights[days].sum()
            length -= float((hits[days] * np.log(own)).sum())
    if not others:
        return length
    if share <= weights[chosen].sum() / weights.sum():
        return math.inf
    usual = len(chosen) == 1 or tuple(chosen) in WEEKDAY_SETS
    ways = len(WEEKDAY_SETS) if usual else len(WEEKDAY_SETS) * math.comb(7, len(chosen))
    return length + math.log(ways) + 0.5 * math.log(total)


class WindowFitter:
    """Fits windows to the episodes of actions."""

    def __init__(self, history: History, rhythm: Rhythm) -> None:
        self._history, self._rhythm = history, rhythm

    def on_weekdays(
        self, window: TimeWindow, episodes: Integers, counts: WindowCounts
    ) -> TimeWindow:
        """The hours of a window on the weekdays on which they stand out.

        Of all sets of weekdays it is the one with the least description length: the days of the
        action on each weekday are shared out inside and outside of the set, by the rhythm or
        evenly, and rarer kinds of sets cost more.
        """
        hits, rhythm = (
            values[[self._rhythm.position(replace(part, weekdays=(day,))) for day in EVERY_DAY]]
            for values, part in ((counts.hits, window), (counts.shares, TimeWindow()))
        )
        weekdays = min(
            WEEKDAYS_OF_HABITS,
            key=lambda chosen: min(
                _description(hits, weights, [*chosen])
                for weights in (np.maximum(rhythm, 1e-9), np.ones(7))
            ),
        )
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
