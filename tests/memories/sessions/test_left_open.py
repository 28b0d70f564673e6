"""Sessions that were left open: ended once, with a handoff of what is known of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent
from djinn_memory.memories.recall import session_log

START = datetime.now(UTC)
Later = Callable[[float], Djinn]


@pytest.fixture
def later(home: Home) -> Later:
    """The home, some hours after the beginning."""
    add_agent(home, "ben")

    def at(hours: float) -> Djinn:
        return Djinn(Home(home.root), clock=lambda: START + timedelta(hours=hours))

    return at


def test_a_killed_session_ends_with_what_is_known_of_it(later: Later, home: Home) -> None:
    djinn = later(0)
    djinn.wake()
    djinn.checkpoint("The mast is rigged.", focus="the sail")
    djinn.episodes.record_observation(text="The sail is [torn]")
    assert later(23).maintain(["sessions"]).deeds == ()
    report = later(25).maintain(["sessions"], dry_run=True)
    assert len(report.deeds) == 1 and "is to be ended" in report.deeds[0].what
    [action] = later(25).maintain(["sessions"]).deeds
    assert action.vault == "me" and action.path and action.path.startswith("handoffs/")
    assert later(26).maintain(["sessions"]).deeds == ()
    home.edit((("domains", "sea"), "Boats"))
    limited = later(27).wake(domains=["sea"], session="aside")
    assert not [line for line in limited.suggestions if "left open" in line]
    later(27).sessions.end("aside")
    context = later(27).wake()
    assert context.unfinished is None and context.handoff
    assert "ended it after 24 hours without activity" in context.handoff.text
    assert "The mast is rigged." in context.handoff.text and "torn" in context.handoff.text
    [line] = [line for line in context.suggestions if "left open" in line]
    assert "Upkeep ended it" in line
    assert not [line for line in later(28).wake().suggestions if "left open" in line]
    later(28).changes.undo()
    # The sessions of the later wakes began at the time of the ledger, too.
    assert not [action for action in later(29).maintain(["sessions"]).deeds if action.path]
    assert not (home.root / "vaults" / "me" / action.path).exists()


def test_a_handoff_has_the_domains_of_what_it_quotes(later: Later, home: Home) -> None:
    home.edit((("domains", "sea"), "Boats"))
    home.edit((("domains", "work"), "Work"))
    djinn = later(0)
    djinn.wake(agent="ben")
    djinn.agents.set("default_domain", ["work"], agent="ben")
    djinn.checkpoint("The mast is rigged.", agent="ben")
    djinn.episodes.record_observation(text="The sail is torn", agent="ben", domain="sea")
    [action] = later(25).maintain(["sessions"], agent="ben").deeds
    handoff = later(26).memories.show(f"ben:{action.path}", agent="ben")
    assert handoff.domain == "sea, work"


def test_a_later_handoff_stays_the_last(later: Later) -> None:
    later(0).wake(session="monday")
    later(0).checkpoint("Half of the keel.", session="monday")
    djinn = later(10)
    djinn.wake()
    djinn.sleep("The keel is done.")
    assert len(later(40).maintain(["sessions"]).deeds) == 1
    handoff = later(41).wake().handoff
    assert handoff and "The keel is done." in handoff.text


def test_an_empty_session_ends_without_a_note_and_others_stay(later: Later, home: Home) -> None:
    later(0).sessions.start("empty")
    later(0).wake(agent="ben")
    later(0).episodes.record_observation(text="Fog", session="busy")
    later(0).sessions.start("busy")
    djinn = later(30)
    djinn.episodes.record_observation(text="Wind", session="busy")
    report = djinn.maintain(["sessions"], agent="me")
    assert [(action.what.partition(",")[0], action.path) for action in report.deeds] == [
        ("me: session empty", None)
    ]
    assert session_log.all_open(djinn.runtime.state, "ben")
    [session] = session_log.all_open(djinn.runtime.state, "me")
    assert session.id == "busy" and not (home.root / "vaults" / "me" / "handoffs").exists()
    djinn.sessions.start("empty")
    assert [each.id for each in session_log.all_open(djinn.runtime.state, "me")] == [
        "busy", "empty",
    ]  # fmt: skip


def test_a_read_only_vault_keeps_the_session_open(later: Later, home: Home) -> None:
    later(0).wake()
    later(0).checkpoint("Half.")
    home.edit((("vaults", "me", "read_only"), True))
    report = later(30).maintain(["sessions"])
    assert report.deeds == () and "read-only" in report.problems[0].why
    assert session_log.all_open(later(30).runtime.state, "me")
