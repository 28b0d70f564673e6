"""What an agent's uses and ratings say of a memory, as one number. Pure: `now` is a parameter.

A memory that nobody used or rated scores 0.5 and is multiplied by exactly 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

NEUTRAL = 0.5
"""The score of a memory of which nothing is known."""

UNLIKE = 0.5
"""The share of words in common up to which a rating of one question says nothing of another."""

_DAY = 86_400.0

Factor = Annotated[float, Meta(ge=0, le=1000)]
Days = Annotated[float, Meta(gt=0, le=100_000)]


class ScoringConfig(Struct, forbid_unknown_fields=True, frozen=True):
    """How what an agent used and rated moves what it recalls; set under `scoring:`."""

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
    importance_factor: Annotated[float, Meta(ge=0, lt=1)] = 0.10
    confidence_factor: Annotated[float, Meta(ge=0, lt=1)] = 0.05
    shared: bool = False


class Record(Struct, frozen=True):
    """What happened to a memory; times are ISO 8601 in UTC."""

    uses: int = 0
    """How often it was opened, read in full, cited or rated useful; not how often it was shown."""
    useful: int = 0
    """How often it was rated useful."""
    not_useful: int = 0
    """How often it was rated not useful."""
    last_used: str | None = None
    """When it was used last; null if never."""
    last_valued: str | None = None
    """When it was rated last; null if never."""

    @property
    def valuations(self) -> int:
        """How often it was rated."""
        return self.useful + self.not_useful


class Rating(Struct, frozen=True):
    """What was said of a memory when a question was asked."""

    useful: bool
    alike: float
    """How like that question is to the one that is asked now, see `alike`."""


class Score(Struct, frozen=True):
    """A memory's score and every number behind it."""

    usefulness_raw: float
    """The share of its ratings that say useful; 0.5 while there are too few."""
    rehabilitation: float
    """What is left of bad ratings, 1 at first and half as much after each half-life."""
    usefulness: float
    """The share after rehabilitation."""
    recency: float
    """1 at a use, down to the floor."""
    frequency: float
    """0 to 1 by the logarithm of the number of uses."""
    signal: float
    """The weighted sum, 0 where nothing is known."""
    adaptive: float
    """From the floor to 1; 0.5 where nothing is known."""
    multiplier: float
    """By what the raw score of a recall is multiplied."""


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
    """By what a raw score is multiplied: 1 for a neutral memory, and for all where boost is 0."""
    base, boost = config.blend_base_factor, config.blend_boost_factor
    neutral = base + boost * NEUTRAL
    # A boost may be too small to be a number when halved.
    return (base + boost * adaptive) / neutral if neutral else 1.0


def alike(one: frozenset[str], other: frozenset[str]) -> float:
    """How much a rating given to one question says about another, from 0 to 1, by their words.

    Ochiai's coefficient, |A and B| / sqrt(|A| |B|), of which `UNLIKE` is 0.
    """
    if not one or not other:
        return 0.0
    common = len(one & other) / math.sqrt(len(one) * len(other))
    return min(1.0, max(0.0, (common - UNLIKE) / (1 - UNLIKE)))


def at_question(
    record: Record, ratings: Sequence[Rating], config: ScoringConfig, now: str
) -> float:
    """A memory's multiplier for one question; `ratings` are those of the record given to some.

    What the others and the uses say counts whatever is asked. What these change of it counts as
    far as the likest question of those that agree with the change: what was no help with one
    question may be the answer to another.
    """
    whole = score(record, config, now).multiplier
    if not ratings:
        return whole
    useful = sum(one.useful for one in ratings)
    bad = len(ratings) - useful
    # Another process may have rated since the record was read.
    rest = Record(
        max(0, record.uses - useful),
        max(0, record.useful - useful),
        max(0, record.not_useful - bad),
        record.last_used if record.uses > useful else None,
        record.last_valued if record.valuations > len(ratings) else None,
    )
    apart = score(rest, config, now).multiplier
    # A settings file may let it be 0.
    if not apart:
        return whole
    share = max((one.alike for one in ratings if one.useful == (whole >= apart)), default=0.0)
    return float(apart * (whole / apart) ** share)


def share_of(text: str) -> float | None:
    """A number from 0 to 1 that a note says, or one of percent; None for anything else."""
    try:
        value = float(text)
    except ValueError:
        return None
    value = value / 100 if 1 < value <= 100 else value
    return value if 0 <= value <= 1 else None


def own_word(importance: float | None, confidence: float | None, config: ScoringConfig) -> float:
    """By what a raw score is multiplied for what a note says of itself, from 0 to 1 each."""
    factor = 1.0
    if importance is not None:
        factor *= 1 + config.importance_factor * (2 * importance - 1)
    if confidence is not None:
        factor *= 1 + config.confidence_factor * (2 * confidence - 1)
    return factor


def blended(raw: float, factor: float) -> float:
    """A raw score, moved; a factor above 1 lifts also one below 0."""
    return raw * factor if raw >= 0 or factor <= 0 else raw / factor


def pooled(records: list[Record]) -> Record:
    """What several agents' records say together."""
    return Record(
        sum(one.uses for one in records),
        sum(one.useful for one in records),
        sum(one.not_useful for one in records),
        max((one.last_used for one in records if one.last_used), default=None),
        max((one.last_valued for one in records if one.last_valued), default=None),
    )


def _halved(then: str, now: str, half_life: float) -> float:
    """1 at `then` and half after each half-life; a clock that was set back makes it no more."""
    age = (datetime.fromisoformat(now) - datetime.fromisoformat(then)).total_seconds() / _DAY
    return float(2.0 ** -(max(0.0, age) / half_life))
