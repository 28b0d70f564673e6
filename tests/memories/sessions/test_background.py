"""The start and the end of a session extract idle sessions in a process of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.memories.episodes.recorder import Turn, record_turns
from djinn_memory.memories.sessions import background
from djinn_memory.system.locks import lock
from tests.conftest import EXTRACTS

SECONDS = 60.0


@pytest.fixture
def allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(EXTRACTS)


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch, allowed: None) -> list[str]:
    """The homes for which a process would be started."""
    homes: list[str] = []
    monkeypatch.setattr(background, "start", lambda root, state: homes.append(root))
    return homes


def say(djinn: Djinn, minutes: float = 60.0) -> None:
    at = datetime.now(UTC) - timedelta(minutes=minutes)
    turn = Turn("interaction", "I prefer tea over coffee.", "Noted.", at, f"s{minutes:g}", "cli")
    record_turns(djinn.runtime, "me", [turn])


def wait_for(done: Callable[[], object]) -> None:
    end = time.monotonic() + SECONDS
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)


def note(home: Home) -> Path:
    return home.root / "vaults" / "me" / "preferences" / "prefers-tea-over-coffee.md"


def test_each_start_and_end_of_a_session_starts_it(djinn: Djinn, starts: list[str]) -> None:
    say(djinn)
    djinn.sessions.start()
    djinn.sessions.end()
    djinn.wake()
    djinn.sleep("Poured tea.")
    assert starts == [str(djinn.home.root)] * 4


def test_it_is_not_started_without_reason(
    djinn: Djinn, home: Home, starts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    djinn.wake()
    say(djinn, minutes=5)
    djinn.wake()
    say(djinn)
    with lock(home.state / background.LOCK):
        djinn.wake()
    with Djinn(Home(home.root), read_only=True) as reader:
        reader.wake()
    home.edit((("upkeep", "skip"), ["extract"]))
    with Djinn(Home(home.root)) as skipping:
        skipping.wake()
    home.edit((("upkeep", "skip"), None), (("sessions", "extract"), False))
    with Djinn(Home(home.root)) as forbidden:
        forbidden.wake()
    home.edit((("sessions", "extract"), None))
    djinn.sessions.extract()
    with Djinn(Home(home.root)) as extracted:
        extracted.wake()
    assert starts == []


@pytest.mark.usefixtures("allowed")
def test_a_session_is_extracted_and_no_process_is_left(djinn: Djinn, home: Home) -> None:
    say(djinn)
    djinn.wake()
    [process] = psutil.Process().children()
    wait_for(lambda: not process.is_running())
    assert note(home).exists() and (home.state / background.LOG).read_bytes() == b""
    assert not any(finding.part == "sessions" for finding in djinn.doctor().findings)


def hook(home: Home, event: str) -> subprocess.CompletedProcess[bytes]:
    words = ["hook", "--home", str(home.root), "--agent", "me", "--client", "claude"]
    return subprocess.run(
        [sys.executable, "-P", "-m", "djinn_memory", *words],
        input=json.dumps(
            {"session_id": "one", "hook_event_name": event, "reason": "exit"}
        ).encode(),
        capture_output=True,
        check=True,
    )


@pytest.mark.usefixtures("allowed")
def test_the_end_of_a_session_of_a_client_starts_it(djinn: Djinn, home: Home) -> None:
    say(djinn)
    djinn.close()
    done = hook(home, "SessionEnd")
    assert (done.stdout, done.stderr) == (b"", b"")
    wait_for(note(home).exists)
    wait_for(lambda: not held(home))


def held(home: Home) -> bool:
    """Whether a process has the log open, which it has to its end."""
    log = home.state / background.LOG
    for process in psutil.process_iter():
        try:
            links = Path(f"/proc/{process.pid}/fd").iterdir()
            if any(link.readlink() == log for link in links):
                return True
        except OSError:
            continue
    return False


def test_a_client_whose_settings_forbid_it_starts_nothing(djinn: Djinn, home: Home) -> None:
    say(djinn)
    hook(home, "SessionEnd")
    assert not (home.state / background.LOG).exists()


@pytest.mark.usefixtures("allowed")
def test_a_failure_is_a_finding_and_fails_no_command(djinn: Djinn, home: Home) -> None:
    say(djinn)
    (home.root / "vaults" / "me" / "preferences").write_text("not a folder")
    djinn.sessions.start()
    [process] = psutil.Process().children()
    wait_for(lambda: not process.is_running())
    [finding] = [each for each in djinn.doctor().findings if each.part == "sessions"]
    assert (
        finding.severity == "warning" and "the extraction of idle sessions failed" in finding.what
    )


def test_a_failure_is_no_finding_after_an_extraction_that_worked(djinn: Djinn, home: Home) -> None:
    say(djinn)
    (home.state / background.LOG).write_text("sessions of me: not a folder")
    [finding] = [each for each in djinn.doctor().findings if each.part == "sessions"]
    assert finding.remedy == "call `sessions.extract()`"
    djinn.sessions.extract()
    assert not [each for each in djinn.doctor().findings if each.part == "sessions"]


def test_two_at_once_run_once_and_report_nothing(djinn: Djinn, home: Home) -> None:
    say(djinn)
    with lock(home.state / background.LOCK):
        background.start(str(home.root), str(home.state))
        [process] = psutil.Process().children()
        wait_for(lambda: not process.is_running())
    assert (home.state / background.LOG).read_bytes() == b"" and not note(home).exists()


@pytest.mark.usefixtures("allowed")
def test_where_nothing_can_be_written_a_session_begins_without_it(djinn: Djinn, home: Home) -> None:
    say(djinn)
    (home.state / background.LOG).mkdir()
    djinn.sessions.start()
    djinn.wake()
    assert psutil.Process().children() == []
