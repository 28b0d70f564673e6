"""Habits: features that occur in a window of time far more often than the user's rhythm explains.

Features are taken in the order of their significance. Episodes that a habit explains
are taken out of all other features before they are tested again, so that a habit in several words
is found once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.memories.patterns.detection.chance import binomial_tail, odds_ratio, tail_bound
from djinn_memory.memories.patterns.detection.history import FEWEST_DAYS, FEWEST_WEEKS, History
from djinn_memory.memories.patterns.detection.windows import (
    Rhythm,
    TimeWindow,
    WindowCounts,
    WindowFitter,
    is_of_topic,
)

if TYPE_CHECKING:
    from djinn_memory.memories.patterns.detection.history import History, Integers

SAME_WEEKDAYS = 0.6
"""The least overlap of the weekdays of two wordings of one habit."""

DISJOINT = 0.5
"""Two wordings of one habit share at most this part of the days that two habits would share."""


class Habit(Struct, frozen=True):
    """An action or a domain in a recurring window of time."""

    features: tuple[str, ...]
    """Its features, the most significant first."""
    window: TimeWindow
    episodes: tuple[int, ...]
    """The numbers of the episodes that support it, in order of time."""
    days: int
    """The number of days with such an episode."""
    expected: float
    """The number of days that chance explains."""
    share: float
    """The share of the days with the feature that are in the window."""
    log_probability: float
    """The natural logarithm of the probability by chance, for this test alone."""
    log_q: float
    """The same, corrected for the number of tests (weighted Bonferroni)."""


class _HabitJoiner:
    """Joins habits that are parts of known ones."""

    def __init__(self, history: History, rhythm: Rhythm) -> None:
        self._history, self._rhythm = history, rhythm

    def is_part(self, habit: Habit, other: Habit) -> bool:
        """Whether a habit is another wording, another weekday or an echo of a known one."""
        same_hours = _near(habit.window, other.window)
        if habit.features[0] in other.features:
            return same_hours
        own, theirs = {*habit.window.weekdays}, {*other.window.weekdays}
        words = [set(" ".join(each.features).split()) for each in (habit, other)]
        if same_hours and words[0] & words[1] and (own <= theirs or theirs <= own):
            return True
        if not same_hours or len(own & theirs) < SAME_WEEKDAYS * len(own | theirs):
            return False
        days = [{*self._history.days[[*each.episodes]].tolist()} for each in (habit, other)]
        first, last = min(map(min, days)), max(map(max, days))
        occasions = max(1, self._rhythm.occasions(other.window, first, last))
        both = len(days[0] & days[1])
        expected = len(days[0]) * len(days[1]) / occasions
        # Wordings take turns: where one or two common days are expected there must be none.
        # An echo comes only where the habit is.
        echo = both >= 0.9 * len(days[0]) and len(days[1]) <= 0.75 * occasions
        return echo or both <= DISJOINT * (expected if expected >= 2 else expected - 1)

    def joined(self, habit: Habit, part: Habit) -> Habit:
        """A habit with the features, weekdays and episodes of its part."""
        episodes = tuple(sorted({*habit.episodes, *part.episodes}))
        days = len(np.unique(self._history.days[[*episodes]]))
        weekdays = tuple(sorted({*habit.window.weekdays, *part.window.weekdays}))
        features = tuple(dict.fromkeys((*habit.features, *part.features)))
        window = replace(habit.window, weekdays=weekdays)
        expected = habit.expected + part.expected
        return replace(
            habit, features=features, window=window, episodes=episodes, days=days, expected=expected
        )


def _near(first: TimeWindow, second: TimeWindow) -> bool:
    """Whether the hours of two windows are the same but for an hour."""
    if first.month_day != second.month_day:
        return False
    if first.width == 24 or second.width == 24:
        return True
    hours = {(hour + step) % 24 for hour in first.hours for step in (-1, 0, 1)}
    return bool(hours & {*second.hours})


LEAST_ODDS = 3.0
"""The least ratio of the odds of a window to those that the rhythm explains."""

LEAST_LIFT = 1.5
"""The least ratio of the days in a window to those that the rhythm explains. An action that
would be there on most days anyway tells nothing."""

MOST_HOURS = 3
"""The most hours of a mean day with a feature. A word of the whole day is bound to no time."""

LEAST_SHARE = 0.15
"""The least share of a feature's days that are in the window. Its words may have other uses."""

LEAST_KEPT = 0.05
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
    log_q: float


def find_habits(history: History, significance: float) -> list[Habit]:
    """The habits of a history, the most significant first.

    `significance` is the highest expected number of false habits in a whole history.
    """
    if not history.length:
        return []
    return _HabitSearch(history, significance).run()


class _HabitSearch:
    """The state of a search: the remaining episodes of each feature."""

    def __init__(self, history: History, significance: float) -> None:
        self._history, self._significance = history, significance
        self._rhythm = Rhythm(history)
        self._fitter = WindowFitter(history, self._rhythm)
        self._joiner = _HabitJoiner(history, self._rhythm)
        self._left: list[Integers] = list(history.feature_episodes)
        self._taken: list[list[TimeWindow]] = [[] for _ in history.features]
        days = [len(np.unique(history.days[episodes])) for episodes in self._left]
        self._part = [sum(days) / own for own in days]
        """By how many tests each feature is corrected: one of more days has a larger part of the
        false habits to expect."""

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
        name = self._history.features[candidate.feature]
        # Of features in the same episodes, a pair of words says more than one word.
        return round(candidate.log_q, 6), -name.count(" "), name

    def _best(self, feature: int) -> _Candidate | None:
        """The most significant window of the remaining episodes; None if chance explains it."""
        episodes = self._left[feature]
        if len(episodes) < FEWEST_DAYS:
            return None
        hours, days = (len(np.unique(self._history.cells(episodes) // part)) for part in (1, 24))
        if days < FEWEST_DAYS or hours > MOST_HOURS * days:
            return None
        counts = self._rhythm.count(episodes)
        shares = counts.shares
        if self._taken[feature]:
            # The shares of windows that were taken out increase those of the other windows.
            gone = sum(self._fitter.share(window, counts) for window in self._taken[feature])
            shares = np.minimum(shares / max(0.05, 1 - gone), 1)
        corrections = np.log(self._part[feature] * self._rhythm.tests)
        bounds = tail_bound(counts.hits, counts.days, shares) + corrections
        bounds[counts.hits < FEWEST_DAYS] = np.inf
        limit = math.log(self._significance)
        for position in np.argsort(bounds, kind="stable")[:20]:
            if bounds[position] > limit + 4:
                return None
            log_q = float(corrections[position]) + binomial_tail(
                int(counts.hits[position]), counts.days, float(shares[position])
            )
            if log_q <= limit:
                candidate = self._refined(feature, counts.windows[position], counts, log_q)
                if self._is_habit(candidate):
                    return candidate
        return None

    def _refined(
        self, feature: int, window: TimeWindow, counts: WindowCounts, log_q: float
    ) -> _Candidate:
        """The candidate with the weekdays on which its hours stand out."""
        episodes = self._left[feature]
        if window.month_day is None:
            window = self._fitter.on_weekdays(window, episodes, counts)
        hits, share = self._fitter.days_in(window, episodes), self._fitter.share(window, counts)
        return _Candidate(feature, window, counts.days, hits, share, log_q)

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
            (history.features[candidate.feature],),
            candidate.window,
            tuple(support.tolist()),
            candidate.hits,
            candidate.days * candidate.share,
            candidate.hits / candidate.days,
            candidate.log_q
            - math.log(self._part[candidate.feature] * self._rhythm.tests_of(candidate.window)),
            candidate.log_q,
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
