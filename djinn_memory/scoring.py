"""Scores a memory by an agent's uses and ratings. Pure: the time is a parameter.

A memory without uses and ratings scores 0.5. Its multiplier is exactly 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

NEUTRAL = 0.5
"""The score of a memory without uses and ratings."""

UNLIKE = 0.5
"""Up to this similarity of two questions, a rating for one does not count for the other."""

_DAY = 86_400.0

Factor = Annotated[float, Meta(ge=0, le=1000)]
Days = Annotated[float, Meta(gt=0, le=100_000)]


class ScoringConfig(Struct, forbid_unknown_fields=True, frozen=True):
    """How uses and ratings change the results of a recall: the settings under `scoring:`."""

    min_valuations_for_signal: Annotated[int, Meta(ge=1, le=1000)] = 3
    rehabilitation_half_life_days: Days = 90.0
    recency_half_life_days: Days = 30.0
    recency_floor: Annotated[float, Meta(ge=0, lt=1)] = 0.30
    frequency_log_cap: Annotated[float, Meta(gt=1, le=1_000_000)] = 50.0
    adaptive_score_floor: Annotated[float, Meta(ge=0, le=0.5)] = 0.35
    blend_usefulness_weight: Factor = 0.60
    blend_recency_weight: Factor = 0.25
    blend_frequency_weight: Factor = 0.15
    blend_base_factor: Factor = 0.70
    blend_boost_factor: Factor = 0.30
    importance_fresh_days: Days = 90.0
    importance_half_life_days: Days = 180.0
    importance_factor: Annotated[float, Meta(ge=0, lt=1)] = 0.10
    confidence_factor: Annotated[float, Meta(ge=0, lt=1)] = 0.05
    shared: bool = False


class Record(Struct, frozen=True):
    """An agent's uses and ratings of a memory; times are ISO 8601 in UTC."""

    uses: int = 0
    """The number of times it was opened, read in full, cited or rated useful. Being shown does not
    count."""
    useful: int = 0
    """The number of times it was rated useful."""
    not_useful: int = 0
    """The number of times it was rated not useful."""
    last_used: str | None = None
    """The time of its last use; null if never."""
    last_valued: str | None = None
    """The time of its last rating; null if never."""

    @property
    def valuations(self) -> int:
        """The number of its ratings."""
        return self.useful + self.not_useful


class Rating(Struct, frozen=True):
    """A rating of a memory as an answer to an earlier question."""

    useful: bool
    alike: float
    """The similarity of that question to the current one, see `alike`."""


class Score(Struct, frozen=True):
    """A memory's score and every number behind it."""

    usefulness_raw: float
    """The share of useful ratings; 0.5 while there are too few."""
    rehabilitation: float
    """The weight of bad ratings: 1 at first, and half as much after each half-life."""
    usefulness: float
    """The share of useful ratings after rehabilitation."""
    recency: float
    """1 at the time of a use, then falling to the floor."""
    frequency: float
    """0 to 1, by the logarithm of the number of uses."""
    signal: float
    """The weighted sum of the parts above; 0 without uses and ratings."""
    adaptive: float
    """From the floor to 1; 0.5 without uses and ratings."""
    multiplier: float
    """The factor by which a raw score is multiplied."""


def score(record: Record, config: ScoringConfig, now: str) -> Score:
    """The score of a memory with this `record` at the time `now`."""
    raw = NEUTRAL
    if record.valuations >= config.min_valuations_for_signal:
        raw = record.useful / record.valuations
    rehabilitation = 1.0
    if record.last_valued:
        rehabilitation = _halved(record.last_valued, now, config.rehabilitation_half_life_days)
    usefulness = raw if raw >= NEUTRAL else NEUTRAL - (NEUTRAL - raw) * rehabilitation
    floor = config.recency_floor
    recency = floor
    if record.last_used:
        recency = max(floor, _halved(record.last_used, now, config.recency_half_life_days))
    frequency = min(1.0, math.log(record.uses + 1) / math.log(config.frequency_log_cap))
    signal = (
        config.blend_usefulness_weight * (2 * usefulness - 1)
        + config.blend_recency_weight * (recency - floor) / (1 - floor)
        + config.blend_frequency_weight * frequency
    )
    # The weights sum to 1 but for rounding.
    adaptive = min(1.0, max(config.adaptive_score_floor, NEUTRAL + 0.5 * signal))
    return Score(
        raw, rehabilitation, usefulness, recency, frequency, signal, adaptive,
        multiplier(adaptive, config),
    )  # fmt: skip


def multiplier(adaptive: float, config: ScoringConfig) -> float:
    """The factor for a raw score: 1 for a neutral memory, and for all memories when boost is 0."""
    base, boost = config.blend_base_factor, config.blend_boost_factor
    neutral = base + boost * NEUTRAL
    # A boost may be too small to be a number when halved.
    return (base + boost * adaptive) / neutral if neutral else 1.0


def alike(first: frozenset[str], second: frozenset[str]) -> float:
    """The weight of a rating for one question at another, from 0 to 1, by their common words.

    This is Ochiai's coefficient, |A and B| / sqrt(|A| |B|), scaled so that `UNLIKE` becomes 0.
    """
    if not first or not second:
        return 0.0
    common = len(first & second) / math.sqrt(len(first) * len(second))
    return min(1.0, max(0.0, (common - UNLIKE) / (1 - UNLIKE)))


def at_question(
    record: Record, ratings: Sequence[Rating], config: ScoringConfig, now: str
) -> float:
    """A memory's multiplier for one question. `ratings` are the ratings for questions in `record`.

    Uses and other ratings count for every question. The effect of `ratings` is weighted by the most
    similar question among the ratings in the direction of that effect, because a memory that did
    not help with one question may answer another.
    """
    whole = score(record, config, now).multiplier
    if not ratings:
        return whole
    useful = sum(rating.useful for rating in ratings)
    bad = len(ratings) - useful
    # Another process may have added ratings after the record was read.
    rest = Record(
        max(0, record.uses - useful),
        max(0, record.useful - useful),
        max(0, record.not_useful - bad),
        record.last_used if record.uses > useful else None,
        record.last_valued if record.valuations > len(ratings) else None,
    )
    apart = score(rest, config, now).multiplier
    # Settings can make it 0.
    if not apart:
        return whole
    same_direction = (rating.alike for rating in ratings if rating.useful == (whole >= apart))
    return float(apart * (whole / apart) ** max(same_direction, default=0.0))


def share_of(text: str | None) -> float | None:
    """A number from 0 to 1, or a percentage, in a note; None for any other text."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    value = value / 100 if 1 < value <= 100 else value
    return value if 0 <= value <= 1 else None


def decayed(importance: float, idle_days: float, config: ScoringConfig) -> float:
    """The importance of a memory that was neither used nor changed for `idle_days`.

    The part above the neutral 0.5 stays for `importance_fresh_days` and is then halved in each
    `importance_half_life_days`. A memory of little importance keeps it, and no memory falls below
    neutral: it loses its advantage and gets no disadvantage.
    """
    stale = max(0.0, idle_days - config.importance_fresh_days)
    gain = max(0.0, importance - NEUTRAL)
    return float(importance - gain + gain * 2.0 ** -(stale / config.importance_half_life_days))


def note_factor(importance: float | None, confidence: float | None, config: ScoringConfig) -> float:
    """The factor for a note's own importance and confidence, each from 0 to 1."""
    important = 2 * (NEUTRAL if importance is None else importance) - 1
    confident = 2 * (NEUTRAL if confidence is None else confidence) - 1
    return (1 + config.importance_factor * important) * (1 + config.confidence_factor * confident)


def blended(raw: float, factor: float) -> float:
    """A raw score multiplied by a factor. A factor above 1 also raises a score below 0."""
    return raw * factor if raw >= 0 or factor <= 0 else raw / factor


def pooled(records: list[Record]) -> Record:
    """The sum of several agents' records."""
    return Record(
        sum(record.uses for record in records),
        sum(record.useful for record in records),
        sum(record.not_useful for record in records),
        max((record.last_used for record in records if record.last_used), default=None),
        max((record.last_valued for record in records if record.last_valued), default=None),
    )


def _halved(then: str, now: str, half_life: float) -> float:
    """1 at `then`, and half as much after each half-life. At most 1 if a clock was set back."""
    age = (datetime.fromisoformat(now) - datetime.fromisoformat(then)).total_seconds() / _DAY
    return float(2.0 ** -(max(0.0, age) / half_life))
