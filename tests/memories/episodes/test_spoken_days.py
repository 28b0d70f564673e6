"""Days in words are computed as dateparser computes them."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from djinn_memory.memories.episodes import spoken_days
from djinn_memory.memories.episodes.spoken_days import spoken_day
from tests.examples import examples

WEDNESDAY = date(2026, 5, 6)

MONTH = st.sampled_from(["Jan", "March", "May", "June", "Sept", "October", "Dec"])
WEEKDAY = st.sampled_from(["Monday", "Wednesday", "Sunday"])
UNIT = st.sampled_from(["day", "weeks", "month", "years"])
NUMBER = st.sampled_from(["1", "3", "31", "a", "two", "ten"])
DAY = st.integers(1, 28).map(str)

WORDS = st.one_of(
    st.sampled_from(["today", "tomorrow", "the day before yesterday", "last week", "next year"]),
    st.tuples(st.sampled_from(["", "last ", "next ", "since ", "by "]), WEEKDAY).map("".join),
    st.tuples(NUMBER, UNIT, st.just("ago")).map(" ".join),
    st.tuples(st.just("in"), NUMBER, UNIT).map(" ".join),
    st.tuples(st.sampled_from(["in", "since", "until"]), MONTH).map(" ".join),
    st.tuples(MONTH, DAY).map(" ".join),
    st.tuples(DAY, MONTH, st.sampled_from(["2019", "2031"])).map(" ".join),
)


@given(words=WORDS, base=st.dates(date(2001, 1, 1), date(2040, 12, 31)))
@settings(max_examples=examples(100), deadline=None)
def test_the_days_are_those_of_dateparser(words: str, base: date) -> None:
    if (base.month, base.day) == (2, 29):
        return  # dateparser moves 29 February to the next leap year
    past = words.startswith(("last", "since"))
    assert spoken_day(words, base) == spoken_days._parsed(words, base, past)


@pytest.mark.parametrize(
    ("words", "day"),
    [
        ("next Tuesday", "2026-05-12"), ("last Wednesday", "2026-04-29"),
        ("Wednesday", "2026-05-13"), ("in two weeks", "2026-05-20"), ("4 May", "2027-05-04"),
        ("since May", "2026-05-01"), ("5.14.2026", "2026-05-14"), ("31 April", None),
        ("this week", None), ("999 years ago", "1027-05-01"),
    ],
)  # fmt: skip
def test_some_days(words: str, day: str | None) -> None:
    assert spoken_day(words, WEDNESDAY) == day
