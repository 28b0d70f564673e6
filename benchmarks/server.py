"""Calls of a warm MCP server, over stdio and by the official client, beside plain searches.

Run: `python benchmarks/server.py`
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
from common import PROGRAM, home_with, machine, need_data, table
from mcp import Client, StdioServerParameters

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home

NOTES = 5000
RUNS = 200


def queries(data: Path) -> list[str]:
    """The questions of the CACM set, as people wrote them."""
    lines = (data / "retrieval" / "cacm" / "queries.jsonl").read_text().splitlines()
    return [" ".join(json.loads(line)["text"].split())[:200] for line in lines]


def memories(data: Path, folder: Path) -> None:
    """5,000 notes of a paragraph or two each: titles and abstracts of papers, again with a mark."""
    lines = (data / "retrieval" / "cacm" / "corpus.jsonl").read_text().splitlines()
    for number in range(NOTES):
        one = json.loads(lines[number % len(lines)])
        again = f" ({number // len(lines) + 1})" if number >= len(lines) else ""
        place = folder / f"{number // 100:02}" / f"{number}.md"
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"# {one.get('title') or number}{again}\n\n{one['text']}\n")


def long_notes(data: Path, folder: Path) -> None:
    """5,000 notes of a person's vault, up to 3,000 characters each, several times over."""
    sources = sorted((data / "vaults" / "jackyzha0").rglob("*.md"))
    for number in range(NOTES):
        place = folder / f"{number // 100:02}" / f"{number}.md"
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(sources[number % len(sources)].read_bytes()[:3000])


def times(work: Callable[[str], Any], asked: list[str]) -> list[float]:
    """Milliseconds of each call, after some that are not counted."""
    found = []
    for number in range(RUNS + 20):
        began = time.perf_counter()
        work(asked[number % len(asked)])
        found.append((time.perf_counter() - began) * 1000)
    return found[20:]


async def served(home: Home, tool: str, asked: list[str]) -> list[float]:
    """Milliseconds of each call of a tool, as the client sees them."""
    [program] = PROGRAM
    found = []
    arguments = ["--home", str(home.root), "mcp"]
    server = StdioServerParameters(command=program, args=arguments, env=dict(os.environ))
    async with Client(server) as client:
        for number in range(RUNS + 20):
            began = time.perf_counter()
            done = await client.call_tool(tool, {"query": asked[number % len(asked)]})
            found.append((time.perf_counter() - began) * 1000)
            assert not done.is_error, done
    return found[20:]


def measured(home: Home, asked: list[str]) -> list[list[object]]:
    """The tools, beside the same in one process and beside a look around before each."""
    result = []
    base = 0.0
    for label, resident, verb in (
        ("Djinn.search", True, "search"),
        ("Djinn.search, looking around each time", False, "search"),
        ("Djinn.recall", True, "recall"),
    ):
        djinn = Djinn(home, resident=resident)
        found = times(getattr(djinn, verb), asked)
        djinn.close()
        base = base or statistics.median(found)
        result.append(_row(label, found, base))
    for tool in ("search", "recall"):
        result.append(_row(f"MCP {tool}", anyio.run(served, home, tool, asked), base))
    return result


def _row(label: str, found: list[float], base: float) -> list[object]:
    half, most = statistics.median(found), statistics.quantiles(found, n=20)[18]
    bar = "30 / 80 ms" if label == "MCP recall" else ""
    return [label, f"{half:.1f} ms", f"{most:.1f} ms", f"{half / base:.2f}", bar]


def main() -> None:
    """Print a table for each kind of notes."""
    data = need_data()
    asked = queries(data)
    print(f"## MCP\n\n`python benchmarks/server.py` on {machine()}\n")
    for label, make in (("of a paragraph", memories), ("of up to 3,000 characters", long_notes)):
        with tempfile.TemporaryDirectory() as folder:
            make(data, Path(folder))
            with home_with(many=Path(folder)) as home:
                report = Djinn(home).index()
                print(
                    f"{report.notes:,} notes {label}, {report.windows:,} windows, {RUNS} calls:\n"
                )
                # Past the time in which a note just read is looked into again.
                time.sleep(2.5)
                table(["call", "p50", "p95", "of a search", "bar"], measured(home, asked))


if __name__ == "__main__":
    main()
