"""The list of sessions, and the names that a wrong name may mean."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent
from djinn_memory.memories.episodes.recorder import Turn, record_turns
from djinn_memory.memories.sessions.requests import ListedSession

NOW = datetime(2026, 3, 4, 10, 0, tzinfo=UTC)


def turn(
    session: str, days: int, channel: str = "cli", client: str | None = None, text: str = "Said"
) -> Turn:
    kind = "observation" if channel == "calendar" else "interaction"
    at = NOW - timedelta(days=days)
    return Turn(kind, f"{text} {days}", "", at, session, channel, client=client)  # type: ignore[arg-type]


@pytest.fixture
def djinn(home: Home) -> Djinn:
    add_agent(home, "ben")
    djinn = Djinn(Home(home.root), clock=lambda: NOW)
    turns = [turn("Trip to Rome", days, "chatgpt", "chatgpt") for days in (40, 38)]
    turns += [turn("dig", days, "api", "claude") for days in (9, 5, 3)]
    turns += [turn("Team calendar", days, "calendar", text="Stand-up") for days in (20, 1)]
    record_turns(djinn.runtime, "me", turns)
    record_turns(djinn.runtime, "ben", [turn("his", 2)])
    return djinn


def test_sessions_are_listed_newest_first_with_their_turns_times_and_program(djinn: Djinn) -> None:
    page = djinn.sessions.list()
    assert [*page.sessions] == [
        ListedSession(
            "Team calendar", "me", 2, "2026-02-12T10:00:00Z", "2026-03-03T10:00:00Z", "calendar",
            None, False,
        ),
        ListedSession(
            "dig", "me", 3, "2026-02-23T10:00:00Z", "2026-03-01T10:00:00Z", "api", "claude", False
        ),
        ListedSession(
            "Trip to Rome", "me", 2, "2026-01-23T10:00:00Z", "2026-01-25T10:00:00Z", "chatgpt",
            "chatgpt", False,
        ),
    ]  # fmt: skip
    assert page.total == 3
    assert [each.session for each in djinn.sessions.list(agent="ben").sessions] == ["his"]


def test_a_session_says_when_it_was_extracted_and_what_came_of_it(djinn: Djinn) -> None:
    said = "Remember that my favourite city is Oslo."
    record_turns(djinn.runtime, "me", [turn("Harbour Talk", 0, text=said)])
    assert {each.extracted for each in djinn.sessions.list().sessions} == {None}
    report = djinn.sessions.extract("harbour talk")
    by_name = {each.session: each.extracted for each in djinn.sessions.list().sessions}
    extracted = by_name.pop("Harbour Talk")
    assert extracted and (extracted.memories, extracted.known) == (len(report.written), 0)
    assert {*by_name.values()} == {None}
    assert djinn.sessions.history("Harbour Talk").extracted == extracted
    assert djinn.sessions.history("dig").extracted is None
    [talk] = djinn.sessions.history("Harbour Talk").turns
    assert [each.path for each in talk.derived] == [each.path for each in report.written]
    assert not any(each.derived for each in djinn.sessions.history("dig").turns)


def test_a_session_says_whether_it_is_open_and_has_its_notes(djinn: Djinn) -> None:
    djinn.checkpoint("Half is dug.", session="dig")
    djinn.sleep("All is dug.", session="dig")
    djinn.sessions.start("Trip to Rome")
    assert [djinn.sessions.history(name).open for name in ("dig", "trip to rome")] == [False, True]
    assert {note.type for note in djinn.sessions.history("dig").notes} == {"checkpoint", "handoff"}
    assert djinn.sessions.history("Trip to Rome").notes == djinn.sessions.history().notes == ()


def test_an_open_session_is_listed_before_it_has_turns(djinn: Djinn) -> None:
    started = djinn.sessions.start().session
    djinn.sessions.start("dig")
    first, *rest = djinn.sessions.list().sessions
    assert (first.session, first.turns, first.open) == (started, 0, True)
    assert [each.session for each in rest if each.open] == ["dig"]
    djinn.sessions.end()
    assert started not in [each.session for each in djinn.sessions.list().sessions]
    # A session that was not used is in no channel and has no day of a turn.
    djinn.sessions.start()
    assert [each.session for each in djinn.sessions.list(channel="api").sessions] == ["dig"]


def test_a_filter_selects_sessions_and_not_their_turns(djinn: Djinn) -> None:
    [dig] = djinn.sessions.list(since="2026-02-27", until="2026-03-02").sessions
    assert (dig.session, dig.turns) == ("dig", 3)
    second = djinn.sessions.list(limit=1, skip=1)
    assert ([each.session for each in second.sessions], second.total) == (["dig"], 3)
    with pytest.raises(UsageError, match="not a date"):
        djinn.sessions.list(since="whenever")


def test_without_a_session_the_events_of_calendars_are_no_turns(djinn: Djinn) -> None:
    history = djinn.sessions.history()
    assert (history.total, {each.session for each in history.turns}) == (5, {"dig", "Trip to Rome"})
    named = djinn.sessions.history("Team calendar")
    assert [each.message for each in named.turns] == ["Stand-up 20", "Stand-up 1"]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("trip", ("Trip to Rome",)),
        ("Rome", ("Trip to Rome",)),
        ("digg", ("dig",)),
        ("t", ("Team calendar", "Trip to Rome")),
        ("nowhere", ()),
        ("his", ()),
    ],
)
def test_a_name_without_turns_suggests_near_names(
    djinn: Djinn, name: str, near: tuple[str, ...]
) -> None:
    assert djinn.sessions.history(name).near == near
    assert djinn.sessions.extract(name).near == near
    assert djinn.sessions.history("dig").near == djinn.sessions.extract("dig").near == ()
