"""`djinn serve` as a process of its own, with keys that the command adds."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx2

from djinn_memory.home.home import Home
from tests.processes.commands import HANG


@dataclass
class RunningServer:
    """A server of a home."""

    url: str
    process: subprocess.Popen[str]

    def client(self, key: str) -> httpx2.Client:
        """A client that sends a key."""
        return httpx2.Client(
            base_url=self.url, headers={"Authorization": f"Bearer {key}"}, timeout=HANG
        )


def add_key(home: Home, name: str, *options: str) -> str:
    """Add a key as a user does; returns the key."""
    done = subprocess.run(
        [sys.executable, "-m", "djinn_memory", "--home", home.root, "key", "add", name, *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@contextmanager
def serving(home: Home, *options: str) -> Iterator[RunningServer]:
    """Serve a home on a free port."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "djinn_memory",
            "--home",
            home.root,
            "serve",
            "--port",
            "0",
            *options,
        ],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )
    try:
        assert process.stderr
        line = process.stderr.readline()
        address = re.search(r"http://\S+(?=/)", line)
        assert address, line + process.stderr.read()
        yield RunningServer(address[0], process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.communicate(timeout=HANG)
