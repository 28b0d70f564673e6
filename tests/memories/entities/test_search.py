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
