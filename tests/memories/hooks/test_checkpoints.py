"""Checkpoints of hooked sessions: when they are written, and what they say."""

from __future__ import annotations

import time
from typing import Any

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.memories.hooks import recording
from tests.memories.hooks.events import event, prompt, record, spool_of, stop, tool

SECRET = "sk-proj-Zu7Yq0aLm3PbX9"


def turns(first: int, last: int, session: str = "one") -> list[dict[str, Any]]:
    return [
        payload
        for number in range(first, last + 1)
        for payload in (
            prompt(f"Do part {number}", session),
            tool(f"make part{number}", session),
            stop(f"Part {number} is done.", session),
        )
    ]


def checkpoints(home: Home) -> list[str]:
    """The texts of all checkpoints after the spool was taken in."""
    with Djinn(home) as djinn:
        djinn.memories.list()
    assert not spool_of(home).loss()["reason"]
    notes = (home.root / "vaults" / "me").glob("checkpoints/*.md")
    return [note.read_text().split("---\n", 2)[2] for note in notes]


def test_a_long_session_is_saved_every_few_turns(home: Home) -> None:
    home.edit((("hooks", "checkpoint"), 3))
    home = Home(home.root)
    record(home, *turns(1, 2), *turns(1, 2, "two"))
    assert checkpoints(home) == []
    record(home, *turns(3, 4))
    [text] = checkpoints(home)
    assert text.startswith("User: Do part 4\n\nAgent: Part 4 is done.\n\nUser: Do part 3\n\n")
    assert text.endswith("- Bash: make part2\n- Bash: make part1\n")
    record(home, *turns(5, 5))
    assert len(checkpoints(home)) == 1
    # Turns have their second: a checkpoint of the same one is as late as they are.
    time.sleep(1)
    record(home, *turns(6, 6))
    assert len(checkpoints(home)) == 2


def test_no_turns_no_checkpoint(home: Home) -> None:
    home.edit((("hooks", "checkpoint"), 0))
    record(home, *turns(1, 12))
    assert checkpoints(Home(home.root)) == []


def test_a_compaction_saves_the_turns_and_the_prompt_at_work(home: Home) -> None:
    record(home, *turns(1, 1), prompt(f"Deploy with API_KEY={SECRET}"), tool("make deploy"))
    record(home, event("PreCompact", trigger="manual", custom_instructions="Keep the plan."))
    [text] = checkpoints(home)
    assert text.startswith(
        "User (not answered yet): Deploy with API_KEY=sk-p****\n\nUser: Do part 1"
    )
    assert "- Bash: make deploy\n" in text and text.endswith("## Focus\n\n- Keep the plan.\n")
    # Nothing happened since.
    record(home, event("PreCompact", trigger="auto"))
    assert len(checkpoints(home)) == 1


def test_the_summary_of_a_client_is_the_checkpoint(home: Home) -> None:
    record(home, *turns(1, 1), event("PreCompact", trigger="auto"))
    record(home, event("PostCompact", compact_summary=f"The login works. API_KEY={SECRET}"))
    assert checkpoints(home) == ["The login works. API_KEY=sk-p****\n"]


def test_a_killed_session_resumes_from_its_checkpoint(home: Home) -> None:
    record(home, event("SessionStart", source="startup"), *turns(1, 11))
    with Djinn(home) as djinn:
        unfinished = djinn.wake(session="two").unfinished
    assert unfinished and unfinished.session == "one" and unfinished.checkpoint
    assert unfinished.checkpoint.text.startswith("User: Do part 11")


def test_a_killed_intake_writes_no_second_checkpoint(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def remove(*_: object) -> None:
        raise Killed

    record(home, *turns(1, 10), event("PreCompact", trigger="auto"))
    with monkeypatch.context() as patch, pytest.raises(Killed), Djinn(home) as djinn:
        patch.setattr(recording.Spool, "remove", remove)
        djinn.memories.list()
    assert spool_of(home).is_due()
    assert len(checkpoints(home)) == 1
