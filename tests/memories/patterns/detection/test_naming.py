"""Names of patterns."""

from __future__ import annotations

from datetime import timedelta

import pytest

from djinn_memory.memories.episodes.occasions import Occasion
from djinn_memory.memories.patterns.detection.history import History
from djinn_memory.memories.patterns.detection.naming import action_of, sentence, when, wordings_of
from djinn_memory.memories.patterns.detection.windows import LAST, TimeWindow
from tests.memories.patterns.years import BEGIN


@pytest.mark.parametrize(
    ("window", "around", "text"),
    [
        (TimeWindow((0,), 9, 1), "09:00", "on Monday mornings around 9"),
        (TimeWindow((1, 3), 18, 2), "18:30", "on Tuesday and Thursday evenings around 6:30"),
        (TimeWindow((0, 1, 2, 3, 4), 8, 2), "09:00", "on weekday mornings around 9"),
        (TimeWindow((5, 6), 12, 1), "12:00", "on weekend afternoons around 12"),
        (TimeWindow((0, 1, 2, 4, 5), 5, 3), None, "on most mornings between 05:00 and 08:00"),
        (
            TimeWindow((1, 2, 3, 4, 5), 16, 3),
            None,
            "from Tuesday to Saturday between 16:00 and 19:00",
        ),
        (
            TimeWindow((1, 2, 3, 4, 5), 17, 2),
            "17:45",
            "on Tuesday to Saturday evenings around 5:45",
        ),
        (TimeWindow((0, 2, 4, 6)), None, "on Mondays, Wednesdays, Fridays and Sundays"),
        (TimeWindow((0, 1, 3, 4, 6)), None, "on most days"),
        (
            TimeWindow(month_day=2, start=9, width=1),
            "09:00",
            "on the 2nd of the month around 09:00",
        ),
        (TimeWindow((0, 1, 2, 3, 4), 9, 4), None, "on weekdays between 09:00 and 13:00"),
        (TimeWindow((5, 6)), None, "at weekends"),
        (TimeWindow(start=22, width=3), None, "every night between 22:00 and 01:00"),
        (TimeWindow(month_day=1), None, "on the 1st of the month"),
        (TimeWindow(month_day=12), None, "on the 12th of the month"),
        (TimeWindow(month_day=23), None, "on the 23rd of the month"),
        (TimeWindow(month_day=LAST), None, "on the last day of the month"),
    ],
)
def test_windows_in_words(window: TimeWindow, around: str | None, text: str) -> None:
    assert when(window, around) == text


@pytest.mark.parametrize(
    ("action", "text"),
    [
        ("plan the week", "Plans the week"),
        ("Watch the tide", "Watches the tide"),
        ("have tea", "Has tea"),
        ("tidy the desk", "Tidies the desk"),
        ("Weekly planning", "Weekly planning"),
    ],
)
def test_an_action_as_a_sentence(action: str, text: str) -> None:
    assert sentence(action) == text


@pytest.mark.parametrize(
    ("text", "wording"),
    [
        ("---\ntype: fact\n---", "type: fact"),
        ("Read [[Port|the port]] ![[map]]", "Read Port|the port map"),
        ("<!-- hidden --> kettle", "hidden  kettle"),
        ("\x1b[31mPlan\u202e\x00 it", "[31mPlan it"),
    ],
)
def test_a_wording_has_no_markup(text: str, wording: str) -> None:
    assert wordings_of([text]) == (wording,)


def test_a_stray_wording_is_left_out() -> None:
    assert wordings_of([*["Run the backup"] * 11, "Go for a run"]) == ("Run the backup",)


def test_the_action_is_the_most_typical_wording() -> None:
    texts = ["Please plan the week.", "Plan the week", "Planning the week with Ilse and Tobias"]
    assert _action(texts, ["plan", "week"]) == "Plan the week"


def test_the_action_is_without_the_words_around_it() -> None:
    texts = ["Any news on the sleep score?", "So, the sleep score again.", "Chart the sleep score"]
    others = ["Any news on the roof?", "So, the car again.", "Chart the tides"]
    assert _action(texts, ["sleep"], others * 4) == "sleep score"


def _action(texts: list[str], features: list[str], others: list[str] | None = None) -> str:
    occasions = [
        Occasion(BEGIN + timedelta(days=day), text, str(day))
        for day, text in enumerate([*texts, *(others or ())])
    ]
    return action_of(History(occasions), range(len(texts)), features)
