"""What hooks recorded becomes episodes: once, in pairs, however it is interrupted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.memories.hooks import recording, spool
from djinn_memory.memories.hooks.intake import take_in
from djinn_memory.memories.hooks.payloads import entry_of
from djinn_memory.memories.hooks.recording import describe
from djinn_memory.memories.recall import session_log
from tests.memories.hooks.events import (
    damage,
    entries_of,
    event,
    prompt,
    record,
    spool_of,
    stop,
    tool,
)

SECRET = "sk-proj-Zu7Yq0aLm3PbX9"


def episodes(home: Home) -> list[tuple[str | None, str, str | None]]:
    """Kind, message and response of all episodes, oldest first."""
    with Djinn(home) as djinn:
        page = djinn.episodes.list(limit=1000)
        assert not djinn.problems
        shown = [djinn.episodes.show(episode.id or "") for episode in page.episodes]
    return sorted((episode.type, episode.message, episode.response) for episode in shown)


def test_a_prompt_and_its_answer_are_one_interaction(home: Home) -> None:
    record(home, prompt("Fix the login"), tool("make test"), stop("The login works."))
    assert episodes(home) == [
        ("interaction", "Fix the login", "The login works."),
        ("observation", "Bash: make test", None),
    ]
    assert spool_of(home).size() == 0


def test_an_episode_says_where_it_came_from(home: Home) -> None:
    record(home, tool("make test"))
    with Djinn(home) as djinn:
        [episode] = djinn.episodes.list(session="one").episodes
        detail = djinn.episodes.show(episode.id or "")
    assert (episode.channel, episode.session) == ("cli", "one")
    assert detail.context == {
        "tool_name": "Bash",
        "tool_input": {"command": "make test"},
        "tool_response": {"stdout": "ok", "stderr": "", "interrupted": False},
        "cwd": "/work/site",
    }
    [journal] = (home.root / "vaults" / "me" / "journal").iterdir()
    assert '"client": "claude"' in journal.read_text()


def test_turns_wait_for_a_default_domain_that_can_be_used(home: Home) -> None:
    home.edit((("domains", "work"), "Work"))
    profile = home.root / "vaults" / "me" / "profile.md"
    profile.write_text("---\ntype: profile\ndefault_domain: wrok\n---\n")
    home = Home(home.root)
    record(home, tool("make test"))
    with Djinn(home) as djinn:
        assert not djinn.episodes.list().episodes
        [problem] = djinn.problems
        assert "not taken in yet: me/profile.md: default_domain" in problem.why
    profile.write_text("---\ntype: profile\ndefault_domain: work\n---\n")
    assert episodes(home) == [("observation", "Bash: make test", None)]


def test_the_turns_of_sessions_are_not_mixed(home: Home) -> None:
    record(home, prompt("One?", "one"), prompt("Two?", "two"), stop("2", "two"), stop("1", "one"))
    assert episodes(home) == [("interaction", "One?", "1"), ("interaction", "Two?", "2")]


@pytest.mark.parametrize(
    "after", [prompt("Next"), event("SessionEnd", reason="exit"), stop(None), stop("")]
)
def test_a_prompt_without_an_answer_is_recorded_alone(home: Home, after: dict[str, Any]) -> None:
    record(home, prompt("Never mind"), after)
    assert episodes(home) == [("interaction", "Never mind", None)]


def test_a_prompt_waits_for_its_answer(home: Home) -> None:
    record(home, prompt("How long?"))
    assert episodes(home) == []
    assert spool_of(home).size() > 0 and not spool_of(home).is_due()
    record(home, stop("Long."))
    assert episodes(home) == [("interaction", "How long?", "Long.")]


def test_a_prompt_that_goes_on_waiting_is_masked(home: Home) -> None:
    record(
        home, prompt(f"Use API_KEY={SECRET}"), tool("first"), prompt(f"And API_KEY={SECRET}", "two")
    )
    assert sum(SECRET in str(entry) for entry in entries_of(home)) == 2
    assert len(episodes(home)) == 1
    for waiting in spool_of(home).files():
        assert SECRET not in Path(waiting).read_text()
        assert Path(waiting).stat().st_mode & 0o077 == 0
    assert len(spool_of(home).files()) == 2 and not spool_of(home).is_due()
    record(home, stop("Done."), stop("Done too.", "two"))
    assert [message.partition(" ")[0] for _, message, _ in episodes(home)[:2]] == ["And", "Use"]
    assert SECRET not in str(episodes(home))


def test_a_prompt_does_not_wait_for_ever(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    record(home, prompt("How long?"), tool("sleep"))
    assert episodes(home) == [("observation", "Bash: sleep", None)]
    monkeypatch.setattr(spool, "PATIENCE_SECONDS", 0.0)
    assert ("interaction", "How long?", None) in episodes(home)
    # A late answer is not lost.
    record(home, stop("Very long."))
    assert ("observation", "Very long.", None) in episodes(home)


def test_a_second_stop_of_a_turn_is_an_observation(home: Home) -> None:
    record(home, prompt("Go"), stop("Half."), stop("Whole."))
    assert episodes(home) == [("interaction", "Go", "Half."), ("observation", "Whole.", None)]


def test_a_summary_of_a_compaction_is_an_observation(home: Home) -> None:
    record(home, event("PostCompact", trigger="auto", compact_summary="We built a login."))
    assert episodes(home) == [("observation", "We built a login.", None)]


def test_secrets_are_masked(home: Home) -> None:
    record(home, prompt("password=hunter2secret99"), tool("export API_KEY=sk-proj-Zu7Yq0aLm3PbX9"))
    record(home, stop("token=ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"))
    episodes(home)
    [journal] = (home.root / "vaults" / "me" / "journal").iterdir()
    text = journal.read_text()
    assert "hunter2secret99" not in text
    assert "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8" not in text


def test_sessions_start_and_end(home: Home) -> None:
    djinn = Djinn(home)
    record(home, event("SessionStart", source="startup"))
    djinn.memories.list()
    assert [session.id for session in session_log.open_sessions(djinn.runtime.state, "me")] == [
        "one"
    ]
    record(home, event("SessionEnd", reason="exit"), event("SessionEnd", reason="exit"))
    djinn.memories.list()
    assert session_log.open_sessions(djinn.runtime.state, "me") == []
    djinn.close()


def test_an_end_that_is_taken_in_late_does_not_end_a_resumed_session(home: Home) -> None:
    record(home, event("SessionEnd", reason="exit"))
    with Djinn(home) as djinn:
        state = djinn.runtime.state
        session_log.start(state, "me", "one", djinn.runtime.now())
        djinn.memories.list()
        assert [session.id for session in session_log.open_sessions(state, "me")] == ["one"]


def test_a_key_that_is_cut_is_masked(home: Home) -> None:
    lines = "\n".join("MIIEpAIBAAKCAQEA" + "x7Gq" * 12 for _ in range(60))
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{lines}\n-----END RSA PRIVATE KEY-----\n"
    large = tool("cat key") | {"tool_response": {"stdout": key}}
    long = event("PostToolUse", tool_name="X", tool_input={"password": "hunter2" * 300})
    for payload in (large, long):
        entry, cut = entry_of(payload, "claude", "")
        assert cut
        assert spool_of(home).append(entry)
    episodes(home)
    [journal] = (home.root / "vaults" / "me" / "journal").iterdir()
    assert "x7Gq" not in journal.read_text()
    assert "hunter2hunter2" not in journal.read_text()


def _then(stop: Callable[[], None], call: Callable[[str], None]) -> Callable[[str], None]:
    """`call` with a stop after it."""

    def stopping(path: str) -> None:
        call(path)
        stop()

    return stopping


@pytest.mark.parametrize("step", ["before", "recorded", "listed", "removed"])
def test_a_kill_at_any_step_loses_and_doubles_nothing(
    home: Home, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def killed(*_: object, **__: object) -> None:
        raise Killed

    # A busy machine may take longer to look at the vaults.
    home.edit((("search", "sweep_ms"), 10_000))
    record(home, prompt("Fix it"), tool("make"), stop("Done."), prompt("And this?"))
    with monkeypatch.context() as patch:
        if step == "before":
            patch.setattr(recording, "record_turns", killed)
        elif step == "recorded":
            patch.setattr("djinn_memory.memories.hooks.spool.Spool.remove", killed)
        elif step == "listed":
            patch.setattr("djinn_memory.memories.hooks.spool.Spool._unlink_taken", killed)
            patch.setattr("djinn_memory.memories.hooks.spool.Spool.begin", lambda self: None)
        else:
            patch.setattr("djinn_memory.memories.hooks.spool.os.unlink", _then(killed, os.unlink))
        with Djinn(home) as djinn, pytest.raises(Killed):
            djinn.memories.list()
    record(home, stop("This too."))
    assert episodes(home) == [
        ("interaction", "And this?", "This too."),
        ("interaction", "Fix it", "Done."),
        ("observation", "Bash: make", None),
    ]


def test_a_long_backlog_is_taken_in_bit_by_bit(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "BATCH", 4)
    record(home, *(tool(f"make {number}") for number in range(10)))

    with Djinn(home) as djinn:
        take_in(djinn.runtime, seconds=0)
        assert len(spool_of(home).files()) == 6
        take_in(djinn.runtime, seconds=60)
    assert spool_of(home).size() == 0
    assert len(episodes(home)) == 10


@pytest.mark.soak
def test_two_commands_at_once_take_it_in_once(home: Home) -> None:
    record(home, *(tool(f"make {number}") for number in range(60)))
    words = [sys.executable, "-m", "djinn_memory", "--home", str(home.root), "list"]
    commands = [subprocess.Popen(words, stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [command.wait(timeout=60) for command in commands] == [0] * 2
    with Djinn(home) as djinn:
        djinn.index()
    assert len(episodes(home)) == 60


@pytest.mark.few(1)
@pytest.mark.skipif(os.name != "posix", reason="kills")
@pytest.mark.parametrize("delay", [0.2, 0.4])
def test_a_killed_command_loses_and_doubles_nothing(home: Home, delay: float) -> None:
    record(home, *(tool(f"make {number}") for number in range(40)))
    words = [sys.executable, "-m", "djinn_memory", "--home", str(home.root), "index"]
    for _ in range(2):
        command = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(delay)
        command.kill()
        command.wait()
    with Djinn(home) as djinn:
        djinn.index()
    assert {message for _, message, _ in episodes(home)} == {
        f"Bash: make {number}" for number in range(40)
    }
    assert len(episodes(home)) == 40


def test_torn_lines_and_unknown_agents_are_kept_aside(home: Home) -> None:
    record(home, tool("first"))
    damage(home, b'{"id": "x", "even')
    record(home, tool("second"))
    record(home, tool(f"export API_KEY={SECRET}"), agent="nobody")
    damage(home, b"\xff\xfe")
    with Djinn(home) as djinn:
        assert djinn.episodes.list().total == 2
        [problem] = djinn.problems
        assert problem.why.startswith("3 events of hooks could not be recorded")
        assert djinn.episodes.list().total == 2
    with Djinn(home) as djinn:
        djinn.episodes.list()
        assert djinn.problems == [], "said once"
    lines = spool_of(home).rejected().splitlines()
    # A torn line may end in a part of a secret, which nothing recognises.
    [entry] = map(json.loads, lines)
    assert entry["tool_name"] == "Bash" and SECRET not in str(entry)


@pytest.mark.parametrize(
    "fields",
    [
        {"at": float("nan")},
        {"at": float("inf")},
        {"event": []},
        {"event": "PostCompact", "compact_summary": {}},
        {"event": "Stop", "last_assistant_message": [1]},
        {"event": "PostToolUse"},
        {"event": "PostToolUse", "tool_name": 5},
        {"prompt": None},
        {"prompt": 7},
    ],
)
def test_a_damaged_entry_does_not_stop_a_command(home: Home, fields: dict[str, Any]) -> None:
    entry, _ = entry_of(prompt("Why?"), "claude", "")
    assert spool_of(home).append({**entry, **fields})
    record(home, tool("make"))
    with Djinn(home) as djinn:
        assert djinn.episodes.list().total == 1
        [problem] = djinn.problems
    assert "damaged" in problem.why
    assert len(spool_of(home).rejected().splitlines()) == 1


def test_a_vault_that_cannot_be_written_keeps_the_spool(home: Home) -> None:
    home.edit((("vaults", "me", "read_only"), True))
    record(home, tool("make"))
    with Djinn(home) as djinn:
        djinn.memories.list()
        [problem] = djinn.problems
        assert "read-only" in problem.why
    assert len(spool_of(home).files()) == 1
    home.edit((("vaults", "me", "read_only"), None))
    assert episodes(home) == [("observation", "Bash: make", None)]


def test_a_reader_that_must_not_write_takes_nothing_in(home: Home) -> None:
    record(home, tool("make"))
    with Djinn(home, read_only=True) as djinn:
        djinn.memories.list()
    assert len(spool_of(home).files()) == 1


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ({"command": "make  test\n&& ls"}, "Bash: make test && ls"),
        ({"command": ["git", "commit", "-m", "two words"]}, "Bash: git commit -m 'two words'"),
        ({"file_path": "/a/b.py", "content": "x"}, "Bash: /a/b.py"),
        ({"odd": 1, "more": "x"}, "Bash: odd, more"),
        ("echo", "Bash: echo"),
        (None, "Bash"),
        ({}, "Bash"),
        ([1, 2], "Bash: [1, 2]"),
        ({"command": "x" * 300}, "Bash: " + "x" * 200 + " ..."),
    ],
)
def test_a_tool_call_is_one_readable_line(value: object, line: str) -> None:
    assert describe("Bash", value) == line


def test_values_that_json_does_not_have(home: Home) -> None:
    record(
        home,
        event(
            "PostToolUse",
            tool_name="Odd",
            tool_input={"command": "a\ud800b", "x": [float("nan"), float("inf")]},
            tool_response="\udfff",
        ),
    )
    assert episodes(home) == [("observation", "Odd: a?b", None)]
