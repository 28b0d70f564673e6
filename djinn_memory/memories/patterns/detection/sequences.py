"""Sequences: after one action comes another, more often than at that hour without the first one.

Topics of one session come in any order, so that the order itself must be significant too.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.memories.patterns.detection.chance import binomial_tail, odds_ratio
from djinn_memory.memories.patterns.detection.history import FEWEST_DAYS, FEWEST_WEEKS, History

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from djinn_memory.memories.patterns.detection.history import Integers

    Numbers = NDArray[np.float64]

WITHIN = (30, 120)
"""Minutes after the first action in which the second one counts. Both are tested."""

MOST_ACTIONS = 400
"""The features that are compared with each other, those of most days first."""

MOST_DAYS = 0.6
"""A feature of more than this part of the active days says nothing about the actions before it."""

LEAST_ODDS, LEAST_SHARE = 3.0, 0.2
"""The least ratio of odds, and the least share of the days with the first action."""

PRIOR = 10
"""Hours of the usual rate that are added to the hours of a weekday, which may be few."""


class ActionSequence(Struct, frozen=True):
    """One action after another."""

    first: str
    """The feature of the first action."""
    second: str
    """The feature of the second action."""
    firsts: tuple[int, ...]
    """The numbers of the episodes of the first action that were followed by the second."""
    seconds: tuple[int, ...]
    """The numbers of the episodes that followed."""
    days: int
    """The number of days with both in this order."""
    expected: float
    """The number of days that chance explains."""
    before: int
    """The number of days with both in the other order."""
    share: float
    """The share of the days with the first action."""
    log_probability: float
    q: float
    """The probability times the number of pairs, at most 1."""
    steps: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """The actions before the first one, each with its feature and its episodes, in order."""


class _Action(Struct):
    """A feature with its episodes, and the rates of its hours."""

    name: str
    episodes: Integers
    cells: Integers


def find_sequences(history: History, significance: float) -> list[ActionSequence]:
    """The sequences of a history, the most significant first."""
    if not history.length:
        return []
    return _SequenceSearch(history, significance).run()


class _SequenceSearch:
    def __init__(self, history: History, significance: float) -> None:
        self._history = history
        self._significance = significance
        self._times = history.days * 1440 + history.minutes
        active = np.zeros(history.length * 24, dtype=bool)
        active[history.days * 24 + history.minutes // 60] = True
        self._active = active.reshape(-1, 24)
        self._active_by_hour = self._by_hour(np.flatnonzero(active))
        most = MOST_DAYS * len(np.unique(history.days))
        features = sorted(
            ((-days, name, episodes)
            for name, episodes in zip(history.features, history.feature_episodes, strict=True)
            if ":" not in name and (days := len(np.unique(history.days[episodes]))) <= most),
            key=lambda feature: feature[:2],
        )  # fmt: skip
        self._actions = [
            _Action(name, episodes, np.unique(history.cells(episodes)))
            for _, name, episodes in features[:MOST_ACTIONS]
        ]

        self._all = _joined([action.episodes for action in self._actions])
        sizes = [len(action.episodes) for action in self._actions]
        self._owners = np.repeat(np.arange(len(self._actions)), sizes)
        self._days = np.array(
            [len(np.unique(history.days[action.episodes])) for action in self._actions]
        )

    def run(self) -> list[ActionSequence]:
        """Test all pairs of actions without a common word."""
        pairs = len(WITHIN) * len(self._actions) * (len(self._actions) - 1)
        limit = math.log(self._significance / max(1, pairs))
        candidates = [
            sequence
            for second in self._actions
            for first in self._often_before(second)
            if not set(first.name.split()) & set(second.name.split())
            for minutes in WITHIN
            for sequence in self._tested(first, second, minutes, limit, pairs)
        ]
        # Only a sequence that passes the first test can fail the second one by chance.
        distinct = _distinct(candidates)
        order = math.log(self._significance / max(1, len(distinct)))
        ordered = [
            sequence
            for sequence in distinct
            if binomial_tail(sequence.days, sequence.days + sequence.before, 0.5) <= order
        ]
        return _chained([each for each in ordered if not _leaps(each, ordered)])

    def _often_before(self, second: _Action) -> list[_Action]:
        """The actions that another one follows on enough days. All are looked at together."""
        following = np.searchsorted(second.episodes, self._all, side="right")
        inside = following < len(second.episodes)
        firsts, owners = self._all[inside], self._owners[inside]
        near = self._times[second.episodes[following[inside]]] - self._times[firsts] <= WITHIN[-1]
        length = self._history.length
        pairs = np.unique(owners[near] * length + self._history.days[firsts[near]])
        days = np.bincount(pairs // length, minlength=len(self._actions))
        enough = days >= np.maximum(FEWEST_DAYS, LEAST_SHARE * self._days)
        return [self._actions[number] for number in np.flatnonzero(enough)]

    def _tested(
        self, first: _Action, second: _Action, minutes: int, limit: float, pairs: int
    ) -> list[ActionSequence]:
        """The sequence of a pair, if it is significant."""
        history = self._history
        firsts, seconds = self._followed(first, second, minutes)
        days = np.unique(history.days[firsts])
        if len(days) < FEWEST_DAYS:
            return []
        weeks = np.unique((days + history.first_day - 1) // 7)
        trials = len(np.unique(history.days[first.episodes]))
        share = len(days) / trials
        if len(weeks) < FEWEST_WEEKS or share < LEAST_SHARE:
            return []
        chance = self._chance(first, second, minutes)
        logarithm = binomial_tail(len(days), trials, chance)
        if logarithm > limit or odds_ratio(share, chance) < LEAST_ODDS:
            return []
        before = len(np.unique(history.days[self._followed(second, first, minutes)[0]]))
        sequence = ActionSequence(
            first.name, second.name, tuple(firsts.tolist()), tuple(np.unique(seconds).tolist()),
            len(days), trials * chance, before, share, logarithm,
            min(1.0, math.exp(min(0.0, logarithm + math.log(pairs)))),
        )  # fmt: skip
        return [sequence]

    def _followed(self, first: _Action, second: _Action, minutes: int) -> tuple[Integers, Integers]:
        """The episodes of the first action that the second one follows, and those that follow."""
        following = np.searchsorted(second.episodes, first.episodes, side="right")
        inside = following < len(second.episodes)
        firsts, seconds = first.episodes[inside], second.episodes[following[inside]]
        near = self._times[seconds] - self._times[firsts] <= minutes
        # Words of one message are no sequence.
        near &= ~np.isin(firsts, second.episodes) & ~np.isin(seconds, first.episodes)
        return firsts[near], seconds[near]

    def _chance(self, first: _Action, second: _Action, minutes: int) -> float:
        """The mean chance of the second action in the hours after the first one.

        It is taken from the active hours of the days without the first action.
        """
        history = self._history
        own_days = np.unique(history.days[first.episodes])
        rates, active = self._rates(second, own_days)
        every, _ = self._rates(second, own_days[:0])
        # Hours that are only active with the first action may be those of two habits.
        rates = np.where(active < PRIOR, np.maximum(rates, every), rates)
        cells = first.cells
        hours, weekdays = cells % 24, history.weekdays[cells // 24]
        missing: NDArray[np.float64] = np.ones(len(cells))
        for step in range(minutes // 60 + 1):
            missing *= 1 - rates[weekdays, (hours + step) % 24]
        of_day = np.searchsorted(own_days, cells // 24)
        none = np.ones(len(own_days))
        np.multiply.at(none, of_day, missing)
        return float(1 - none.mean())

    def _rates(self, action: _Action, without: Integers) -> tuple[Numbers, Numbers]:
        """How often an action is in the active hours of other days, by weekday and hour.

        Also returns the number of these hours.
        """
        by_hour = self._by_hour(action.cells[~np.isin(action.cells // 24, without)])
        rows = self._active[without]
        cells = (without[:, None] * 24 + np.arange(24))[rows]
        active = self._active_by_hour - self._by_hour(cells)
        # Also at hours that have never been active there is a chance.
        usual = (by_hour.sum(axis=0) + 0.5) / (active.sum(axis=0) + PRIOR)
        usual = np.maximum(usual, (by_hour.sum() + 0.5) / max(1.0, active.sum()))
        return (by_hour + PRIOR * usual) / (active + PRIOR), active

    def _by_hour(self, cells: Integers) -> Numbers:
        """The number of hours of the history by weekday and hour."""
        hours = self._history.weekdays[cells // 24] * 24 + cells % 24
        return np.bincount(hours, minlength=7 * 24).reshape(7, 24).astype(np.float64)


def _joined(parts: list[Integers]) -> Integers:
    return np.concatenate(parts) if parts else np.array([], dtype=np.int64)


SAME = 0.3
"""The share of its episodes from which a sequence, or a step, is one that is known."""


def _overlap(own: Collection[int], other: Collection[int]) -> float:
    """The share of the smaller one of two groups of episodes that is in both."""
    return len({*own} & {*other}) / min(len(own), len(other))


def _distinct(sequences: list[ActionSequence]) -> list[ActionSequence]:
    """The most significant of sequences in the same episodes."""
    sequences.sort(key=lambda sequence: (round(sequence.log_probability, 6),
                                         -sequence.first.count(" ") - sequence.second.count(" "),
                                         sequence.first, sequence.second))  # fmt: skip
    distinct: list[ActionSequence] = []
    for sequence in sequences:
        if not any(
            (
                _overlap(sequence.firsts, other.firsts) >= SAME
                and _overlap(sequence.seconds, other.seconds) >= SAME
            )
            or _overlap(sequence.firsts + sequence.seconds, other.firsts + other.seconds) >= 0.8
            for other in distinct
        ):
            distinct.append(sequence)
    return distinct


def _leaps(sequence: ActionSequence, others: Sequence[ActionSequence]) -> bool:
    """Whether two other sequences lead from the first action over a third to the second one."""
    return any(
        _overlap(sequence.firsts, left.firsts) >= SAME
        and _overlap(left.seconds, right.firsts) >= SAME
        and _overlap(right.seconds, sequence.seconds) >= SAME
        for left in others for right in others
        if left is not sequence is not right
    )  # fmt: skip


def _chained(sequences: list[ActionSequence]) -> list[ActionSequence]:
    """Sequences, those joined of which one begins with the action in which another ends."""
    chains: list[ActionSequence] = []
    for sequence in sequences:
        for number, known in enumerate(chains):
            follows = _overlap(known.seconds, sequence.firsts) >= SAME
            if not known.steps and (follows or _overlap(sequence.seconds, known.firsts) >= SAME):
                earlier, later = (known, sequence) if follows else (sequence, known)
                chains[number] = replace(later, steps=((earlier.first, earlier.firsts),))
                break
        else:
            chains.append(sequence)
    return chains
