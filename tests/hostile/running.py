"""Runs `djinn` over a hostile vault, and sees to it that nothing was done to the vault."""

from __future__ import annotations

import ctypes
import hashlib
import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

from msgspec import Struct

from djinn_memory.cli.app import main
from djinn_memory.home.home import Home

MEMORY = 700_000_000
"""Bytes that a run may have in memory at its peak."""

_READ_ANYTHING = (1, 2)
"""The capabilities by which root passes over the permissions of files."""

_COMMAND = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""What could command a terminal."""


class Done(Struct, frozen=True):
    """What a command left behind."""

    code: int
    stdout: str
    stderr: str
    peak: int = 0

    @property
    def warnings(self) -> list[str]:
        return [line for line in self.stderr.splitlines() if line.startswith("warning: ")]

    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.stdout)
        return found


def called(home: Home, *words: str) -> Done:
    """Run the command line in this process: a hundred kinds would start a thousand others."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", errors="replace") for _ in "oe")
    arguments = ["djinn", "--home", str(home.root), *words]
    with patch.object(sys, "argv", arguments), redirect_stdout(out), redirect_stderr(err):
        code = main()
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode("utf-8"))  # type: ignore[attr-defined]
    return _harmless(Done(code, *texts))


_MEASURED = """
import resource, subprocess, sys
code = subprocess.run([sys.executable, "-m", "djinn_memory", *sys.argv[1:]]).returncode
print("peak", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""
"""A child begins with the size of whoever forks it, so a small program does that."""


def started(home: Home, *words: str, seconds: int = 300) -> Done:
    """Run the command line as one who may not read everything, within bounds."""
    before = dict(os.environ, DJINN_HOME=str(home.root), PYTHONWARNINGS="ignore")
    process = subprocess.Popen(
        [sys.executable, "-c", _MEASURED, *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=before,
        preexec_fn=lambda: _bind(seconds), text=True, encoding="utf-8",
    )  # fmt: skip
    try:
        out, err = process.communicate(timeout=seconds * 3)
    finally:
        with suppress(OSError):
            process.kill()
    out, _, peak = out.rpartition("peak ")
    return _harmless(Done(process.returncode, out, err, int(peak) * 1024))


def _bind(seconds: int) -> None:
    """Give up root's power over files, and bound the time and memory of what is to be run."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (6_000_000_000, 6_000_000_000))
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    libc = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() == 0:
        for capability in _READ_ANYTHING:
            # prctl(PR_CAPBSET_DROP): what the bounding set lacks, not even root gets at exec.
            if libc.prctl(24, capability, 0, 0, 0):
                raise OSError(ctypes.get_errno(), "root cannot give up its power over files")


def _harmless(done: Done) -> Done:
    for text in (done.stdout, done.stderr):
        assert not _COMMAND.search(text), _COMMAND.findall(text)
        assert "Traceback" not in text
    return done


def picture(root: Path) -> dict[bytes, tuple[Any, ...]]:
    """Everything in a folder: kind, mode, times, size and content of each entry."""
    found = {}
    for folder, folders, files in os.walk(os.fsencode(root)):
        for name in (*folders, *files):
            path = os.path.join(folder, name)  # noqa: PTH118 - of bytes
            found[path] = _seen(path)
    return found


def _seen(path: bytes) -> tuple[Any, ...]:
    info = os.lstat(path)
    told = (info.st_mode, info.st_mtime_ns, info.st_size, info.st_ino, info.st_nlink)
    if os.path.islink(path):  # noqa: PTH114 - of bytes
        return (*told, os.readlink(path))  # noqa: PTH115 - of bytes
    if info.st_blocks and info.st_size < 100_000_000 and os.path.isfile(path):  # noqa: PTH113
        with open(path, "rb") as file:  # noqa: PTH123 - of bytes
            return (*told, hashlib.file_digest(file, "blake2b").digest())
    return told
