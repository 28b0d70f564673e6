"""A real Redis server for tests, on a socket of its own, which keeps nothing."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis


@contextmanager
def redis_server(*options: str) -> Iterator[str]:
    """Its address, while the block runs."""
    program = shutil.which("redis-server")
    if not program:
        pytest.skip("no redis-server here; apt-get install redis-server")
    # The path of a socket may not be long, and that of a test's folder is.
    with tempfile.TemporaryDirectory(prefix="redis") as folder:
        place = Path(folder) / "s"
        process = subprocess.Popen(
            [program, "--port", "0", "--unixsocket", str(place), "--save", "", "--appendonly",
             "no", "--dir", folder, *options],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            until = time.monotonic() + 30
            while not _accepts(place):
                assert process.poll() is None and time.monotonic() < until, "it does not start"
                time.sleep(0.01)
            yield f"unix://{place}"
        finally:
            process.kill()
            process.wait()


def _accepts(place: Path) -> bool:
    """Whether the server listens; its socket exists a little earlier."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(place)) == 0


def client(url: str) -> Any:
    """Somebody else who asks the server."""
    return redis.Redis.from_url(url, decode_responses=True)


def pass_time(url: str, seconds: float) -> None:
    """Let the server's entries be older: all that they say of time moves into the past."""
    server = client(url)
    for place in server.scan_iter("djinn:*", count=1000):
        if server.type(place) == "zset":
            for name, _ in server.zscan_iter(place):
                server.zincrby(place, -seconds, name)
            continue
        until = server.pexpiretime(place)
        for field in ("created", "updated", "expires", "used"):
            if server.hexists(place, field):
                server.hincrbyfloat(place, field, -seconds)
        server.pexpireat(place, int(until - seconds * 1000))
    server.close()
