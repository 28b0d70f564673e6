"""Searches and recalls as of a day; memories that no longer hold."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import UsageError
from djinn_memory.home.home import Home
from tests.memories.facts.test_facts import Clock


@pytest.fixture
def clock() -> Clock:
    clock = Clock()
    clock.time = datetime(2026, 3, 4, 10, tzinfo=UTC)
    return clock


@pytest.fixture
def djinn(home: Home, clock: Clock) -> Djinn:
    return Djinn(home, clock=clock)


def note(home: Home, name: str, text: str, **fields: str) -> Path:
    path = home.root / "vaults" / "me" / f"{name}.md"
    path.parent.mkdir(exist_ok=True)
    lines = "".join(f"{key}: {value}\n" for key, value in fields.items())
    path.write_text(f"---\n{lines}---\n{text}\n")
    return path


def titles(djinn: Djinn, query: str, as_of: str | None = None) -> list[str]:
    found = [hit.title for hit in djinn.search(query, as_of=as_of).hits]
    recalled = [memory.title for memory in djinn.recall(query, as_of=as_of).memories]
    assert sorted(found) == sorted(recalled)
    return found


def test_memories_whose_period_does_not_cover_the_day_are_left_out(
    home: Home, djinn: Djinn
) -> None:
    lamp = "the harbour lamp burns whale oil"
    note(home, "old", lamp, type="lesson", created="2019-01-01", valid_to="2021-06-30")
    note(home, "new", f"{lamp} no more", type="lesson", created="2024-01-01",
         valid_from="2021-07")  # fmt: skip
    note(home, "late", f"{lamp}, they say", type="lesson", created="2025-05-05T10:00:00Z")
    for day, expected in {
        "2018-12-31": [], "2019-01-01": ["old"], "2021-06-30": ["old"], "2021-07-01": ["new"],
        "2025-05-04": ["new"], "2025-05-05": ["late", "new"], "2025-05-05T09:59Z": ["new"],
    }.items():  # fmt: skip
        assert sorted(titles(djinn, "harbour lamp whale oil", day)) == expected, day
        listed = djinn.memories.list(as_of=day)
        assert sorted(memory.title for memory in listed.memories) == expected
        assert listed.total == len(expected)
    by_title = {hit.title: hit.holds for hit in djinn.search("harbour lamp whale oil").hits}
    assert by_title == {"old": "until 30 June 2021", "new": "since July 2021", "late": None}


def test_a_fact_answers_with_the_value_of_the_day(djinn: Djinn, clock: Clock) -> None:
    clock.time = datetime(2020, 1, 1, tzinfo=UTC)
    djinn.facts.set("anna", "residence", "a lighthouse by the sea", evidence=["Letter"])
    clock.time = datetime(2023, 1, 1, tzinfo=UTC)
    djinn.facts.set("anna", "residence", "a houseboat on the canal")
    clock.time = datetime(2026, 3, 4, 10, tzinfo=UTC)
    [hit] = djinn.search("where does anna live: residence", as_of="2021-05").hits
    assert (hit.snippet, hit.excerpt) == ("a lighthouse by the sea",) * 2
    assert hit.as_of == "2021-05-31T23:59:59Z"
    assert hit.holds == "since 1 January 2020 until 1 January 2023"
    lines = Path(hit.file).read_text().splitlines()
    assert "a lighthouse by the sea" in lines[hit.lines[0] - 1]
    [memory] = djinn.recall("anna residence", as_of="2021-05-01").memories
    assert (memory.text, memory.as_of) == ("a lighthouse by the sea", "2021-05-01T23:59:59Z")
    [found] = djinn.facts.search("lighthouse by the sea", as_of="2021-05-01").facts
    assert found.fact.value == "a lighthouse by the sea"
    assert not djinn.facts.search("lighthouse by the sea", as_of="2024-05-01").facts
    assert not djinn.search("anna residence", as_of="2019-12-31").hits
    today = djinn.search("anna residence").hits[0]
    assert "houseboat" in today.snippet and today.as_of is None


def test_a_value_that_has_not_begun_does_not_hide_the_one_before(djinn: Djinn) -> None:
    djinn.facts.set("anna", "residence", "a lighthouse by the sea")
    djinn.facts.set("anna", "residence", "a houseboat on the canal", valid_from="2026-06-01")
    assert djinn.facts.get("anna", "residence").value == "a lighthouse by the sea"
    [hit] = djinn.search("anna residence").hits
    assert hit.snippet == "a lighthouse by the sea"
    [later] = djinn.search("anna residence", as_of="2026-06-01").hits
    assert "houseboat" in later.snippet and later.holds == "since 1 June 2026"


def test_what_no_longer_holds_comes_after_what_holds(home: Home, djinn: Djinn) -> None:
    text = "the harbour lamp burns whale oil"
    note(home, "a", text, title="Lamp of the harbour", type="lesson", valid_to="2021-06-30")
    note(home, "b", text, title="Lamp of the harbour", type="lesson")
    for name in ("b", "a"):
        hits = djinn.search("which oil does the harbour lamp burn").hits
        assert [hit.path for hit in hits] == ["b.md", "a.md"], name
    assert hits[1].score < hits[0].score


def test_a_superseded_decision_held_before(djinn: Djinn, clock: Clock) -> None:
    clock.time = datetime(2024, 1, 1, tzinfo=UTC)
    djinn.remember("decision", "Whale oil", "The harbour lamp burns whale oil.")
    clock.time = datetime(2025, 1, 1, tzinfo=UTC)
    djinn.remember("decision", "Rape oil", "Now it burns rape oil.", supersedes="Whale oil")
    assert titles(djinn, "harbour lamp whale oil", "2024-06-01") == ["Whale oil"]


HOSTILE = ["[]", "[2020-01-01, 2030-01-01]", "17", "0000-00-00", "9999-12-31", "{a: b}", "true",
           "2020-01-01T10:00:00+25:00", "2020-01-01T10:00:00+14:00", "2020-13", "~", "|\n  x",
           "'2020-01-01 or so'", '"\\0"', "1" * 5000]  # fmt: skip


@pytest.mark.few(2)
@pytest.mark.parametrize("field", ["valid_from", "valid_to", "evidence", "expires"])
@pytest.mark.parametrize("kind", ["lesson", "fact"])
def test_hostile_periods_break_nothing(home: Home, djinn: Djinn, kind: str, field: str) -> None:
    history = "\n## History\n\n- soon (web, x; from never; evidence 1): whale\n- 2026: x\n"
    for number, value in enumerate(HOSTILE):
        note(home, f"{number}", f"whale oil {number}{history}", type=kind,
             title=f"harbour/lamp {number}", **{field: value})  # fmt: skip
    for day in ("1999-01-01", "2025-01-01", "9999-12-31"):
        djinn.search("whale oil", as_of=day)
        djinn.memories.list(as_of=day)
        djinn.facts.list(as_of=day)
    hits = djinn.search("whale oil", expired=True, limit=100).hits
    assert len({hit.title for hit in hits}) == len(HOSTILE)
    for number in range(len(HOSTILE)) if kind == "fact" else ():
        djinn.facts.set("harbour", f"lamp {number}", "rape oil")
        assert djinn.facts.get("harbour", f"lamp {number}").value == "rape oil"


@pytest.mark.parametrize("day", ["soon", "2026-13-01", "0000-00-00", "99999"])
def test_what_is_no_day(djinn: Djinn, day: str) -> None:
    for ask in (djinn.search, djinn.recall, djinn.facts.search):
        with pytest.raises(UsageError, match=f"as_of {day}: not a date"):
            ask("lamp", as_of=day)  # type: ignore[operator]
