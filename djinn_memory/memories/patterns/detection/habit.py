"""A habit, and other wordings, weekdays and echoes that are parts of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.memories.patterns.detection.windows import Rhythm, TimeWindow

if TYPE_CHECKING:
    from djinn_memory.memories.patterns.detection.history import History

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
    q: float
    """The probability times the number of tests (Bonferroni), at most 1."""


class HabitJoiner:
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
