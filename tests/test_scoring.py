"""The formulas of adaptive scoring: each statement about them, and what holds for any history."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from djinn_memory.errors import ConfigError
from djinn_memory.home.config import validate
from djinn_memory.home.home import Home
from djinn_memory.scoring import (
    Rating,
    Record,
    ScoringConfig,
    alike,
    at_question,
    blended,
    decayed,
    multiplier,
    note_factor,
    pooled,
    score,
)
from tests.conftest import Run

USUAL = ScoringConfig()
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def ago(days: float) -> str:
    return (NOW - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


TODAY = ago(0)
AGES = st.floats(0, 5000).map(ago)
FLOORS = st.floats(0, 0.99)


@st.composite
def configs(draw: st.DrawFn) -> ScoringConfig:
    first = draw(st.floats(0, 1))
    second = draw(st.floats(0, 1 - first))
    return ScoringConfig(
        min_valuations_for_signal=draw(st.integers(1, 10)),
        rehabilitation_half_life_days=draw(st.floats(0.1, 1000)),
        recency_half_life_days=draw(st.floats(0.1, 1000)),
        recency_floor=draw(FLOORS),
        frequency_log_cap=draw(st.floats(1.5, 1000)),
        adaptive_score_floor=draw(st.floats(0, 0.5)),
        blend_usefulness_weight=first,
        blend_recency_weight=second,
        blend_frequency_weight=max(0.0, 1 - first - second),
        blend_base_factor=draw(st.floats(0, 2)),
        blend_boost_factor=draw(st.floats(0, 2)),
    )


@st.composite
def records(draw: st.DrawFn) -> Record:
    useful, not_useful = draw(st.integers(0, 40)), draw(st.integers(0, 40))
    uses = useful + draw(st.integers(0, 100))
    return Record(
        uses, useful, not_useful,
        draw(AGES) if uses else None, draw(AGES) if useful + not_useful else None,
    )  # fmt: skip


@st.composite
def told(draw: st.DrawFn, nearness: st.SearchStrategy[float]) -> tuple[Record, list[Rating]]:
    """A record, and those of its ratings that were given to questions."""
    record = draw(records())
    useful = draw(st.integers(0, record.useful))
    bad = draw(st.integers(0, record.not_useful))
    said = [Rating(one < useful, draw(nearness)) for one in range(useful + bad)]
    return record, said


WORDS = st.frozensets(st.sampled_from("abcdefgh"))


# --- each statement


def test_no_record_is_neutral() -> None:
    found = score(Record(), USUAL, TODAY)
    assert (found.adaptive, found.multiplier) == (0.5, 1.0)
    assert (found.recency, found.frequency, found.signal) == (0.30, 0.0, 0.0)


def test_what_the_best_and_the_worst_are_multiplied_by() -> None:
    assert round(multiplier(1.0, USUAL), 3) == 1.176
    assert round(multiplier(0.35, USUAL), 3) == 0.947


def test_the_numbers_of_one_history() -> None:
    record = Record(9, 3, 1, ago(30), ago(2))
    found = score(record, USUAL, TODAY)
    frequency = math.log(10) / math.log(50)
    assert (found.usefulness_raw, found.usefulness) == (0.75, 0.75)
    assert found.recency == 0.5
    assert found.frequency == frequency
    expected = 0.60 * 0.5 + 0.25 * 0.2 / 0.7 + 0.15 * frequency
    assert found.signal == pytest.approx(expected)
    assert found.adaptive == pytest.approx(0.5 + expected / 2)


def test_a_condemned_memory_sits_on_the_floor_and_comes_back() -> None:
    def condemned(days: float) -> float:
        return score(Record(0, 0, 3, None, ago(days)), USUAL, TODAY).adaptive

    assert condemned(0) == 0.35
    # 0.5 - 0.3 * what is left: on the floor until half is forgiven, then up to neutral.
    assert condemned(90) == pytest.approx(0.35)
    assert condemned(180) == pytest.approx(0.5 - 0.3 * 0.25)
    assert condemned(3000) == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("bad", [1, 2])
def test_fewer_than_three_bad_ratings_change_nothing(bad: int) -> None:
    assert score(Record(0, 0, bad, None, TODAY), USUAL, TODAY).adaptive == 0.5


def test_what_a_note_says_of_itself() -> None:
    assert note_factor(None, None, USUAL) == 1.0
    assert note_factor(1.0, None, USUAL) == pytest.approx(1.10)
    assert note_factor(0.0, None, USUAL) == pytest.approx(0.90)
    assert note_factor(None, 0.0, USUAL) == pytest.approx(0.95)
    assert note_factor(0.95, 0.7, USUAL) == pytest.approx(1.09 * 1.02)
    assert note_factor(0.5, 0.5, USUAL) == 1.0


# --- for any history


@given(record=records(), config=configs(), used=AGES)
def test_a_use_never_demotes(record: Record, config: ScoringConfig, used: str) -> None:
    last = max(filter(None, (record.last_used, used)))
    more = Record(record.uses + 1, record.useful, record.not_useful, last, record.last_valued)
    assert score(more, config, TODAY).adaptive >= score(record, config, TODAY).adaptive


@example(record=Record(), config=ScoringConfig(blend_base_factor=0.0, blend_boost_factor=5e-324))
@given(record=records(), config=configs())
def test_the_score_has_bounds_and_only_bad_ratings_lower_it(
    record: Record, config: ScoringConfig
) -> None:
    found = score(record, config, TODAY)
    assert config.adaptive_score_floor <= found.adaptive <= 1.0
    if not record.not_useful:
        assert found.adaptive >= 0.5
        assert found.multiplier >= 1.0
    assert found.multiplier >= 0


@given(record=records(), config=configs())
def test_better_ratings_never_lower_the_score(record: Record, config: ScoringConfig) -> None:
    if record.not_useful:
        better = Record(
            record.uses, record.useful + 1, record.not_useful - 1, record.last_used,
            record.last_valued,
        )  # fmt: skip
        assert score(better, config, TODAY).adaptive >= score(record, config, TODAY).adaptive


@given(record=records(), config=configs(), days=st.floats(0, 5000))
def test_time_alone_brings_a_memory_nearer_to_neutral(
    record: Record, config: ScoringConfig, days: float
) -> None:
    later = (NOW + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    now, then = score(record, config, TODAY), score(record, config, later)
    if record.not_useful > record.useful and not record.uses:
        assert then.adaptive >= now.adaptive - 1e-12
    if record.useful >= record.not_useful:
        assert then.adaptive <= now.adaptive + 1e-12


@given(told=told(st.floats(0, 1)), config=configs())
def test_a_question_gets_a_part_of_what_its_ratings_change(
    told: tuple[Record, list[Rating]], config: ScoringConfig
) -> None:
    record, said = told
    whole = score(record, config, TODAY).multiplier
    apart = at_question(record, [replace(one, alike=0.0) for one in said], config, TODAY)
    found = at_question(record, said, config, TODAY)
    low, high = sorted((apart, whole))
    assert low * (1 - 1e-9) <= found <= high * (1 + 1e-9)
    assert at_question(record, [], config, TODAY) == whole
    if len({one.useful for one in said}) == 2:
        alikes = [replace(one, alike=1.0) for one in said]
        assert at_question(record, alikes, config, TODAY) == pytest.approx(whole)


def test_what_was_no_help_with_one_question_is_as_it_was_for_another() -> None:
    record = Record(0, 0, 3, None, TODAY)
    there, elsewhere = [Rating(False, 1.0)] * 3, [Rating(False, 0.0)] * 3
    assert round(at_question(record, there, USUAL, TODAY), 3) == 0.947
    assert at_question(record, elsewhere, USUAL, TODAY) == 1.0
    # A rating of the memory by itself was given to no question.
    assert round(at_question(record, [], USUAL, TODAY), 3) == 0.947


def test_another_rating_than_was_known_of_is_no_error() -> None:
    assert at_question(Record(), [Rating(True, 1.0), Rating(False, 1.0)], USUAL, TODAY) == 1.0


def test_how_alike_two_questions_are() -> None:
    asked = frozenset(["kettle", "water"])
    assert alike(asked, asked) == 1.0
    assert alike(asked, frozenset(["kettle"])) == pytest.approx(0.414, abs=1e-3)
    assert alike(asked, frozenset(["kettle", "price", "shop"])) == 0.0
    assert alike(asked, frozenset()) == alike(frozenset(), frozenset()) == 0.0


@given(WORDS, WORDS)
def test_likeness_has_bounds_and_no_direction(one: frozenset[str], other: frozenset[str]) -> None:
    assert 0 <= alike(one, other) == alike(other, one) <= 1


@given(record=records(), config=configs())
def test_without_boost_nothing_moves(record: Record, config: ScoringConfig) -> None:
    assert score(record, replace(config, blend_boost_factor=0), TODAY).multiplier == 1.0


@given(raw=st.floats(-1, 1), one=st.floats(0.1, 2), other=st.floats(0.1, 2))
def test_a_greater_factor_never_gives_a_lower_score(raw: float, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert blended(raw, low) <= blended(raw, high)
    assert blended(raw, 1.0) == raw


@given(st.lists(records(), max_size=4))
def test_pooled_records_are_their_sum(several: list[Record]) -> None:
    whole = pooled(several)
    assert whole.valuations == sum(one.valuations for one in several)
    assert whole.uses == sum(one.uses for one in several)
    times = [one.last_used for one in several if one.last_used]
    assert whole.last_used == max(times, default=None)


def test_a_clock_that_was_set_back_makes_no_score_greater_than_now() -> None:
    ahead = (NOW + timedelta(days=9)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert score(Record(1, 0, 0, ahead), USUAL, TODAY) == score(
        Record(1, 0, 0, TODAY), USUAL, TODAY
    )


# --- the settings


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("recency_half_life_days", 0),
        ("rehabilitation_half_life_days", -1),
        ("blend_base_factor", -0.1),
        ("blend_boost_factor", -1),
        ("blend_usefulness_weight", -0.6),
        ("recency_floor", 1),
        ("frequency_log_cap", 1),
        ("adaptive_score_floor", 0.6),
        ("min_valuations_for_signal", 0),
    ],
)
def test_a_wrong_setting_is_named(key: str, value: float) -> None:
    with pytest.raises(ConfigError, match=rf"scoring\.{key}"):
        validate({"scoring": {key: value}}, "config.yaml")


def test_weights_sum_to_one() -> None:
    with pytest.raises(ConfigError, match=r"scoring\.blend_\*_weight must sum to 1, not 1.1;"):
        validate({"scoring": {"blend_usefulness_weight": 0.7}}, "config.yaml")
    even = dict.fromkeys(
        ("blend_usefulness_weight", "blend_recency_weight", "blend_frequency_weight"), 1 / 3
    )
    assert validate({"scoring": even}, "config.yaml").scoring.blend_recency_weight == 1 / 3


def test_a_setting_holds_for_the_next_command(home: Home, run: Run) -> None:
    assert run("config", "set", "scoring.blend_boost_factor", "0", home=home.root).returncode == 0
    assert Home(home.root).config.scoring.blend_boost_factor == 0
    wrong = run("config", "set", "scoring.blend_recency_weight", "0.5", home=home.root)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    [line] = wrong.stderr.splitlines()
    # What it tells to do works.
    value = line.partition('config set scoring "')[2].removesuffix('"`').replace("0.6,", "0.35,")
    assert run("config", "set", "scoring", value, home=home.root).returncode == 0
    assert Home(home.root).config.scoring.blend_recency_weight == 0.5
    text = Path(home.config_path).read_text(encoding="utf-8")
    assert "# The weight of ratings" in text


def test_the_importance_of_a_stale_note_decays() -> None:
    # Worked by hand: 0.4 above neutral, halved after 90 + 180 days, and again after 180 more.
    assert decayed(0.9, 0, USUAL) == decayed(0.9, 90, USUAL) == 0.9
    assert decayed(0.9, 270, USUAL) == pytest.approx(0.7)
    assert decayed(0.9, 450, USUAL) == pytest.approx(0.6)
    # 2 ** -(10 / 180) = 0.9622238
    assert decayed(1.0, 100, USUAL) == pytest.approx(0.5 + 0.5 * 0.9622238)
    assert decayed(0.9, -5, USUAL) == 0.9
    assert decayed(0.5, 9_999, USUAL) == 0.5 and decayed(0.2, 9_999, USUAL) == 0.2
    assert decayed(1.0, 1e9, USUAL) == 0.5
