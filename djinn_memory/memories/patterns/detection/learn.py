"""Turns the findings of detection into patterns with a name, a confidence and evidence."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from djinn_memory.home.access import distinct
from djinn_memory.home.settings import PatternsConfig
from djinn_memory.languages.days import WEEKDAY_NAMES
from djinn_memory.memories.episodes.occasions import Occasion
from djinn_memory.memories.patterns.detection import naming
from djinn_memory.memories.patterns.detection.chance import SMALLEST, confidence, status_of
from djinn_memory.memories.patterns.detection.choices import ConsistentChoice, find_choices
from djinn_memory.memories.patterns.detection.focus import Focus, find_focus
from djinn_memory.memories.patterns.detection.habits import Habit, find_habits
from djinn_memory.memories.patterns.detection.history import History
from djinn_memory.memories.patterns.detection.sequences import ActionSequence, find_sequences
from djinn_memory.memories.patterns.detection.windows import EVERY_DAY, TimeWindow
from djinn_memory.memories.patterns.requests import LearnedPattern

if TYPE_CHECKING:
    from djinn_memory.memories.patterns.detection.history import Integers

LEAST_ACTIVE_DAYS = 30
"""Minimum days with episodes for a statement of peak hours."""

PEAK_HOURS = 3
"""The hours of the peak of activity."""

WIDEST = 75
"""Minutes of the middle half of a habit's times, up to which its name says a time of day."""

LEAST_PEAK = 2.0
"""The least ratio of activity in the peak to that of other hours of the same number."""

STILL = 14
"""The days before the last episode in which a focus that is still there has its last one."""


def learn(history: History, today: date, config: PatternsConfig) -> list[LearnedPattern]:
    """The patterns of a history: first the habits, then the peak of activity and the focus."""
    habits = find_habits(history, config.significance)
    patterns = [_habit(history, habit, today, config) for habit in habits]
    patterns += [
        _sequence(history, sequence, today, config)
        for sequence in find_sequences(history, config.significance)
    ]
    patterns += [
        _choice(history, choice, today, config)
        for choice in find_choices(history, config.significance)
    ]
    patterns += _activity(history, today, config)
    patterns += [
        _focus(history, focus, today, config) for focus in find_focus(history, config.significance)
    ]
    return patterns


def _habit(history: History, habit: Habit, today: date, config: PatternsConfig) -> LearnedPattern:
    occasions = [history.occasions[number] for number in habit.episodes]
    is_domain = habit.features[0].startswith("domain:")
    texts = [occasion.text for occasion in occasions]
    features = [word for name in habit.features for word in name.split()]
    action = None if is_domain else naming.action_of(history, habit.episodes, features)
    subject = (
        f"Is busy with {habit.features[0].removeprefix('domain:')}"
        if action is None else naming.sentence(action)
    )  # fmt: skip
    around, spread = _around(history, habit)
    window = habit.window
    words = dict.fromkeys(
        word for name in habit.features if ":" not in name for word in name.split()
    )
    return _pattern(
        history, [*habit.episodes], today, config, habit.expected,
        name=f"{subject} {naming.when(window, around if spread <= WIDEST else None)}",
        category="domain" if is_domain else "behavioural",
        habit=True, action=action, words=tuple(words),
        wordings=() if is_domain else naming.wordings_of(texts),
        around=around, entities=_names(occasions),
        strength=round(habit.share, 3), expected=round(habit.expected, 2),
        p_value=_probability(habit.log_probability), q_value=_probability(habit.log_q),
        **_window_fields(window),
    )  # fmt: skip


def _sequence(
    history: History, sequence: ActionSequence, today: date, config: PatternsConfig
) -> LearnedPattern:
    """The pattern of one action after others."""
    before = (*sequence.steps, (sequence.first, sequence.firsts))
    *earlier, action = (
        naming.action_of(history, own, feature.split())
        for feature, own in (*before, (sequence.second, sequence.seconds))
    )
    firsts = tuple(number for _, own in before for number in own)
    texts = [history.occasions[number].text for number in sequence.seconds]
    return _pattern(
        history, sequence.seconds, today, config, sequence.expected,
        name=f"{naming.sentence(action)} after {' and '.join(map(_quoted, earlier))}",
        category="behavioural", habit=True, action=action, after=", then ".join(earlier),
        words=(
            *sequence.second.split(),
            *(f"after:{word}" for feature, _ in before for word in feature.split()),
        ),
        wordings=naming.wordings_of(texts),
        domains=_domains(history, (*firsts, *sequence.seconds)),
        strength=round(sequence.share, 3), expected=round(sequence.expected, 2),
        p_value=_probability(sequence.log_probability), q_value=_shown(sequence.q),
    )  # fmt: skip


def _choice(
    history: History, choice: ConsistentChoice, today: date, config: PatternsConfig
) -> LearnedPattern:
    """The pattern of the usual choice."""
    evidence = choice.evidence
    total = evidence.days + evidence.against
    texts = [history.occasions[number].text for number in choice.episodes]
    return _pattern(
        history, choice.episodes, today, config, total / 2,
        name=choice.name, category="preference", habit=True, action=choice.action,
        words=choice.words, wordings=naming.wordings_of(texts),
        strength=round(evidence.days / total, 3), expected=total / 2,
        p_value=_probability(evidence.log_probability), q_value=_shown(evidence.q),
    )  # fmt: skip


def _domains(history: History, episodes: Sequence[int]) -> tuple[str, ...]:
    return distinct(name for number in episodes for name in history.occasions[number].domains)


def _quoted(action: str) -> str:
    return f"\u201c{action}\u201d"


def _window_fields(window: TimeWindow) -> dict[str, object]:
    weekdays = () if window.month_day or window.weekdays == EVERY_DAY else window.weekdays
    return {
        "weekdays": tuple(WEEKDAY_NAMES[day].lower() for day in weekdays),
        "hours": () if window.width == 24 else window.hours,
        "month_day": window.month_day,
    }


def _pattern(
    history: History,
    episodes: Sequence[int],
    today: date,
    config: PatternsConfig,
    chance: float,
    **fields: Any,
) -> LearnedPattern:
    """A pattern with the values that follow from its episodes."""
    days: Integers = np.unique(history.days[[*episodes]])
    certainty = confidence(len(days), chance)
    last = history.date_of(int(days[-1]))
    keys = [history.occasions[number].key for number in episodes[-config.evidence :]]
    fields = {"domains": _domains(history, episodes), **fields}
    return LearnedPattern(
        domain=fields["domains"][0] if len(fields["domains"]) == 1 else None,
        confidence=certainty,
        status=status_of(certainty, last, today, config),
        support=len(days),
        evidence_count=len(episodes),
        first_seen=history.date_of(int(days[0])).isoformat(),
        last_seen=last.isoformat(),
        evidence=tuple(keys),
        **fields,
    )


def _activity(history: History, today: date, config: PatternsConfig) -> list[LearnedPattern]:
    """The peak of activity: the hours in which there were episodes on most days."""
    active = np.zeros((history.length, 24), dtype=bool)
    active[history.days, history.minutes // 60] = True
    if active.any(axis=1).sum() < LEAST_ACTIVE_DAYS:
        return []
    by_hour = active.sum(axis=0)
    in_peak = [
        int(by_hour[[(start + step) % 24 for step in range(PEAK_HOURS)]].sum())
        for start in range(24)
    ]
    start = int(np.argmax(in_peak))
    if in_peak[start] < LEAST_PEAK * by_hour.sum() * PEAK_HOURS / 24:
        return []
    by_weekday = np.zeros(7)
    np.add.at(by_weekday, history.weekdays, active.sum(axis=1))
    busy = tuple(np.flatnonzero(by_weekday >= by_weekday.mean()).tolist())
    window = TimeWindow(busy, start, PEAK_HOURS)
    inside = np.isin(history.minutes // 60, window.hours)
    episodes = np.flatnonzero(inside).tolist()
    days = len(np.unique(history.days[episodes]))
    pattern = _pattern(
        history, episodes, today, config, 0.0,
        name=f"Most active {naming.when(window, None)}", category="temporal", habit=False,
        strength=round(days / int(active.any(axis=1).sum()), 3), **_window_fields(window),
    )  # fmt: skip
    return [pattern]


def _focus(history: History, focus: Focus, today: date, config: PatternsConfig) -> LearnedPattern:
    """The pattern of a domain in a period."""
    first, last = (int(history.days[focus.episodes[at]]) for at in (0, -1))
    end = None if history.length - last <= STILL else history.date_of(last)
    return _pattern(
        history, focus.episodes, today, config, focus.expected,
        name=f"Focuses on {focus.domain} {naming.period(history.date_of(first), end)}",
        category="domain", habit=False, strength=round(focus.share, 3),
        expected=round(focus.expected, 2),
        p_value=_probability(focus.log_probability), q_value=_probability(focus.log_q),
    )  # fmt: skip


def _around(history: History, habit: Habit) -> tuple[str | None, float]:
    """The median time of a habit, to a quarter of an hour, and the minutes of its middle half."""
    if habit.window.width == 24:
        return None, 0.0
    start = habit.window.start * 60
    minutes = np.sort((history.minutes[[*habit.episodes]] - start + 60) % 1440)
    middle = int(round((float(np.median(minutes)) - 60 + start) / 15) * 15) % 1440
    low, high = np.quantile(minutes, (0.25, 0.75))
    return f"{middle // 60:02}:{middle % 60:02}", float(high - low)


def _names(occasions: Sequence[Occasion]) -> tuple[str, ...]:
    """The entities in at least half of the episodes."""
    counts = Counter(name for occasion in occasions for name in set(occasion.entities))
    return tuple(sorted(name for name, times in counts.items() if 2 * times >= len(occasions)))


def _shown(probability: float) -> float:
    """A probability with three digits."""
    return float(f"{max(SMALLEST, probability):.2e}")


def _probability(logarithm: float) -> float:
    return _shown(math.exp(max(-690.0, logarithm)))
