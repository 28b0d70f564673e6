"""The periods that English expressions of time mean, by hand."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from djinn_memory.languages.date_phrases import date_phrases
from djinn_memory.languages.days import DayWindow
from djinn_memory.memories.episodes.entities import find_entities
from djinn_memory.memories.sessions.extraction.rules import due_day
from tests.growth import assert_linear

TODAY = date(2026, 5, 14)
"""A Thursday."""

MEANT = """
what did we decide last Tuesday?               | 2026-05-12 2026-05-12
what happened on Tuesday?                      | 2026-05-12 2026-05-12
what happened on Thursday?                     | 2026-05-07 2026-05-07
the call on Monday morning                     | 2026-05-11 2026-05-11
who came last Sunday                           | 2026-05-10 2026-05-10
what did Ann say this Monday?                  | 2026-05-11 2026-05-11
Tuesday last week                              | 2026-05-05 2026-05-05
Friday of last week                            | 2026-05-08 2026-05-08
what is on next Friday?                        | 2026-05-22 2026-05-22
what did I say yesterday                       | 2026-05-13 2026-05-13
what did I say yesterday evening               | 2026-05-13 2026-05-13
what did we eat last night?                    | 2026-05-13 2026-05-13
what did I do today?                           | 2026-05-14 2026-05-14
what did she ask this morning                  | 2026-05-14 2026-05-14
the day before yesterday                       | 2026-05-12 2026-05-12
what is planned tomorrow                       | 2026-05-15 2026-05-15
the day after tomorrow                         | 2026-05-16 2026-05-16
what did you tell me the other day?            | 2026-05-07 2026-05-13
three days ago                                 | 2026-05-11 2026-05-11
3 days ago                                     | 2026-05-11 2026-05-11
a week ago                                     | 2026-05-04 2026-05-10
two weeks ago                                  | 2026-04-27 2026-05-03
a month ago                                    | 2026-03-30 2026-04-29
a couple of days ago                           | 2026-05-11 2026-05-13
a few days ago                                 | 2026-05-08 2026-05-12
a few weeks ago                                | 2026-04-02 2026-04-30
two hours ago                                  | 2026-05-13 2026-05-14
ten minutes ago                                | 2026-05-14 2026-05-14
what happened last week?                       | 2026-05-04 2026-05-10
what happened this week?                       | 2026-05-11 2026-05-17
what comes next week?                          | 2026-05-18 2026-05-24
last weekend                                   | 2026-05-09 2026-05-10
this weekend                                   | 2026-05-16 2026-05-17
last month                                     | 2026-04-01 2026-04-30
this month                                     | 2026-05-01 2026-05-31
last quarter                                   | 2026-01-01 2026-03-31
last year                                      | 2025-01-01 2025-12-31
this year                                      | 2026-01-01 2026-12-31
in the last two weeks                          | 2026-04-30 2026-05-14
over the past 3 months                         | 2026-02-13 2026-05-14
during the last few days                       | 2026-05-08 2026-05-14
the next 10 days                               | 2026-05-14 2026-05-24
what happened in May?                          | 2026-05-01 2026-05-31
what happened in may                           | 2026-05-01 2026-05-31
what happened in march                         | 2026-03-01 2026-03-31
what happened in June?                         | 2025-06-01 2025-06-30
last May                                       | 2025-05-01 2025-05-31
last March                                     | 2026-03-01 2026-03-31
next March                                     | 2027-03-01 2027-03-31
in May last year                               | 2025-05-01 2025-05-31
in March 2025                                  | 2025-03-01 2025-03-31
in March of 2025                               | 2025-03-01 2025-03-31
in Feb 2024                                    | 2024-02-01 2024-02-29
in 2026-03                                     | 2026-03-01 2026-03-31
in early May                                   | 2026-05-01 2026-05-10
in mid-March                                   | 2026-03-10 2026-03-20
at the end of April                            | 2026-04-20 2026-04-30
in late February 2025                          | 2025-02-20 2025-02-28
on 2026-05-12                                  | 2026-05-12 2026-05-12
on 12 May                                      | 2026-05-12 2026-05-12
on May 12                                      | 2026-05-12 2026-05-12
on May 12th, 2025                              | 2025-05-12 2025-05-12
on the 3rd of April                            | 2026-04-03 2026-04-03
on 20 May                                      | 2025-05-20 2025-05-20
on 12.04.2026                                  | 2026-04-12 2026-04-12
on 25/12/2025                                  | 2025-12-25 2025-12-25
on 12/25/2025                                  | 2025-12-25 2025-12-25
what did we do on the 3rd?                     | 2026-05-03 2026-05-03
what did we do on the 20th?                    | 2026-04-20 2026-04-20
on the 2nd of last month                       | 2026-04-02 2026-04-02
3-7 April                                      | 2026-04-03 2026-04-07
from 3 to 7 April                              | 2026-04-03 2026-04-07
between 3 and 7 April 2025                     | 2025-04-03 2025-04-07
between March and June                         | 2026-03-01 2026-06-30
from November to February                      | 2025-11-01 2026-02-28
from March 2025 to June                        | 2025-03-01 2025-06-30
from October to January 2026                   | 2025-10-01 2026-01-31
between 2021 and 2023                          | 2021-01-01 2023-12-31
2026-05-01 to 2026-05-07                       | 2026-05-01 2026-05-07
between 3 May and yesterday                    | 2026-05-03 2026-05-13
since 3 May                                    | 2026-05-03 -
ever since last summer                         | 2025-06-01 -
since Monday                                   | 2026-05-11 -
from March on                                  | 2026-03-01 -
after 12 May                                   | 2026-05-13 -
after Easter                                   | 2026-04-07 -
before 12 May                                  | - 2026-05-11
before last Christmas                          | - 2025-12-23
until 12.04.2026                               | - 2026-04-12
before 2020                                    | - 2019-12-31
this spring                                    | 2026-03-01 2026-05-31
last summer                                    | 2025-06-01 2025-08-31
over the summer                                | 2025-06-01 2025-08-31
in the fall                                    | 2025-09-01 2025-11-30
in winter                                      | 2025-12-01 2026-02-28
in the spring of 2025                          | 2025-03-01 2025-05-31
over the Christmas break                       | 2025-12-24 2025-12-26
since last summer Ann has a boat               | 2025-06-01 -
around Christmas                               | 2025-12-17 2026-01-02
at Easter                                      | 2026-04-03 2026-04-06
around New Year's Eve                          | 2025-12-24 2026-01-07
around 12 May                                  | 2026-05-09 2026-05-15
at Thanksgiving                                | 2025-11-27 2025-11-30
on Halloween                                   | 2025-10-31 2025-10-31
in Q1                                          | 2026-01-01 2026-03-31
in the first quarter of 2025                   | 2025-01-01 2025-03-31
in 2023                                        | 2023-01-01 2023-12-31
the week before August 3, 2023                 | 2023-07-27 2023-08-02
two weeks before August 11, 2023               | 2023-07-25 2023-07-31
last weekend before April 10, 2023             | 2023-04-08 2023-04-09
the day after 12 May                           | 2026-05-13 2026-05-13
""".strip().splitlines()

NOT_MEANT = """
may I share a vault with an agent?
it may rain in here
what may go wrong with sync
May 2 people share a vault?
which tests may fail
how do I march on
the march of the penguins
march 3 steps forward
who wrote the march for the band
the second point of the list
in a second
a second opinion
the last item
what is the last thing to do
the next step
the first draft
the previous owner
this item is last
the sun and the moon
a sun dial
in the sun
how long did the fall take
the fall of Rome
fall back to words
what does spring boot do
dependency injection in Spring
a spring in the rudder
python 3.11
version 2.14.3 of the parser
what changed in 1.12
what changed in v2026.5
release 24.04
ubuntu 24.04 on arm
1984
George Orwell, 1984
who wrote 1984?
the 1900s
room 2023
issue 2024
2000 notes in a vault
in 2024 tokens
a budget of 2000 tokens
port 2026
error 1999-x
RFC 2119
section 5.12
on page 12
on the 3rd floor
the 2nd edition
10 percent of 12
chapter 4 may be wrong
Black Friday deals
every Friday
on Tuesdays
Friday Harbor
the Sunday Times
Ruby Tuesday
how old is April
what does June like
who is August Strindberg
plan for the week
what was planned for May?
notes about June
what is due in a year
the day shift
day and night
how many days does it take
24 hours
10.0.0.12
12:30
today's libraries
new features
the night watch
who looks after the winter berths?
what happened before the spring regatta
""".strip().splitlines()


@pytest.mark.parametrize("row", MEANT)
def test_expressions_mean_these_days(row: str) -> None:
    text, _, days = row.partition("|")
    [phrase] = date_phrases(text.strip(), TODAY)
    window = phrase.window
    assert [str(window.first or "-"), str(window.last or "-")] == days.split()


@pytest.mark.parametrize("text", NOT_MEANT)
def test_other_words_mean_none(text: str) -> None:
    assert date_phrases(text, TODAY) == []


@pytest.mark.parametrize("weekday", range(7))
def test_next_friday_is_the_friday_of_the_next_week_for_every_reader(weekday: int) -> None:
    monday = date(2026, 5, 11)
    today = monday + timedelta(days=weekday)
    friday = date(2026, 5, 22)
    assert due_day("next Friday", today) == friday
    assert due_day("coming Friday", today) == due_day("Friday", today)
    [phrase] = date_phrases("what is planned next Friday?", today, coming=True)
    assert phrase.window.first == phrase.window.last == friday
    now = datetime(today.year, today.month, today.day, 12, tzinfo=UTC)
    [entity] = find_entities("We meet next Friday.", lambda _: {}, now)
    assert entity.value == friday.isoformat()


def test_short_months_and_ends_of_periods_are_read() -> None:
    [phrase] = date_phrases("what happened in Sep?", TODAY)
    assert phrase.window.first == date(2025, 9, 1)
    [phrase] = date_phrases("what is planned at the end of the month?", TODAY, coming=True)
    assert phrase.window.last == date(2026, 5, 31)
    [phrase] = date_phrases("what is planned in two weeks?", TODAY, coming=True)
    assert phrase.window.meets(DayWindow(date(2026, 5, 28), date(2026, 5, 28)))
    for text in ("who stays until the end of the day?", "what did I learn in two weeks?"):
        assert date_phrases(text, TODAY) == []


def test_questions_about_the_future_mean_the_next_one() -> None:
    [phrase] = date_phrases("in March", TODAY, coming=True)
    assert phrase.window.first == date(2027, 3, 1)
    [phrase] = date_phrases("on Tuesday", TODAY, coming=True)
    assert phrase.window.first == date(2026, 5, 19)


PIECES = st.lists(
    st.sampled_from(
        ["last", "next", "this", "the", "in", "on", "since", "before", "between", "and", "to", "of",
         "May", "may", "march", "Feb", "31", "29", "30", "2026", "2023", "week", "weeks", "ago",
         "two", "a few", "Tuesday", "yesterday", "2026-02-31", "2026-05-12", "31.02.2026", "Q4",
         "winter", "Christmas", "New Year's", "Eve", "99999", "0",
         "9999-12-31", "0001-01-01", "after", "around", "from", "weekend", "years",
         "\u0662", ",", "?", "-", "\n"]
    ),
    max_size=9,
).map(" ".join)  # fmt: skip


@given(PIECES | st.text(max_size=80), st.dates())
@settings(max_examples=300, deadline=None)
def test_any_text_on_any_day_gives_ordered_windows(text: str, today: date) -> None:
    at = 0
    for phrase in date_phrases(text, today):
        assert at <= phrase.start < phrase.stop <= len(text)
        at = phrase.stop
        if phrase.window.first and phrase.window.last:
            assert phrase.window.first <= phrase.window.last


@pytest.mark.parametrize(
    "piece", ["in may ", "last last tuesday ", "between may and ", "yesterday "]
)
def test_a_long_text_of_dates_is_read_in_linear_time(piece: str) -> None:
    assert_linear(lambda size: date_phrases(piece * size, TODAY, subjects=True), 1_000)
