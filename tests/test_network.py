"""Nothing leaves the machine: watched at the level of system calls, libraries included."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.network_calls import addresses, traced


def test_no_command_talks_to_the_network(tmp_path: Path, sample: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("no strace here; apt-get install strace")
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    shutil.copytree(sample / "shared", tmp_path / "home" / "vaults" / "shared")
    log = tmp_path / "calls.txt"
    for arguments in (
        ["init", "home"],
        ["--home", "home", "index"],
        ["--home", "home", "memory", "search", "why do we keep times in UTC"],
    ):
        subprocess.run(
            [*traced(log), sys.executable, "-m", "djinn_memory", *arguments],
            cwd=tmp_path,
            env=environment,
            check=True,
            capture_output=True,
            timeout=300,
        )
    assert addresses(log) == []
    assert not (tmp_path / ".cache" / "Microsoft").exists()
