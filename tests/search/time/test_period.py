"""Questions with dates: which memories come first, and which questions change nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from djinn_memory.models import SearchResult

NOW = datetime(2026, 5, 14, 12, tzinfo=UTC)
"""A Thursday."""

NOTES = {
    "standup-a.md": "---\ncreated: 2026-05-12T09:00:00Z\n---\nThe tide gauge was late again.\n",
    "standup-b.md": "---\ncreated: 2026-05-05T09:00:00Z\n---\nThe tide gauge was late again.\n",
    "standup-c.md": "---\ncreated: 2026-03-10T09:00:00Z\n---\nThe tide gauge was late again.\n",
    "standup-d.md": "---\ncreated: 2025-06-10T09:00:00Z\n---\nThe tide gauge was late again.\n",
    "2026-04-07.md": "The tide gauge was late again, said the pilot.\n",
    "plan.md": "# Plan\n\nThe late tide gauge moves to the new pier in June.\n",
    "plain.md": "The tide gauge is late, late, late: the tide gauge was late again.\n",
    "other.md": "---\ncreated: 2026-05-12T10:00:00Z\n---\nNothing but gulls and herons.\n",
    "meeting 3 Feb 2026.md": "The tide gauge was late again, wrote the warden.\n",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home, _ = init(tmp_path_factory.mktemp("dates") / "home")
    home.edit((("embedding", "provider"), "hashing"))
    for path, text in NOTES.items():
        (home.root / "vaults" / "shared" / path).write_text(text)
    return home


@pytest.fixture
def djinn(home: Home) -> Djinn:
    djinn = Djinn(home, clock=lambda: NOW)
    djinn.index()
    return djinn


def paths(result: SearchResult) -> list[str]:
    return [hit.path for hit in result.hits]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("was the tide gauge late last Tuesday?", "standup-a.md"),
        ("was the tide gauge late last week?", "standup-b.md"),
        ("was the tide gauge late in March?", "standup-c.md"),
        ("was the tide gauge late in June 2025?", "standup-d.md"),
        ("was the tide gauge late on 7 April?", "2026-04-07.md"),
        ("was the tide gauge late in February?", "meeting 3 Feb 2026.md"),
    ],
)
def test_memories_of_the_time_come_first(djinn: Djinn, question: str, first: str) -> None:
    assert paths(djinn.search(question))[0] == first


def test_a_date_only_changes_the_order(djinn: Djinn) -> None:
    dated = djinn.search("was the tide gauge late last Tuesday?", limit=20)
    plain = djinn.search("was the tide gauge late?", limit=20)
    assert not plain.periods
    assert {hit.path: hit.score for hit in plain.hits}.items() <= {
        hit.path: hit.score for hit in dated.hits
    }.items()


def test_the_period_is_in_the_answer(djinn: Djinn) -> None:
    result = djinn.search("was the tide gauge late last Tuesday?")
    [period] = result.periods
    assert (period.words, period.since, period.until) == (
        "last Tuesday",
        "2026-05-12",
        "2026-05-12",
    )
    assert result.hits[0].legs["dates"].raw == 1
    assert "dates" not in result.hits[-1].legs


def test_a_text_that_names_the_day_comes_before_those_that_do_not(djinn: Djinn) -> None:
    paths_found = paths(djinn.search("was the tide gauge late in June?"))
    assert set(paths_found[:2]) == {"standup-d.md", "plan.md"}


def test_a_month_without_a_year_is_one_that_has_memories(home: Home) -> None:
    later = Djinn(home, clock=lambda: datetime(2029, 1, 1, tzinfo=UTC))
    result = later.search("was the tide gauge late in March?")
    assert paths(result)[0] == "standup-c.md"
    assert result.periods[0].since == "2026-03-01"


def test_files_without_dates_keep_their_order(tmp_path: Path) -> None:
    home, _ = init(tmp_path / "home")
    home.edit((("embedding", "provider"), "hashing"))
    for number in range(8):
        text = "The tide gauge " + "was late again and " * number + "then stopped.\n"
        (home.root / "vaults" / "shared" / f"{number}.md").write_text(text)
    djinn = Djinn(home)
    djinn.index()
    asked = paths(djinn.search("tide gauge late today"))
    home.edit((("search", "dates"), False))
    assert paths(Djinn(Home(home.root)).search("tide gauge late today")) == asked


def test_a_memory_that_was_asked_for_by_name_stays_first(djinn: Djinn) -> None:
    assert paths(djinn.search("meeting 3 Feb 2026"))[0] == "meeting 3 Feb 2026.md"


EVENTS = {
    "launch.md": "---\ncreated: 2026-04-20\n---\n# Launch\n\nThe new feed went live.\n",
    "before.md": "---\ncreated: 2026-04-01\n---\nThe pilot was worried about the feed.\n",
    "after.md": "---\ncreated: 2026-05-02\n---\nThe pilot was worried about the feed.\n",
    "plans.md": "---\ncreated: 2026-01-02\n---\nThe launch of the feed needs a plan.\n",
    "first.md": "---\ncreated: 2026-01-05\n---\nThe audit of the feed begins.\n",
    "second.md": "---\ncreated: 2026-03-05\n---\nThe audit of the feed ends.\n",
    "march.md": "---\ncreated: 2026-03-10\n---\n# Regatta in the harbour\n\nEight boats.\n",
    "may.md": "---\ncreated: 2026-05-08\n---\n# Regatta on the lake\n\nTwo boats sank.\n",
    **{
        f"drill-{month}.md": f"---\ncreated: 2026-0{month}-03\n---\n# Drill\n\nAll went well.\n"
        for month in range(1, 5)
    },
}


@pytest.fixture(scope="module")
def eventful(tmp_path_factory: pytest.TempPathFactory) -> Djinn:
    home, _ = init(tmp_path_factory.mktemp("events") / "home")
    home.edit((("embedding", "provider"), "hashing"))
    for path, text in EVENTS.items():
        (home.root / "vaults" / "shared" / path).write_text(text)
    djinn = Djinn(home, clock=lambda: NOW)
    djinn.index()
    return djinn


@pytest.mark.parametrize(
    ("question", "since", "until"),
    [
        ("was the pilot worried before the launch?", None, "2026-04-20"),
        ("was the pilot worried about the feed since the launch", "2026-04-20", None),
        ("was the pilot worried during the launch?", "2026-04-20", "2026-04-20"),
    ],
)
def test_an_event_is_dated_by_the_memory_of_it(
    eventful: Djinn, question: str, since: str | None, until: str | None
) -> None:
    [period] = eventful.search(question).periods
    assert (period.since, period.until) == (since, until)


@pytest.mark.parametrize(
    "question",
    [
        "was the pilot worried before the drill?",
        "was the pilot worried before the storm?",
        "was the pilot worried after the first time?",
        "what comes before the colon",
    ],
)
def test_an_uncertain_event_changes_nothing(eventful: Djinn, question: str) -> None:
    assert not eventful.search(question).periods


@pytest.mark.parametrize(
    ("question", "until", "events"),
    [
        (
            "which boats sank before the regatta on the lake?", "2026-05-08",
            ("Regatta on the lake (2026-05-08)", "Regatta in the harbour (2026-03-10)"),
        ),
        (
            "was the pilot worried before the regatta?", None,
            {"Regatta in the harbour (2026-03-10)", "Regatta on the lake (2026-05-08)"},
        ),
        (
            "did any boats sink on the lake before the regatta?", "2026-05-08",
            ("Regatta on the lake (2026-05-08)", "Regatta in the harbour (2026-03-10)"),
        ),
        ("what began before the audit?", None, {"first (2026-01-05)", "second (2026-03-05)"}),
    ],
)  # fmt: skip
def test_of_several_events_the_best_is_taken_and_the_others_are_named(
    eventful: Djinn, question: str, until: str | None, events: object
) -> None:
    [period] = eventful.search(question).periods
    assert until in (None, period.until)
    assert (set(period.events) if isinstance(events, set) else period.events) == events


def test_memories_before_an_event_come_first(eventful: Djinn) -> None:
    order = paths(eventful.search("was the pilot worried about the feed before the launch?"))
    assert order.index("before.md") < order.index("after.md")


def test_a_question_without_a_subject_lists_the_memories_of_the_time(djinn: Djinn) -> None:
    result = djinn.search("What did I do in May?")
    assert paths(result) == ["standup-b.md", "standup-a.md", "other.md"]
    assert result.confident
    assert djinn.recall("what happened last Tuesday?").confident


def test_a_question_without_a_subject_has_no_match_in_an_empty_period(djinn: Djinn) -> None:
    assert not djinn.search("what was decided in 1999?").confident


def test_a_question_with_a_subject_needs_a_memory_about_it(djinn: Djinn) -> None:
    assert not djinn.search("which whales did the painter see in May?").confident


def test_what_recurs_does_not_hide_the_rest_of_the_period(tmp_path: Path) -> None:
    home, _ = init(tmp_path / "home")
    home.edit((("embedding", "provider"), "hashing"))
    notes = home.root / "vaults" / "shared"
    for day in range(1, 13):
        date = f"2026-04-{day:02}"
        (notes / f"{date}.md").write_text(f"---\ncreated: {date}\ntitle: Standup\n---\nDaily.\n")
    (notes / "zoo.md").write_text("---\ncreated: 2026-04-05\n---\nWe fed the seals.\n")
    djinn = Djinn(home, clock=lambda: NOW)
    djinn.index()
    assert "zoo.md" in paths(djinn.search("what did we do in April?", limit=5))


TOLD = {
    "2026-01-05": "Vera Brandt leads the dredging survey.",
    "2026-02-20": "From 1 May 2026 Otto Lind will lead the dredging survey.",
    "2026-03-09": "Ines Falk leads the dredging survey since 2 February 2026.",
    "2026-04-02": "The kettle in the office is broken.",
    "2026-05-11": "The gate of the office squeaks.",
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Djinn:
    home, _ = init(tmp_path_factory.mktemp("told") / "home")
    home.edit((("embedding", "provider"), "hashing"))
    for day, text in TOLD.items():
        path = home.root / "vaults" / "shared" / f"{day.replace('-', '')}.md"
        path.write_text(f"---\ncreated: {day}\n---\n{text}\n")
    for name in ("June meeting", "May meeting"):
        path = home.root / "vaults" / "shared" / f"{name}.md"
        path.write_text("---\ncreated: 2024-06-01\n---\nThe pump was repaired.\n")
    (home.root / "vaults" / "shared" / "plan.md").write_text(
        "---\ncreated: 2026-03-20\nstatus: cancelled\n---\n"
        "From 10 April 2026 Knut Berg will lead the dredging survey.\n"
    )
    djinn = Djinn(home, clock=lambda: NOW)
    djinn.index()
    return djinn


@pytest.mark.parametrize(
    ("day", "first"),
    [
        ("on 20 January 2026", "Vera Brandt"),
        ("on 10 February 2026", "Ines Falk"),
        ("in April", "Ines Falk"),
        ("on 30 April 2026", "Ines Falk"),
        ("on 12 May 2026", "Otto Lind"),
        ("as of 2026-04-30", "Ines Falk"),
    ],
)
def test_a_statement_holds_from_the_day_that_it_names_until_the_next(
    told: Djinn, day: str, first: str
) -> None:
    for question in (f"who led the dredging survey {day}?", f"{day}, who led the dredging survey?"):
        assert first in told.search(question).hits[0].snippet


def test_a_recall_gives_what_held_although_later_statements_repeat_it(tmp_path: Path) -> None:
    home, _ = init(tmp_path / "home")
    for day, text in {
        "2025-11-06": "Mira Falk lives at 60 Orchard Way.",
        "2025-12-15": "Mira Falk now lives at 3 Abbey Close, I think.",
        "2026-02-07": "Mira Falk lives at 3 Abbey Close.",
        "2026-03-07": "Mira Falk lives at 3 Abbey Close.",
        "2026-03-09": "Mira Falk lives at 3 Abbey Close.",
        "2026-04-08": "The pump was repaired.",
    }.items():
        path = home.root / "vaults" / "shared" / f"{day}.md"
        path.write_text(f"---\ncreated: {day}\n---\n{text}\n")
    djinn = Djinn(home, clock=lambda: NOW)
    djinn.index()
    [memory, *_] = djinn.recall("where did Mira Falk live on 5 January 2026?").memories
    assert memory.path == "2025-12-15.md"


def test_a_note_of_the_period_about_something_else_displaces_nothing(told: Djinn) -> None:
    result = told.search("who led the dredging survey in May?")
    assert "dredging survey" in result.hits[0].snippet
    assert result.confident == told.search("who led the dredging survey?").confident


def test_a_title_with_the_words_of_the_date_comes_first(told: Djinn) -> None:
    assert told.search("was the pump repaired in May?").hits[0].title == "May meeting"


def test_a_fact_shows_the_value_of_the_period(tmp_path: Path) -> None:
    home, _ = init(tmp_path / "home")
    home.edit((("embedding", "provider"), "hashing"))
    djinn = Djinn(home, clock=lambda: NOW)
    djinn.facts.set("survey", "lead", "Vera Brandt", valid_from="2026-01-05")
    djinn.facts.set("survey", "lead", "Otto Lind", valid_from="2026-05-01")
    [hit, *_] = djinn.search("who was the lead of the survey in March?").hits
    assert (hit.snippet, hit.valid_to) == ("Vera Brandt", "2026-05-01")
    [memory, *_] = djinn.recall("who was the lead of the survey on 3 March 2026?").memories
    assert memory.text == "Vera Brandt"
