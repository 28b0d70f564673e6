"""An import that Ctrl-C or a kill ends is repeated without a loss and without doubles."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home

EVENTS = 400


def write_calendar(path: Path) -> Path:
    """A calendar with events on 90 days, in no order."""
    start = datetime(2025, 1, 1, 12, tzinfo=UTC)
    days = (start + timedelta(days=37 * number % 90) for number in range(EVENTS))
    events = "".join(
        f"BEGIN:VEVENT\r\nUID:{number}\r\nSUMMARY:Event {number}\r\n"
        f"DTSTART:{day:%Y%m%dT%H%M%SZ}\r\nEND:VEVENT\r\n"
        for number, day in enumerate(days)
    )
    path.write_text(f"BEGIN:VCALENDAR\r\n{events}END:VCALENDAR\r\n", newline="")
    return path


def recorded(home: Home) -> Counter[str]:
    """How often each event is in the journals."""
    journals = (home.root / "vaults" / "me" / "journal").glob("*.md")
    texts = (path.read_text(encoding="utf-8") for path in journals)
    return Counter(title for text in texts for title in re.findall(r"^> (Event \d+)$", text, re.M))


@pytest.mark.few(1)
@pytest.mark.parametrize("journals", [1, 40])
@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_a_second_run_completes_an_interrupted_one(
    home: Home, tmp_path: Path, name: str, journals: int
) -> None:
    number = getattr(signal, name, signal.SIGTERM)
    home.edit((("embedding", "provider"), "none"))
    file = write_calendar(tmp_path / "work.ics")
    folder = home.root / "vaults" / "me" / "journal"
    command = [sys.executable, "-m", "djinn_memory", "--home", str(home.root), "import", str(file)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and (
        not folder.exists() or len([*folder.glob("*.md")]) < journals
    ):
        time.sleep(0.002)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert said.splitlines()[-1].startswith("interrupted; finished work is kept")
    assert 0 < sum(recorded(home).values()) < EVENTS
    with Djinn(home) as djinn:
        report = djinn.import_history([file])
        assert report.recorded + report.known == EVENTS and report.known > 0
        assert report.problems == ()
        assert djinn.episodes.stats().total == EVENTS
    assert set(recorded(home).values()) == {1} and len(recorded(home)) == EVENTS
