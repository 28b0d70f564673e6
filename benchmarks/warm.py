"""Commands beside a `djinn watch` that runs them: whole processes, beside an import of typer and
rich.

Run: `python benchmarks/warm.py`
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from common import PROGRAM, compile_all, home_with, machine, median_seconds, table
from verbs import fill

from djinn_memory.home import warm
from djinn_memory.home.home import Home

COUNT = 1000
BARE = [sys.executable, "-c", "import typer, rich"]
SEARCH = [*PROGRAM, "search", "how are matrices inverted"]
ROUNDS = 6


@contextmanager
def watching(home: Home) -> Iterator[None]:
    """A `djinn watch` that has run a command."""
    process = subprocess.Popen(
        [*PROGRAM, "--home", str(home.root), "watch", "--log"], stdout=subprocess.DEVNULL
    )
    while not warm.listens(str(home.state)):
        time.sleep(0.05)
    time.sleep(5)
    yield
    process.send_signal(signal.SIGTERM)
    process.wait()


def together(commands: Sequence[Sequence[str]]) -> list[float]:
    """The wall times of processes that start at once."""
    began = time.perf_counter()
    quiet = subprocess.DEVNULL
    running = [subprocess.Popen(each, stdout=quiet, stderr=quiet) for each in commands]

    def ended(process: subprocess.Popen[bytes]) -> float:
        assert process.wait() == 0
        return time.perf_counter() - began

    with ThreadPoolExecutor(len(running)) as threads:
        return [*threads.map(ended, running)]


def p95(times: Sequence[float]) -> float:
    """The time that one in twenty exceeds."""
    return sorted(times)[int(len(times) * 0.95)]


def main() -> None:
    """Print the table."""
    print(f"## Commands beside a watch\n\n`python benchmarks/warm.py` on {machine()}\n")
    compile_all()
    with home_with() as home:
        fill(home, COUNT)
        os.environ["DJINN_HOME"] = str(home.root)
        helped = [*PROGRAM, "--help"]
        names = ("import typer, rich", "djinn --help", "djinn search, by itself")
        rows: list[tuple[str, float, str]] = [
            (name, median_seconds(command), "")
            for name, command in zip(names, (BARE, helped, SEARCH), strict=True)
        ]
        base, searches = [], []
        with watching(home):
            bare = median_seconds(BARE)
            rows.append(("djinn search, by the watch", median_seconds(SEARCH), "1.6 imports"))
            for turn in range(ROUNDS):
                base += together([BARE] * 16)
                writes = [
                    [*PROGRAM, "remember", "lesson", f"Note {turn} {number}", "A text", "--force"]
                    for number in range(8)
                ]
                pairs = [each for pair in zip(writes, [SEARCH] * 8, strict=True) for each in pair]
                searches += together(pairs)[1::2]
    print(f"Over {COUNT:,} memories, median of 11:\n")
    table(
        ["command", "wall", "of the import", "bar"],
        [[name, f"{wall:.3f} s", f"{wall / bare:.2f}", bar] for name, wall, bar in rows],
    )
    print(f"\n16 processes at once, {ROUNDS} times, 95th percentile:\n")
    table(
        ["processes", "wall", "of the imports", "bar"],
        [["16 imports", f"{p95(base):.2f} s", "1.00", ""],
         ["searches, beside 8 `djinn remember`", f"{p95(searches):.2f} s",
          f"{p95(searches) / p95(base):.2f}", "1.5"]],
    )  # fmt: skip


if __name__ == "__main__":
    main()
