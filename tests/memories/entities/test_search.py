"""Who led the project in May: searches and recalls find the relation that held then."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from tests.memories.facts.test_facts import Clock

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=UTC)


@pytest.fixture
def djinn(home: Home) -> Djinn:
    clock = Clock()
    clock.time = NOW
    djinn = Djinn(home, clock=clock)
    for name in ("Maren Holt", "Bob Alder", "Ada Lund"):
        djinn.entities.add(name, "person", f"{name} works at the harbour.")
    djinn.entities.add("Harbour lamp", "project", "A new lamp for the pier.")
    djinn.entities.add("Tide gauge", "project", "Measures the tide.")
    for name, leader, start in (
        ("Harbour lamp", "Bob Alder", "2026-01-01"),
        ("Harbour lamp", "Maren Holt", "2026-05-01"),
        ("Harbour lamp", "Ada Lund", "2026-08-15"),
    ):
        djinn.entities.set(name, "led-by", f"[[{leader}]]", valid_from=start)
    djinn.entities.set("Harbour lamp", "city", "Gdynia", valid_from="2025-01-01")
    for month in range(1, 11):
        djinn.remember(
            "decision", f"Meeting {month}", f"The project meeting of month {month} was short.",
            force=True, fields={"date": f"2026-{month:02}-03"},
        )  # fmt: skip
    return djinn


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("who led the harbour lamp in May", "led-by: Maren Holt"),
        ("who led the project in May", "led-by: Maren Holt"),
        ("Who led the harbour lamp in February 2026?", "led-by: Bob Alder"),
        (
            "who led the harbour lamp between January and June",
            "led-by: Bob Alder; led-by: Maren Holt",
        ),
        ("which city was the harbour lamp in, in April", "city: Gdynia"),
    ],
)  # fmt: skip
def test_a_question_with_a_time(djinn: Djinn, question: str, answer: str) -> None:
    hits = djinn.search(question).hits
    hit = next(hit for hit in hits if hit.title == "Harbour lamp")
    assert hit.rank <= 3 and hit.snippet == answer


def test_a_search_as_of_a_day(djinn: Djinn) -> None:
    for day, answer in (
        ("2026-02-01", "Bob Alder"),
        ("2026-06-01", "Maren Holt"),
        ("2026-09", "Ada Lund"),
    ):
        hit = djinn.search("who led the harbour lamp", as_of=day).hits[0]
        assert (hit.title, hit.snippet) == ("Harbour lamp", f"led-by: {answer}")
        assert hit.as_of and hit.lines[0] > 1
    titles = [hit.title for hit in djinn.search("harbour lamp", as_of="2024-01-01").hits]
    assert "Harbour lamp" not in titles and "Maren Holt" not in titles
    titles = [
        memory.title
        for memory in djinn.recall("who led the harbour lamp", as_of="2026-02-01").memories
    ]
    assert titles[0] == "Harbour lamp"


def test_entities_do_not_answer_every_question_about_a_time(djinn: Djinn) -> None:
    assert djinn.search("what was the meeting in May").hits[0].title == "Meeting 5"
    titles = [hit.title for hit in djinn.search("what did we do in May").hits]
    assert titles == ["Meeting 5"]


@pytest.fixture
def related(djinn: Djinn) -> Djinn:
    djinn.entities.add("Northwind", "company")
    djinn.entities.set("Tide gauge", "owner", "[[Bob Alder]]", valid_from="2026-02-01")
    djinn.entities.set(
        "Bob Alder", "works at", "[[Northwind]]", valid_from="2024-02-01", valid_to="2026-06-01"
    )
    djinn.entities.set("Maren Holt", "role", "captain", valid_from="2026-02-01")
    # In a large home names alone do not make an answer confident.
    for number in range(120):
        djinn.remember("note", f"Harbour lamp tide gauge log {number}", "Nothing.", force=True)
    return djinn


ANSWERED = {
    "who led the harbour lamp in May": "led-by: Maren Holt",
    "who led the project in May": "led-by: Maren Holt",
    "by whom was the harbour lamp led in May?": "led-by: Maren Holt",
    "who was the leader of the harbour lamp in September?": "led-by: Ada Lund",
    "who leads the harbour lamp": "led-by: Ada Lund",
    "who leads the harbour lamp now": "led-by: Ada Lund",
    "who led the harbour lamp between January and June": "led-by: Bob Alder; led-by: Maren Holt",
    "who owned the tide gauge in March": "owner: Bob Alder",
    "who is the owner of the tide gauge?": "owner: Bob Alder",
    "where did Bob Alder work in March 2026": "works at: Northwind",
    "who worked at Northwind in March 2026": "works at: Northwind",
    "did Maren lead the harbour lamp in June": "led-by: Maren Holt",
    "what was Maren's role in June": "role: captain",
}
NOT_ANSWERED = (
    "who painted the harbour lamp in May",
    "who led the moon project in May",
    "who owned the harbour lamp in May",
    "who owned the tide gauge in 2025", "who won the election in May", "who led Northwind in May",

    "what did the harbour lamp cost in June", "who led the army in May",
    "who owned the lighthouse in March", "who works at Southwind",
)  # fmt: skip


@pytest.mark.soak
def test_questions_that_a_relation_answers_wholly(related: Djinn) -> None:
    for question, answer in ANSWERED.items():
        result = related.search(question)
        assert (result.confident, result.hits[0].snippet) == (True, answer), question
        recalled = related.recall(question)
        assert recalled.confident and answer in recalled.memories[0].text, question


@pytest.mark.soak
def test_questions_that_no_relation_answers(related: Djinn) -> None:
    for question in NOT_ANSWERED:
        assert not related.search(question).confident, question


def test_the_whole_key_is_highlighted(djinn: Djinn) -> None:
    hit = djinn.search("who led the harbour lamp in May").hits[0]
    assert [hit.snippet[low:high] for low, high in hit.marks] == ["led-by"]


def test_recalls_and_contexts_show_the_values_that_hold(djinn: Djinn) -> None:
    [memory] = [
        each
        for each in djinn.recall("harbour lamp for the pier").memories
        if each.title == "Harbour lamp"
    ]
    assert memory.text == (
        "A new lamp for the pier.\n\n- city: Gdynia (from 2025-01-01)\n"
        "- led-by: [[Ada Lund]] (from 2026-08-15)"
    )
    excerpts = [*djinn.context("harbour lamp").entities, *djinn.wake("harbour lamp").entities]
    texts = [each.text for each in excerpts if each.title == "Harbour lamp"]
    assert texts
    for text in texts:
        assert "led-by: [[Ada Lund]] (from 2026-08-15)" in text
        assert "## History" not in text and "recorded" not in text
