"""The turns of a session in sequence, and sessions that are started and ended by themselves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from djinn_memory.chunking.tokens import token_counts
from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent
from djinn_memory.memories.briefing.markdown import markdown
from djinn_memory.memories.episodes import journals
from djinn_memory.memories.episodes.recorder import Turn, record_turns

NOW = datetime(2026, 3, 4, 10, 0, tzinfo=UTC)


def turn(number: int, session: str = "dig", at: datetime = NOW, text: str = "Said") -> Turn:
    kind = ("interaction", "observation", "outcome")[number % 3]
    return Turn(kind, f"{text} {number}", "Yes." * (kind == "interaction"), at, session, "cli")  # type: ignore[arg-type]


@pytest.fixture
def djinn(home: Home) -> Djinn:
    return Djinn(home, clock=lambda: NOW)


def test_turns_of_one_second_keep_the_order_of_their_journal(djinn: Djinn) -> None:
    record_turns(djinn.runtime, "me", map(turn, range(30)))
    turns = djinn.sessions.history("dig").turns
    assert [each.message for each in turns] == [f"Said {number}" for number in range(30)]
    assert [each.type for each in turns[:3]] == ["interaction", "observation", "outcome"]
    assert [each.response for each in turns[:3]] == ["Yes.", None, None]
    last = djinn.sessions.history("dig", last=4)
    assert [each.message for each in last.turns] == [f"Said {number}" for number in range(26, 30)]
    assert last.total == 30
    listed = djinn.episodes.list(limit=3).episodes
    assert [each.title for each in listed] == ["Said 29", "Said 28", "Said 27"]


def test_a_day_that_fills_many_journals_keeps_its_order(
    djinn: Djinn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "FULL", 600)
    record_turns(djinn.runtime, "me", map(turn, range(24)))
    turns = djinn.sessions.history("dig").turns
    assert len({each.path for each in turns}) > 10
    assert [each.message for each in turns] == [f"Said {number}" for number in range(24)]


def test_without_a_session_the_current_one_counts_else_all(djinn: Djinn, home: Home) -> None:
    add_agent(home, "ben")
    djinn = Djinn(Home(home.root), clock=lambda: NOW)
    record_turns(djinn.runtime, "me", [turn(0, "dig"), turn(3, "sail")])
    djinn.episodes.record_observation(text="His own", agent="ben")
    everything = djinn.sessions.history()
    assert (everything.session, everything.total) == (None, 2)
    opened = djinn.sessions.start()
    # It has no turns yet.
    assert djinn.sessions.history().session is None
    djinn.episodes.record_observation(text="A gull")
    here = djinn.sessions.history()
    assert (here.session, [each.message for each in here.turns]) == (opened.session, ["A gull"])
    assert djinn.sessions.history("nowhere").turns == ()


def test_a_session_of_wake_is_ended_by_end_and_the_other_way_round(djinn: Djinn) -> None:
    with pytest.raises(NotFound, match="no session is open"):
        djinn.sessions.end()
    woken = djinn.wake().session
    assert djinn.sessions.end().session == woken
    assert djinn.wake().unfinished is None
    djinn.sessions.end()
    started = djinn.sessions.start().session
    assert started
    unfinished = djinn.wake(session="other").unfinished
    assert unfinished and unfinished.session == started
    djinn.sleep("done")
    with pytest.raises(NotFound):
        djinn.sessions.end()
    assert djinn.sessions.start("dig").session == "dig"
    # A named session ends only by its name.
    with pytest.raises(NotFound):
        djinn.sessions.end()
    assert djinn.sessions.end("dig").session == "dig"
    with pytest.raises(NotFound, match="session dig is not open"):
        djinn.sessions.end("dig")


def test_wake_shows_the_end_of_the_previous_session(djinn: Djinn, home: Home) -> None:
    before = NOW - timedelta(hours=3)
    record_turns(djinn.runtime, "me", [turn(n, at=before, text="Of the dig") for n in range(15)])
    record_turns(djinn.runtime, "me", [turn(0, "now", text="Just started")])
    context = djinn.wake(session="now")
    assert context.previous_session == "dig"
    assert [each.text.partition("\n")[0] for each in context.conversation][-2:] == [
        "Observation: Of the dig 13", "Outcome: Of the dig 14",
    ]  # fmt: skip
    assert len(context.conversation) == 10
    text = markdown(context)
    assert "## Previous conversation (session dig)" in text
    assert text.count("Of the dig 14") == 1
    for budget in (100, 200, 400):
        less = djinn.wake(session="now", budget=budget)
        assert token_counts([markdown(less)]) == [less.tokens] and less.tokens <= budget
        if less.conversation:
            assert less.conversation[-1].text.endswith("14")
    home.edit((("sessions", "wake"), 0))
    assert Djinn(Home(home.root), clock=lambda: NOW).wake(session="now").conversation == ()


def test_a_session_of_observations_is_no_conversation(home: Home) -> None:
    with Djinn(home, clock=lambda: NOW) as djinn:
        djinn.episodes.record_interaction(message="Where is the lamp?", session="talk")
        djinn.episodes.record_observation(text="The lamp was seen.", session="talk")
        djinn.episodes.record_observation(text="Stand-up with Ilse", session="calendar")
        context = djinn.wake(session="next")
        assert context.previous_session == "talk" and len(context.conversation) == 2


def test_many_turns_of_a_session_are_read_once_each(djinn: Djinn) -> None:
    turns = [turn(n, at=NOW + timedelta(seconds=n - 9000)) for n in range(1500)]
    record_turns(djinn.runtime, "me", turns)
    history = djinn.sessions.history("dig", last=1500)
    assert [each.message for each in history.turns] == [f"Said {number}" for number in range(1500)]
