"""Sessions of an agent: checkpoints, handoffs, and what is told of one that broke off."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Refused, UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent
from djinn_memory.memories.recall import session_log
from djinn_memory.store.ledger import Event


def text(home: Home, path: str, vault: str = "me") -> str:
    return (home.root / "vaults" / vault / path).read_text(encoding="utf-8")


def test_a_checkpoint_is_a_note_with_its_points(djinn: Djinn, home: Home) -> None:
    done = djinn.checkpoint(
        "working on\nthe parser", focus="errors", decisions=["keep it", "go on"]
    )
    assert done.path.startswith("checkpoints/checkpoint-2")
    assert text(home, done.path).endswith(
        "---\nworking on\nthe parser\n\n## Focus\n\n- errors\n\n"
        "## Decisions\n\n- keep it\n- go on\n"
    )
    assert djinn.search("parser", mode="words").hits[0].id == done.id


def test_two_in_one_second_are_two_notes(djinn: Djinn, home: Home) -> None:
    for write in (djinn.checkpoint, djinn.sleep):
        done = [write("the very same words") for _ in range(3)]
        assert len({one.path for one in done}) == 3
        assert len({one.title for one in done}) == 3


def test_sleep_writes_a_handoff_and_ends_the_session(djinn: Djinn, home: Home) -> None:
    opened = djinn.wake().session
    djinn.checkpoint("half way")
    done = djinn.sleep("The parser is done.", next=["a manual"], blocked=["the licence"])
    assert (done.type, done.path.split("/")[0]) == ("handoff", "handoffs")
    assert "## Next\n\n- a manual\n\n## Blocked\n\n- the licence\n" in text(home, done.path)
    assert f"session: {opened}" in text(home, done.path)
    found = djinn.wake()
    assert found.unfinished is None
    assert found.handoff
    assert found.handoff.id == done.id
    assert found.checkpoint is None


def test_a_session_that_was_not_ended_offers_its_last_checkpoint(djinn: Djinn) -> None:
    first = djinn.wake().session
    djinn.checkpoint("one")
    mark = djinn.checkpoint("two")
    found = djinn.wake()
    assert found.unfinished
    assert found.unfinished.session == first
    assert found.unfinished.checkpoint
    assert found.unfinished.checkpoint.id == mark.id
    assert any("was not ended" in one for one in found.suggestions)
    djinn.sleep("done now")
    assert djinn.wake().unfinished is None


def test_a_checkpoint_without_wake_is_noticed_too(djinn: Djinn) -> None:
    mark = djinn.checkpoint("nobody said wake")
    found = djinn.wake().unfinished
    assert found
    assert found.checkpoint
    assert found.checkpoint.id == mark.id


def test_sessions_of_agents_and_of_terminals_are_apart(
    djinn: Djinn, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_agent(home, "finn")
    djinn.wake(agent="finn")
    djinn.checkpoint("finn's work", agent="finn")
    assert djinn.wake(agent="me").unfinished is None
    monkeypatch.setenv("DJINN_SESSION", "terminal-2")
    mark = djinn.checkpoint("in the second terminal")
    assert "session: terminal-2" in text(home, mark.path)
    assert djinn.wake(session="x").session == "x"


def test_two_agents_in_sessions_of_one_name_are_apart(djinn: Djinn, home: Home) -> None:
    add_agent(home, "finn")
    djinn.wake(agent="me", session="work")
    mark = djinn.checkpoint("half way", agent="me", session="work")
    djinn.wake(agent="finn", session="work")
    djinn.sleep("all done", agent="finn", session="work")
    found = djinn.wake(agent="me").unfinished
    assert found
    assert found.checkpoint
    assert (found.session, found.checkpoint.id) == ("work", mark.id)


def test_what_happens_in_a_named_session_leaves_the_others_alone(
    djinn: Djinn, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = djinn.wake().session
    mark = djinn.checkpoint("in the first")
    monkeypatch.setenv("DJINN_SESSION", "other")
    djinn.checkpoint("in the other")
    monkeypatch.delenv("DJINN_SESSION")
    assert f"session: {first}" in text(home, djinn.checkpoint("again in the first").path)
    found = djinn.wake().unfinished
    assert found
    assert found.session == first
    assert found.checkpoint
    assert found.checkpoint.id != mark.id
    named = djinn.wake(session="other").unfinished
    assert named
    assert named.session == "other"
    assert named.checkpoint
    assert "in the other" in named.checkpoint.text


def test_the_name_of_a_session_is_no_secret(
    djinn: Djinn, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = "ghp_" + "a8Kd0sPq2LmN4vBx7ZcR1tYw6UeJ3hGf9iOo"
    with pytest.raises(Refused, match=r"the session's name contains .* a GitHub token"):
        djinn.wake(session=token)
    djinn.remember("lesson", "Ropes", "Knots")
    monkeypatch.setenv("DJINN_SESSION", token)
    for verb in (djinn.wake, lambda: djinn.recall("knots"), lambda: djinn.working.set("a", 1)):
        with pytest.raises(Refused, match="GitHub"):
            verb()  # type: ignore[operator]
    djinn.close()
    assert not any(token.encode() in path.read_bytes() for path in home.state.rglob("*.db*"))


def test_nothing_said_is_no_checkpoint(djinn: Djinn, home: Home) -> None:
    for write in (djinn.checkpoint, djinn.sleep):
        with pytest.raises(UsageError, match="sentence"):
            write(" \n")
    with pytest.raises(UsageError, match="session"):
        djinn.checkpoint("x", session="a\nb")
    assert not list((home.root / "vaults" / "me").iterdir())


def test_a_secret_in_a_point_is_refused(djinn: Djinn, home: Home) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    for points in ({"decisions": [token]}, {"focus": token}):
        with pytest.raises(Refused, match="GitHub"):
            djinn.checkpoint("x", **points)
    with pytest.raises(Refused, match="GitHub"):
        djinn.sleep("x", next=[f"use {token}"])
    assert not list((home.root / "vaults" / "me").iterdir())


def test_a_ledger_that_holds_nonsense(djinn: Djinn, home: Home) -> None:
    djinn.checkpoint("first")
    ledger = sessions_ledger(djinn)
    ledger.append(
        [
            Event("session.ended", "x", {"agent": ["me"], "note": 7}),
            Event("session.nonsense", "y", {"agent": "me"}),
            Event("session.checkpointed", "z", {"agent": "me", "note": {"a": 1}}),
        ]
    )
    found = djinn.wake().unfinished
    assert found
    assert (found.session, found.checkpoint) == ("z", None)


def sessions_ledger(djinn: Djinn) -> object:
    return djinn._state.ledger


@pytest.mark.parametrize("bad", ["", "   ", "x" * 101, "a\x1bb"])
def test_names_of_sessions(djinn: Djinn, bad: str) -> None:
    with pytest.raises(UsageError):
        session_log.name(djinn._state, bad)


def test_a_session_is_not_called_by_a_secret(djinn: Djinn, home: Home) -> None:
    with pytest.raises(Refused, match="session's name contains what looks like a GitHub"):
        djinn.wake(session="ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
    assert not home.ledger_path.exists()


def test_the_note_is_there_though_the_ledger_can_not_be_written(
    djinn: Djinn, home: Home, tmp_path: Path
) -> None:
    home.ledger_path.mkdir()
    done = djinn.checkpoint("still there")
    assert "still there" in text(home, done.path)
    assert [problem.what for problem in done.problems] == ["ledger"]
    found = djinn.wake()
    assert found.session is None
    assert found.checkpoint
    assert {problem.what for problem in found.problems} == {"ledger"}
