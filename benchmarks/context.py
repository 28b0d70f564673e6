"""A context bundle beside one search, in a home with all planes and many episodes.

Both run in one resident process. Vectors come from hashes of words, because a model would need an
hour for so many texts; the number of vectors and their size decide the time of a search.

Run: `python benchmarks/context.py [NOTES EPISODES]`
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from datetime import date, timedelta
from itertools import cycle, islice
from pathlib import Path

from common import home_with, machine, need_data, table
from server import queries

from djinn_memory.djinn import Djinn
from djinn_memory.notes import journal

NOTES, EPISODES = 5_000, 100_000
PER_DAY = 500
RUNS = 60
TYPES = (
    "decision", "lesson", "document", "person", "", "project", "preference", "document", "pattern",
    "concept",
)  # fmt: skip


def texts(data: Path, name: str) -> list[dict[str, str]]:
    """The documents of a retrieval set."""
    lines = (data / "retrieval" / name / "corpus.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def write_notes(data: Path, vault: Path, count: int) -> None:
    """Notes of all types: titles and abstracts of papers, again with a mark."""
    papers = texts(data, "cacm")
    for number, paper in enumerate(islice(cycle(papers), count)):
        place = vault / f"{number // 100:02}" / f"{number}.md"
        place.parent.mkdir(exist_ok=True)
        kind = TYPES[number % len(TYPES)]
        front = f"---\ntype: {kind}\n---\n" if kind else ""
        mark = f" ({number // len(papers) + 1})" if number >= len(papers) else ""
        title = f"{paper.get('title') or number}{mark}"
        place.write_text(f"{front}# {title}\n\n{paper['text']}\n", encoding="utf-8")


def write_episodes(data: Path, vault: Path, count: int) -> None:
    """Journals with turns of conversations and sentences of papers, again with a mark."""
    turns = [turn["text"] for turn in texts(data, "conversations_by_turn")]
    turns += [paper["text"][:300] for paper in texts(data, "cacm") if paper["text"]]
    (vault / "journal").mkdir()
    said = enumerate(islice(cycle(turns), count))
    for number in range(0, count, PER_DAY):
        day = (date(2026, 10, 1) - timedelta(days=number // PER_DAY)).isoformat()
        records = []
        for key, text in islice(said, PER_DAY):
            minute = key % PER_DAY * 1440 // PER_DAY
            at = f"{minute // 60:02}:{minute % 60:02}"
            fields = {"type": "interaction", "created": f"{day}T{at}:00Z"}
            spoken = f"{' '.join(text.split())} ({key})"
            records.append(journal.compose(at, text[:60].strip(), f"t{key}", spoken, fields))
        path = vault / "journal" / f"{day}.laptop.md"
        path.write_text(journal.header(day, "laptop") + "".join(records), encoding="utf-8")


def milliseconds(work: Callable[[str], object], asked: list[str]) -> list[float]:
    """The time of each call, after some that are not counted."""
    taken = []
    for question in islice(cycle(asked), RUNS + 10):
        began = time.perf_counter()
        work(question)
        taken.append((time.perf_counter() - began) * 1000)
    return taken[10:]


def main() -> None:
    """Build the home and print the table."""
    data = need_data()
    notes, episodes = map(int, sys.argv[1:3]) if sys.argv[2:] else (NOTES, EPISODES)
    asked = queries(data)
    print(f"## Context\n\n`python benchmarks/context.py` on {machine()}\n")
    with home_with() as home:
        home.edit((("embedding", "provider"), "hashing"))
        vault = home.root / "vaults" / home.config.agents[0]
        write_notes(data, vault, notes)
        write_episodes(data, vault, episodes)
        with Djinn(home) as djinn:
            report = djinn.index()
        windows = f"{report.windows:,} windows"
        print(f"{notes:,} notes, {episodes:,} episodes, {windows}, {RUNS} calls:\n")
        time.sleep(2.5)
        rows: list[list[object]] = []
        base = 0.0
        with Djinn(home, resident=True) as djinn:
            for label, work, bar in (
                ("search", djinn.search, ""),
                ("recall", djinn.recall, ""),
                ("context", djinn.context, "3"),
            ):
                taken = milliseconds(work, asked)
                half, most = statistics.median(taken), statistics.quantiles(taken, n=20)[18]
                base = base or half
                times = f"{half / base:.2f}"
                rows.append([label, f"{half:.0f} ms", f"{most:.0f} ms", times, bar])
        table(["call", "p50", "p95", "of a search", "bar"], rows)


if __name__ == "__main__":
    main()
