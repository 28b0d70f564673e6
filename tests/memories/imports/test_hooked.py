"""What hooks recorded is not recorded again from the transcript of the same session."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent
from djinn_memory.memories.episodes.recorder import Turn
from djinn_memory.memories.imports.hooked import HookedPrompts
from tests.growth import assert_linear
from tests.memories.hooks.events import (
    damage,
    entries_of,
    prompt,
    record,
    spool_of,
    stop,
    tool,
)
from tests.memories.imports.exports import lines

PROMPT = (
    "Fix #the [[pump]] `now`, please: it says *no* and the password=hunter2hunter2 is wrong, too."
)


def said(role: str, text: str, seconds: float = 0, session: str = "cc") -> dict[str, Any]:
    """A line of a transcript of Claude Code, some seconds after now."""
    at = datetime.fromtimestamp(time.time() + seconds, UTC).isoformat()
    return {
        "type": role, "sessionId": session, "uuid": f"{text} {seconds}", "timestamp": at,
        "message": {"role": role, "content": text},
    }  # fmt: skip


def transcript(folder: Path, *records: dict[str, Any]) -> list[Path]:
    return [lines(folder / "cc.jsonl", [*records])]


def messages(djinn: Djinn) -> list[str]:
    listed = djinn.episodes.list(kind="interaction", limit=100).episodes
    return sorted(djinn.episodes.show(episode.id or "").message for episode in listed)


def test_a_session_that_hooks_recorded_is_known(home: Home, djinn: Djinn, tmp_path: Path) -> None:
    record(home, prompt(PROMPT, "cc"), tool("make", "cc"), stop("Done.", "cc"))
    paths = transcript(
        tmp_path,
        said("user", "Before the hooks.", -500), said("assistant", "Yes.", -499),
        said("user", PROMPT, 0.4), said("assistant", "I look.", 1), said("assistant", "Done.", 2),
        said("user", PROMPT, 0.4, "other"),
    )  # fmt: skip
    report = djinn.import_history(paths, dry_run=True)
    assert (report.recorded, report.known) == (2, 1)
    report = djinn.import_history(paths)
    assert (report.recorded, report.known) == (2, 1)
    report = djinn.import_history(paths)
    assert (report.recorded, report.known) == (0, 3)
    assert len(messages(djinn)) == 3


def test_each_repetition_of_a_prompt_counts(home: Home, djinn: Djinn, tmp_path: Path) -> None:
    for _ in range(2):
        record(home, prompt("Go on", "cc"), stop("Done.", "cc"))
    times = (-900, -300, 0.1, 0.2)
    paths = transcript(tmp_path, *(said("user", "Go on", seconds) for seconds in times))
    for recorded in (2, 0):
        report = djinn.import_history(paths)
        assert (report.recorded, report.known) == (recorded, 4 - recorded)
    assert messages(djinn) == ["Go on"] * 4


def test_a_prompt_that_waits_for_its_answer_is_known(
    home: Home, djinn: Djinn, tmp_path: Path
) -> None:
    record(home, prompt("How long?", "cc"))
    paths = transcript(tmp_path, said("user", "How long?"), said("assistant", "Long.", 5))
    assert djinn.import_history(paths).known == 1
    record(home, stop("Long.", "cc"))
    assert messages(djinn) == ["How long?"]
    assert djinn.import_history(paths).recorded == 0


def test_a_purged_prompt_does_not_come_back(home: Home, djinn: Djinn, tmp_path: Path) -> None:
    record(home, prompt("The gate code is 4711.", "cc"), stop("Noted.", "cc"))
    [episode] = djinn.episodes.list(kind="interaction").episodes
    djinn.memories.purge(episode.id or "")
    paths = transcript(
        tmp_path, said("user", "The gate code is 4711.", 1), said("user", "Else?", 300)
    )
    assert djinn.import_history(paths).recorded == 1
    assert messages(djinn) == ["Else?"]


@pytest.mark.parametrize("agent", ["me", "finn"])
def test_what_another_agent_recorded_is_not_looked_at(
    home: Home, djinn: Djinn, tmp_path: Path, agent: str
) -> None:
    add_agent(home, "finn")
    record(home, prompt("Hello?", "cc"), agent=agent)
    record(home, prompt("Hello?", "cc"), stop("Hi.", "cc"), agent="finn")
    with Djinn(Home(home.root)) as djinn:
        report = djinn.import_history(transcript(tmp_path, said("user", "Hello?")), agent="me")
    assert report.recorded == (agent != "me")


def test_a_damaged_spool_keeps_nothing_from_being_imported(
    home: Home, djinn: Djinn, tmp_path: Path
) -> None:
    record(home, prompt("Hello?", "cc"))
    [good] = entries_of(home)
    spool_of(home).remove(spool_of(home).files())
    damage(home, b"{\n")
    for entry in ({}, [], {**good, "at": "x"}, {**good, "prompt": 7}, {**good, "agent": "nobody"}):
        damage(home, f"{json.dumps(entry)}\n".encode())
    assert djinn.import_history(transcript(tmp_path, said("user", "Hello?"))).recorded == 1


def test_many_sessions_are_matched_in_linear_time(home: Home, djinn: Djinn) -> None:
    record(home, prompt("Hello?"))
    [waiting] = entries_of(home)
    at = datetime.fromtimestamp(waiting["at"], UTC)

    def match(number: int) -> None:
        names = [f"s{each}" for each in range(number)]
        spool_of(home).remove(spool_of(home).files())
        for name in names:
            damage(home, f"{json.dumps({**waiting, 'session': name})}\n".encode())
        hooked = HookedPrompts(djinn.runtime, "me")
        for name in names:
            turn = Turn("interaction", "Hello?", "", at, name, "claude-code", None, "claude-code")
            assert hooked.take(turn) and not hooked.take(turn)

    assert_linear(match, 800)
