"""`djinn watch --serve`: one process that watches a home and serves it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from tests.processes.commands import HANG


def wait_for(process: subprocess.Popen[str], word: str) -> None:
    """Read what a watch prints, up to a line with a word."""
    assert process.stdout
    assert any(word in line for line in process.stdout)


def test_it_answers_over_http_while_it_watches(home: Home, shared: Path) -> None:
    with Djinn(home) as djinn:
        key = djinn.keys.add("test").secret
    process = subprocess.Popen(
        [sys.executable, "-m", "djinn_memory", "--home", home.root, "watch", "--serve", "--log"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stderr
        address = re.search(r"http://\S+/", process.stderr.readline())
        assert address
        request = urllib.request.Request(
            f"{address[0]}v1/search?query=lamp+of+the+mole", headers={"X-API-Key": key}
        )
        wait_for(process, "searchable")
        (shared / "lamp.md").write_text("# Lamp\n\nThe lamp of the mole is green.\n")
        wait_for(process, "lamp.md")
        with urllib.request.urlopen(request, timeout=HANG) as answer:
            assert [hit["title"] for hit in json.load(answer)["hits"]] == ["Lamp"]
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=HANG)
    assert process.returncode == 0
