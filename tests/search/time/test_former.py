"""Questions about what held before, and no longer holds."""

from __future__ import annotations

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.search.time.now import asks_for_former
from tests.memories.facts.test_facts import NOW


@pytest.mark.parametrize(
    "question",
    [
        "where did I live before?", "where did I live before", "Where did I live before I moved?",
        "what did we use before that?", "where I used to live", "what was her previous job?",
        "which doctor did I use to see", "my former employer", "where was I previously?",
        "who used to run the harbour",
    ],
)  # fmt: skip
def test_questions_for_what_held_before(question: str) -> None:
    assert asks_for_former(question)


@pytest.mark.parametrize(
    "question",
    [
        "where do I live?", "what happened before the launch?", "before May", "check before you go",
        "which command is used to list files", "I am used to working late", "before 2020",
    ],
)  # fmt: skip
def test_other_questions(question: str) -> None:
    assert not asks_for_former(question)


@pytest.fixture
def djinn(home: Home) -> Djinn:
    djinn = Djinn(home, clock=lambda: NOW)
    for city, since in (("Gdynia", "2019-05"), ("Lisbon", "2023-04-02"), ("Warsaw", "2025-07-01")):
        djinn.facts.set("user", "city", city, valid_from=since)
        djinn.facts.set("anna", "city", f"{city} by the sea", valid_from=since)
    djinn.facts.set("user", "employer", "Acme", valid_from="2020")
    djinn.facts.set("user", "employer", "Zenith", valid_from="2024")
    djinn.facts.set("user", "car", "a blue van")
    for number in range(4):
        text = f"I live and learn number {number}: people lived in houses before."
        djinn.remember("lesson", f"Living {number}", text, force=True)
    djinn.remember("decision", "Search engine", "We search with Lucene.", fields={
        "valid_to": "2024-01-01", "status": "superseded",
    })  # fmt: skip
    djinn.remember("decision", "Search engine now", "We search with SQLite.")
    return djinn


@pytest.mark.parametrize(
    "question", ["where did I live before?", "in which city did I use to live"]
)
def test_earlier_places_come_before_the_current_one(djinn: Djinn, question: str) -> None:
    result = djinn.search(question)
    first = result.hits[0]
    assert (first.title, first.heading[-1], first.holds) == (
        "user/city", "History", "until 1 July 2025",
    )  # fmt: skip
    assert first.snippet.index("Lisbon") < first.snippet.index("Gdynia")
    assert "Warsaw" not in first.snippet and result.confident
    recalled = djinn.recall(question)
    assert recalled.confident and recalled.memories[0].title == "user/city"
    assert recalled.memories[0].text.startswith("- Lisbon (from 2023-04-02 until")


def test_the_person_of_the_question_is_meant(djinn: Djinn) -> None:
    hit = djinn.search("where did Anna live before?").hits[0]
    assert (hit.title, hit.heading[-1]) == ("anna/city", "History")
    assert djinn.search("my previous employer").hits[0].title == "user/employer"


def test_other_questions_keep_their_order(djinn: Djinn) -> None:
    for question in ("where do I live?", "who is my employer"):
        assert all("former" not in hit.legs for hit in djinn.search(question).hits)
    assert djinn.search("user city").hits[0].heading[-1:] != ("History",)


def test_a_memory_that_ended_comes_first_if_it_answers(djinn: Djinn) -> None:
    question = "with what did we search before?"
    assert djinn.search(question).hits[0].title == "Search engine"
    assert djinn.recall(question).memories[0].title == "Search engine"
    assert djinn.search("with what do we search?").hits[0].title == "Search engine now"


def test_a_search_of_facts_finds_earlier_values_with_their_periods(djinn: Djinn) -> None:
    hits = djinn.facts.search("where did I live before").facts
    assert [(hit.fact.category, hit.fact.value, hit.fact.holds) for hit in hits[:2]] == [
        ("user", "Lisbon", "since 2 April 2023 until 1 July 2025"),
        ("user", "Gdynia", "since 1 May 2019 until 2 April 2023"),
    ]
    assert hits[0].fact.as_of == "2023-04-02T00:00:00Z"
    [now, *_] = djinn.facts.search("where do I live").facts
    assert (now.fact.value, now.fact.as_of) == ("Warsaw", None)
    assert [hit.fact.value for hit in djinn.facts.search("previous employer", limit=1).facts] == [
        "Acme"
    ]


def test_the_setting_for_dates_turns_it_off(djinn: Djinn) -> None:
    djinn.home.edit((("search", "dates"), False))
    with Djinn(Home(djinn.home.root), clock=lambda: NOW) as plain:
        assert plain.search("where did I live before?").hits[0].title != "user/city"
