"""Habits: features that occur in a window of time far more often than the user's rhythm explains.

Features are taken in the order of their significance. What a habit explains is taken out of all
other features before they are tested again, so that a habit in several words is found once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.memories.patterns.detection.chance import binomial_tail, odds_ratio, tail_bound
from djinn_memory.memories.patterns.detection.habit import Habit, HabitJoiner
from djinn_memory.memories.patterns.detection.history import FEWEST_DAYS, FEWEST_WEEKS, History
from djinn_memory.memories.patterns.detection.windows import (
    EVERY_DAY,
    WIDTHS,
    Rhythm,
    TimeWindow,
    WindowCounts,
)

if TYPE_CHECKING:
    from djinn_memory.memories.patterns.detection.history import History, Integers

PART_OF_DAY = 4
"""The hours over which a topic is spread evenly, at least."""

BUSIEST_HOUR = 1 / 3
"""The highest share of a part of the day that its busiest hour has."""

BESIDE = 2
"""The hours before and after a window in which its background is counted."""

KINDS_OF_DAYS = ((0, 1, 2, 3, 4), (5, 6))
"""The weekdays over which a topic is spread evenly."""

LEAST_OWN_ODDS = 3.0
"""The least ratio of the odds of a window to those that a topic explains."""


def is_of_topic(
    history: History, rhythm: Rhythm, window: TimeWindow, episodes: Integers, significance: float
) -> bool:
    """Whether a topic with a part of the day of its own explains the episodes in a window.

    The trials are the action's days in the hours of the window and beside them, on all weekdays of
    a kind. A topic spreads them evenly over these weekdays, and over a part of the day. Days of the
    two kinds have different probabilities, so that the binomial tail of their mean is an upper
    bound (Hoeffding 1956). `significance` is corrected for the windows, as this is the best one.
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
    limit = math.log(significance / len(rhythm.windows))
    return binomial_tail(len(inside), len(days), share) > limit


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


LEAST_ODDS = 3.0
"""The least ratio of the odds of a window to those that the rhythm explains."""

LEAST_LIFT = 1.5
"""The least ratio of the days in a window to those that the rhythm explains. An action that
would be there on most days anyway tells nothing."""

MOST_HOURS = 3
"""The most hours of a mean day with a feature. A word of the whole day is bound to no time."""

LEAST_SHARE = 0.15
"""The least share of a feature's days that are in the window. Its words may have other uses."""

LEAST_KEPT = 0.15
"""The least share of the window's days, from the first to the last, on which the habit is kept."""

MUCH_LOST = 0.2
"""The share of its episodes from which a feature that lost them to a habit has another rhythm."""


class _Candidate(Struct):
    """The best window of a feature."""

    feature: int
    window: TimeWindow
    days: int
    hits: int
    share: float
    log_probability: float


def find_habits(history: History, significance: float) -> list[Habit]:
    """The habits of a history, the most significant first.

    `significance` is the highest expected number of false habits in a whole history.
    """
    if not history.length:
        return []
    return _HabitSearch(history, significance).run()


class _HabitSearch:
    """The state of a search: what is left of each feature."""

    def __init__(self, history: History, significance: float) -> None:
        self._history, self._significance = history, significance
        self._rhythm = Rhythm(history)
        self._fitter = WindowFitter(history, self._rhythm)
        self._joiner = HabitJoiner(history, self._rhythm)
        self._left: list[Integers] = list(history.episodes)
        self._taken: list[list[TimeWindow]] = [[] for _ in history.names]
        self._tests = len(history.names) * len(self._rhythm.windows)
        self._limit = math.log(significance / self._tests) if self._tests else 0.0

    def run(self) -> list[Habit]:
        """Take the most significant window again and again."""
        best = {number: self._best(number) for number in range(len(self._left))}
        habits: list[Habit] = []
        while True:
            candidates = [candidate for candidate in best.values() if candidate]
            if not candidates:
                return habits
            candidate = min(candidates, key=self._order)
            support = self._rhythm.hits(candidate.window, self._left[candidate.feature])
            self._add(habits, candidate, support)
            for number, lost in self._remove(candidate, support):
                # A feature that is in no window and lost little is in no window now.
                if best[number] or lost >= MUCH_LOST:
                    best[number] = self._best(number)

    def _order(self, candidate: _Candidate) -> tuple[float, int, str]:
        name = self._history.names[candidate.feature]
        # Of features in the same episodes, a pair of words says more than one word.
        return round(candidate.log_probability, 6), -name.count(" "), name

    def _best(self, feature: int) -> _Candidate | None:
        """The most significant window of what is left of a feature; None if chance explains it."""
        episodes = self._left[feature]
        if len(episodes) < FEWEST_DAYS:
            return None
        hours, days = (len(np.unique(self._history.cells(episodes) // part)) for part in (1, 24))
        if days < FEWEST_DAYS or hours > MOST_HOURS * days:
            return None
        counts = self._rhythm.count(episodes)
        shares = counts.shares
        if self._taken[feature]:
            # What was taken out leaves more for the other windows.
            gone = sum(self._fitter.share(window, counts) for window in self._taken[feature])
            shares = np.minimum(shares / max(0.05, 1 - gone), 1)
        bounds = tail_bound(counts.hits, counts.days, shares)
        bounds[counts.hits < FEWEST_DAYS] = 0
        for position in np.argsort(bounds, kind="stable")[:20]:
            if bounds[position] > self._limit + 4:
                return None
            log_probability = binomial_tail(
                int(counts.hits[position]), counts.days, float(shares[position])
            )
            if log_probability <= self._limit:
                candidate = self._refined(
                    feature, counts.windows[position], counts, log_probability
                )
                if self._is_habit(candidate):
                    return candidate
        return None

    def _refined(
        self, feature: int, window: TimeWindow, counts: WindowCounts, log_probability: float
    ) -> _Candidate:
        """The candidate with the weekdays on which its hours stand out."""
        episodes = self._left[feature]
        if window.month_day is None:
            window = self._fitter.on_weekdays(window, episodes, counts)
        hits, share = self._fitter.days_in(window, episodes), self._fitter.share(window, counts)
        return _Candidate(feature, window, counts.days, hits, share, log_probability)

    def _is_habit(self, candidate: _Candidate) -> bool:
        """Whether a significant candidate is large enough, and spread over weeks."""
        days, hits, share, window = (
            candidate.days, candidate.hits, candidate.share, candidate.window,
        )  # fmt: skip
        if hits / days < LEAST_SHARE or odds_ratio(hits / days, share) < LEAST_ODDS:
            return False
        if hits < LEAST_LIFT * days * share:
            return False
        episodes = self._rhythm.hits(window, self._left[candidate.feature])
        inside = np.unique(self._history.days[episodes])
        weeks = np.unique((inside + self._history.first_day - 1) // 7)
        if len(weeks) < FEWEST_WEEKS:
            return False
        occasions = self._rhythm.occasions(window, int(inside[0]), int(inside[-1]))
        if len(inside) < LEAST_KEPT * max(1, occasions):
            return False
        left = self._left[candidate.feature]
        return not is_of_topic(self._history, self._rhythm, window, left, self._significance)

    def _add(self, habits: list[Habit], candidate: _Candidate, support: Integers) -> None:
        """Add a habit, or join it to the one that it is a part of."""
        history = self._history
        habit = Habit(
            (history.names[candidate.feature],),
            candidate.window,
            tuple(support.tolist()),
            candidate.hits,
            candidate.days * candidate.share,
            candidate.hits / candidate.days,
            candidate.log_probability,
            min(1.0, math.exp(min(0.0, candidate.log_probability + math.log(self._tests)))),
        )
        for position, other in enumerate(habits):
            if self._joiner.is_part(habit, other):
                habits[position] = self._joiner.joined(other, habit)
                return
        habits.append(habit)

    def _remove(self, candidate: _Candidate, support: Integers) -> list[tuple[int, float]]:
        """Take episodes out of all features. Returns the features with the share that they lost."""
        changed = []
        for number, episodes in enumerate(self._left):
            stays = ~np.isin(episodes, support, assume_unique=True)
            lost = 1 - float(stays.mean()) if len(episodes) else 0.0
            if lost:
                self._left[number] = episodes[stays]
                changed.append((number, lost))
                if lost >= MUCH_LOST:
                    self._taken[number].append(candidate.window)
        return changed
