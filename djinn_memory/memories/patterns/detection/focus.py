"""Focus: a period in which a domain has a much larger share of activity than otherwise. Pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from djinn_memory.memories.patterns.detection.chance import SMALLEST, odds_ratio, tail_bound

if TYPE_CHECKING:
    from djinn_memory.memories.patterns.detection.history import History, Integers

SHORTEST = 3
"""The weeks of the shortest focus. Shorter ones are bursts."""

LONGEST = 0.5
"""The share of the history up to which a period is a focus. A longer one is the usual state."""

LEAST_ODDS = 1.5
"""The least ratio of the odds of the domain in the period to those in the remaining time."""

FEWEST_FOCUS_DAYS = 10
"""The least number of days of the domain in the period."""


class Focus(Struct, frozen=True):
    """A domain in a period."""

    domain: str
    episodes: tuple[int, ...]
    """The numbers of its episodes in the period, in order of time."""
    days: int
    """The number of days with such an episode."""
    expected: float
    """The number of days that its share in the remaining time explains."""
    share: float
    """Its share in the period."""
    log_probability: float
    """The natural logarithm of the probability by chance, for this period alone."""
    log_q: float
    """The same, corrected for all periods and domains."""


def find_focus(history: History, significance: float) -> list[Focus]:
    """The most significant focus of each domain, in the order of significance.

    A trial is an hour with a domain, so that many episodes about one thing are one. The share of a
    domain in the trials of a period of weeks is compared with that in the remaining time, by the
    likelihood ratio of a scan statistic (Kulldorff 1997).
    """
    domains: dict[str, list[int]] = {}
    for number, occasion in enumerate(history.occasions):
        domains.setdefault(occasion.domain or "", []).append(number)
    weeks = -(-history.length // 7)
    if len(domains) < 2 or weeks * LONGEST < SHORTEST:
        return []
    hours = {name: np.unique(history.cells(np.array(own))) for name, own in domains.items()}
    hits = {name: np.bincount(own // 168, minlength=weeks) for name, own in hours.items()}
    trials = _sums(np.sum([*hits.values()], axis=0))
    focuses = []
    for name in sorted(domains.keys() - {""}):
        period = _period(_sums(hits[name]), trials)
        if period is None:
            continue
        first, stop, logarithm = period
        log_q = min(0.0, logarithm + math.log(weeks * weeks * LONGEST * len(domains)))
        own = np.array(domains[name])
        own = own[(history.days[own] >= 7 * first) & (history.days[own] < 7 * stop)]
        days = len(np.unique(history.days[own]))
        if log_q > math.log(significance) or days < FEWEST_FOCUS_DAYS:
            continue
        inside, among = hits[name][first:stop].sum(), trials[stop] - trials[first]
        usual = (hits[name].sum() - inside) / max(1, trials[-1] - among)
        focuses.append(
            Focus(
                name, tuple(own.tolist()), days, float(days * usual * among / inside),
                float(inside / among), logarithm, log_q,
            )
        )  # fmt: skip
    return sorted(focuses, key=lambda focus: (focus.log_q, focus.domain))


def _sums(counts: Integers) -> Integers:
    """The sums of the first weeks, from none to all."""
    return np.concatenate(([0], np.cumsum(counts)))


def _period(hits: Integers, trials: Integers) -> tuple[int, int, float] | None:
    """The weeks in which a domain stands out most, and the logarithm of their probability.

    The root of twice the likelihood ratio is distributed as a normal deviate (Wilks 1938).
    """
    weeks = len(hits) - 1
    first, stop = np.triu_indices(weeks + 1, SHORTEST)
    wanted = (stop - first <= LONGEST * weeks) & (trials[stop] > trials[first])
    first, stop = first[wanted], stop[wanted]
    inside, among = hits[stop] - hits[first], trials[stop] - trials[first]
    outside, others = hits[-1] - inside, trials[-1] - among
    shares = inside / among, outside / np.maximum(others, 1)
    odds = np.array([odds_ratio(own, usual) for own, usual in zip(*shares, strict=True)])
    share = np.full(len(first), hits[-1] / trials[-1])
    ratio = among * tail_bound(shares[0], 1, share)
    ratio += others * tail_bound(1 - shares[1], 1, 1 - share)
    ratio[odds < LEAST_ODDS] = 0
    if not len(ratio) or ratio.min() >= 0:
        return None
    best = int(np.argmin(ratio))
    tail = 0.5 * math.erfc(math.sqrt(-float(ratio[best])))
    return int(first[best]), int(stop[best]), math.log(max(SMALLEST, tail))
