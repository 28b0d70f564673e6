"""Nothing leaves the machine: watched at the level of system calls, libraries included."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from djinn_memory.home.config import model_cache

_CALLS = ("connect", "sendto", "sendmsg", "sendmmsg")
_TOLD = re.compile(r"sa_family=AF_INET6?\b.*", re.ASCII)


@pytest.mark.parametrize("fresh", [False, True], ids=["model ready", "model made"])
def test_no_command_talks_to_the_network(tmp_path: Path, sample: Path, fresh: bool) -> None:
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    cache = tmp_path / "cache" if fresh else model_cache()
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "DJINN_CACHE": str(cache)}
    shutil.copytree(sample / "shared", tmp_path / "home" / "vaults" / "shared")
    log = tmp_path / "calls.txt"
    watch = [strace, "-f", "--seccomp-bpf", "-A", "-o", log, "-e", "trace=" + ",".join(_CALLS)]
    for arguments in (
        ["init", "home"],
        ["--home", "home", "index"],
        ["--home", "home", "memory", "search", "why do we keep times in UTC"],
    ):
        subprocess.run(
            [*watch, sys.executable, "-m", "djinn_memory", *arguments],
            cwd=tmp_path,
            env=environment,
            check=True,
            capture_output=True,
            timeout=300,
        )
    assert _TOLD.findall(log.read_text()) == []
    assert not (tmp_path / ".cache" / "Microsoft").exists()
