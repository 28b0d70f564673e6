"""Tells habits from topics, which have parts of the day and kinds of days of their own. Pure.

Work is talked about by day on weekdays, and the home in the evening and at weekends. The rhythm of
all activity does not explain that, as it is a mean of all topics. So a habit must also stand out
against the action's own days around its window, as a peak must stand out against its local
background in MACS (Zhang et al. 2008, Model-based analysis of ChIP-Seq).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from djinn_memory.memories.patterns.detection.chance import binomial_tail, odds_ratio
from djinn_memory.memories.patterns.detection.windows import Rhythm, TimeWindow

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

LEAST_ODDS = 3.0
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
    if odds_ratio(len(inside) / len(days), share) < LEAST_ODDS:
        return True
    limit = math.log(significance / len(rhythm.windows))
    return binomial_tail(len(inside), len(days), share) > limit
