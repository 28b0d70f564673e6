"""The examples of the README for programs, as a new user types them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from djinn_memory.home.home import Home
from tests.pages.fenced import ROOT
from tests.processes.commands import HANG

BLOCK = re.compile(r"## For your programs\n.*?```sh\n(.*?)```", re.DOTALL)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_examples_work_as_printed(home: Home, shared: Path, tmp_path: Path) -> None:
    (shared / "tide.md").write_text("# Spring tide\n\nThe spring tide comes at new moon.\n")
    block = BLOCK.search((ROOT / "README.md").read_text())
    assert block
    first, serve, *requests = block[1].splitlines()
    assert serve == "djinn serve &" and len(requests) == 3
    program = tmp_path / "bin" / "djinn"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m djinn_memory \"$@\"\n")
    program.chmod(0o755)
    ready = "until curl -s -o healthy http://127.0.0.1:8770/healthz; do sleep 0.1; done"
    marked = [f"{request} -s -S --fail; echo; echo ----" for request in requests]
    script = [first, serve, ready, *marked, "kill %1; wait"]
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        capture_output=True, text=True, check=False, cwd=tmp_path, timeout=HANG,
        env={
            **os.environ, "DJINN_HOME": str(home.root),
            "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        },
    )  # fmt: skip
    searched, remembered, shown, _ = done.stdout.split("----\n")
    assert '"title":"Spring tide"' in searched, done.stderr
    assert '"path":"lessons/check-the-lamp.md"' in remembered
    assert "It goes out in storms." in shown
