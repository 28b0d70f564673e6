"""Searches over HTTP: a server of 5,000 notes, and eight clients that search without a pause.

Run: `python benchmarks/serve.py`
"""

from __future__ import annotations

import http.client
import re
import signal
import statistics
import subprocess
import threading
import time
from collections.abc import Sequence
from urllib.parse import urlencode

import psutil
from common import PROGRAM, compile_all, home_with, machine, need_data, table
from server import NOTES, memories, queries

from djinn_memory.djinn import Djinn

CLIENTS = 8
SECONDS = 60


class Load:
    """Clients that search until a time, with connections that stay open."""

    def __init__(self, address: str, key: str, questions: Sequence[str]) -> None:
        self._address = address
        self._headers = {"X-API-Key": key}
        self._questions = questions
        self.seconds: list[float] = []
        self.errors = 0

    def run(self, seconds: float) -> None:
        """Search with all clients for some seconds."""
        end = time.monotonic() + seconds
        clients = [
            threading.Thread(target=self._client, args=(number, end)) for number in range(CLIENTS)
        ]
        for client in clients:
            client.start()
        for client in clients:
            client.join()

    def _client(self, number: int, end: float) -> None:
        connection = http.client.HTTPConnection(self._address)
        turn = number * 7
        while time.monotonic() < end:
            query = self._questions[turn % len(self._questions)]
            turn += 1
            began = time.perf_counter()
            connection.request(
                "GET", f"/v1/search?{urlencode({'query': query})}", headers=self._headers
            )
            answer = connection.getresponse()
            answer.read()
            self.errors += answer.status != 200
            self.seconds.append(time.perf_counter() - began)


def main() -> None:
    """Print the table."""
    print(f"## Searches over HTTP\n\n`python benchmarks/serve.py` on {machine()}\n")
    compile_all()
    data = need_data()
    rows = []
    with home_with() as home:
        memories(data, home.personal("me").root)
        with Djinn(home) as djinn:
            djinn.index()
            key = djinn.keys.add("load").secret
        process = subprocess.Popen(
            [*PROGRAM, "--home", str(home.root), "serve", "--port", "0"],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr
        found = re.search(r"http://(\S+)/", process.stderr.readline())
        assert found
        server = psutil.Process(process.pid)
        for name, questions, seconds in (
            ("each question for the first time", queries(data), 2),
            ("64 questions, again and again", queries(data), SECONDS),
        ):
            load = Load(found[1], key, questions)
            before = server.memory_info().rss / 1e6
            load.run(seconds)
            times = sorted(load.seconds)
            rows.append([
                name, len(times), f"{statistics.median(times) * 1000:.1f} ms",
                f"{times[int(len(times) * 0.95)] * 1000:.1f} ms", load.errors,
                f"{before:.0f} to {server.memory_info().rss / 1e6:.0f} MB",
            ])  # fmt: skip
        process.send_signal(signal.SIGTERM)
        process.wait()
    print(
        f"{NOTES:,} notes, {CLIENTS} clients, {SECONDS} s. Bars: 25 ms, 80 ms, no error, 300 MB.\n"
    )
    table(["questions", "searches", "median", "95th percentile", "errors", "memory"], rows)


if __name__ == "__main__":
    main()
