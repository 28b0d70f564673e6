"""Choices that messages state, and what is mostly chosen in a situation."""

from __future__ import annotations

from datetime import timedelta

import pytest

from djinn_memory.memories.episodes.occasions import Occasion
from djinn_memory.memories.patterns.detection.choices import (
    ConsistentChoice,
    _chosen_of,
    _contrasts_in,
    _reports_in,
    find_choices,
)
from djinn_memory.memories.patterns.detection.history import History
from tests.growth import assert_linear
from tests.memories.patterns.years import BEGIN


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("I'll take tea over coffee", [("tea", "coffee")]),
        ("Had tea instead of a coffee", [("tea", "coffee")]),
        ("Chose green tea rather than coffee.", [("tea", "coffee")]),
        ("Tea, not coffee, please", [("Tea", "coffee")]),
        ("Tea or coffee? Coffee, of course", [("Tea", "coffee")]),
        ("I am not sure", []),
        ("Moved over there", []),
        ("Tea over tea", []),
    ],
)
def test_words_against_each_other(text: str, pairs: list[tuple[str, str]]) -> None:
    assert [*_contrasts_in(text)] == pairs


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("Tea over coffee", "tea"),
        ("Tea or coffee? Coffee, of course", "coffe"),
        ("Tea or coffee? Both", None),
        ("Breakfast: tea, please", "tea"),
        ("No coffee today; tea", "tea"),
        ("I thought about tea, but coffee it is", "coffe"),
        ("Skipped the coffee", None),
        ("Considered cocoa but tea won", "tea"),
        ("A walk by the sea", None),
    ],
)
def test_the_chosen_option(text: str, chosen: str | None) -> None:
    assert _chosen_of(text, ("cocoa", "coffe", "tea")) == chosen


def test_a_choice_in_varied_words() -> None:
    """The words that messages set against each other are options in all others, too."""
    usual = ("Tea over coffee", "Tea, not cocoa", "Lunch: tea for me", "No cocoa today; tea")
    other = ("Coffee rather than cocoa", "Cocoa instead of coffee", "Lunch: coffee", "Cocoa again")
    texts = [text for _ in range(9) for text in usual] + [text for _ in range(3) for text in other]
    [choice] = find_choices(
        History(
            Occasion(BEGIN + timedelta(days=3 * number), text, str(number))
            for number, text in enumerate(texts)
        ),
        0.001,
    )
    assert choice.name == "Chooses tea over cocoa and coffee"
    assert choice.evidence.days == 36


def test_a_situation_is_no_option() -> None:
    """In most messages with both, `canteen` does not stand against `soup`."""
    texts = ["At the canteen, no soup today; salad", "At the canteen, soup instead of salad",
             "Soup at the canteen", "At the canteen I had soup"] * 12  # fmt: skip
    history = History(
        Occasion(BEGIN + timedelta(days=number), text, str(number))
        for number, text in enumerate(texts)
    )
    assert [choice.name for choice in find_choices(history, 0.001)] == ["Chooses soup over salad"]


def choices(chosen: int, against: int) -> list[ConsistentChoice]:
    texts = ["Tea over coffee"] * chosen + ["Coffee over tea"] * against
    return find_choices(
        History(
            Occasion(BEGIN + timedelta(days=3 * number), text, str(number))
            for number, text in enumerate(texts)
        ),
        0.001,
    )


def test_a_consistent_choice() -> None:
    [choice] = choices(30, 4)
    assert choice.action == "choose tea over coffee"
    assert (choice.evidence.days, choice.evidence.against) == (30, 4)


def test_choices_that_vary_are_none() -> None:
    assert choices(20, 18) == []
    assert choices(5, 0) == []


@pytest.mark.parametrize(
    ("text", "reports"),
    [
        (
            "Ordered an oat latte",
            [("order", "", "order an oat latte"), ("order", "noun latt", "order an oat latte")],
        ),
        ("Paid for lunch in cash", [("pay", "by", "pay in cash")]),
        ("Paid by card", [("pay", "by", "pay by card")]),
        ("Went to Lyon by train", [("go", "by", "go by train")]),
        ("Went with my sister", []),
        (
            "Chose postgres for the storage of tides",
            [
                ("choose", "", "choose postgres"),
                ("choose", "for storag", "choose postgres for the storage"),
            ],
        ),
        (
            "Ordered tea and took the stairs for once",
            [
                ("order", "", "order tea"),
                ("take", "", "take the stairs"),
            ],
        ),
        ("Had tea for breakfast", [("have", "for breakfast", "have tea for breakfast")]),
        ("Had a meeting", []),
        ("Order groceries", []),
        ("Paid the rent", []),
        ("Picked up the kids", []),
        ("I never ordered tea", []),
        ("Did I order tea, or have I ordered coffee?", []),
        ("Ordered tea over coffee", []),
    ],
)
def test_reports_in_a_message(text: str, reports: list[tuple[str, str, str]]) -> None:
    assert [(each.verb, each.limit, each.action) for each in _reports_in(text)] == reports


def usual(*texts: str) -> list[ConsistentChoice]:
    """The usual choices of messages, one every third day."""
    return find_choices(
        History(
            Occasion(BEGIN + timedelta(days=3 * number), text, str(number))
            for number, text in enumerate(texts)
        ),
        0.01,
    )


def test_two_options_need_a_probability_below_the_limit() -> None:
    # At least 19 of 24 even choices: 0.0033. At least 18: 0.0113. The limit is 0.01 in 2 options.
    [choice] = usual(*["Paid by card"] * 19, *["Paid in cash"] * 5)
    assert (choice.action, choice.evidence.days, choice.evidence.against) == ("pay by card", 19, 5)
    assert choice.evidence.q == pytest.approx(0.0066, abs=0.0001)
    assert usual(*["Paid by card"] * 18, *["Paid in cash"] * 6) == []


def test_an_option_alone_needs_a_verb_of_choice() -> None:
    # 8 of 8 even choices: 0.0039. 6 of 6: 0.0156.
    assert [choice.action for choice in usual(*["Chose postgres"] * 8)] == ["choose postgres"]
    assert usual(*["Chose postgres"] * 6) == []
    assert usual(*["Ordered tea"] * 40) == []
    assert usual(*["Chose a restaurant"] * 40) == []


def test_the_noun_of_all_options_limits_the_situation() -> None:
    seats = ["Took the window seat", "Took the aisle seat", "Took the window seat"] * 10
    others = [f"Took the {thing}" for thing in ("dog", "bins", "ladder", "boat", "chair")] * 6
    assert usual(*seats) == []
    [choice] = usual(*seats, *["Took the window seat"] * 20, *others)
    assert (choice.action, choice.evidence.days, choice.evidence.against) == (
        "take the window seat",
        40,
        10,
    )
    assert choice.words == ("window seat", "when:take")


def test_one_choice_in_two_situations_is_one() -> None:
    lattes = [*["Ordered an oat latte"] * 20, *["Ordered a plain latte"] * 2, "Ordered tea"]
    assert [choice.action for choice in usual(*lattes)] == ["order an oat latte"]


def test_many_a_day_count_once() -> None:
    texts = ["Paid by card"] * 40 + ["Paid in cash"] * 2
    occasions = [
        Occasion(BEGIN + timedelta(days=number // 10, minutes=number), text, str(number))
        for number, text in enumerate(texts)
    ]
    assert find_choices(History(occasions), 0.01) == []
    assert find_choices(History([]), 0.01) == []


def test_the_cost_grows_with_the_episodes() -> None:
    def learned(number: int) -> None:
        usual(*(f"Ordered tea{key % 50} for the lunch of {'many ' * 30}" for key in range(number)))

    assert_linear(learned, 400)
