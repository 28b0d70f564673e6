"""Time and memory of whole commands, each beside something plain on the same machine.

Run: `python benchmarks/speed.py`
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

from common import (
    PROGRAM,
    home_with,
    machine,
    median_seconds,
    need_data,
    peak_mb,
    raw_model_seconds,
    table,
)

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.store.index import open_index, vectors
from djinn_memory.store.sqlite import rows

QUERY = "how do I link to a heading"


def search(home: Home) -> list[list[object]]:
    """Cold searches, against the imports that any typer and rich program pays."""
    place = {"DJINN_HOME": str(home.root)}
    base = median_seconds([sys.executable, "-c", "import typer, rich.console"])
    result: list[list[object]] = [["import typer, rich.console", f"{base:.3f} s", "1.00", "-", ""]]
    for label, command, bar in (
        ("memory search, hybrid", ["memory", "search", QUERY], "0.40 s, 3.5 times, 250 MB"),
        ("memory search, words", ["memory", "search", QUERY, "--mode", "words"], "0.25 s"),
        ("--help", ["--help"], "0.20 s"),
    ):
        seconds = median_seconds([*PROGRAM, *command], place)
        peak = peak_mb([*PROGRAM, *command], **place)
        result.append([label, f"{seconds:.3f} s", f"{seconds / base:.2f}", f"{peak:.0f} MB", bar])
    return result


def first_index(home: Home) -> list[list[object]]:
    """A first index against the bare model over the same windows."""
    place = {"DJINN_HOME": str(home.root)}
    began = time.perf_counter()
    peak = peak_mb([*PROGRAM, "index"], **place)
    indexing = time.perf_counter() - began
    connection = open_index(home.index_path)
    windows = [key for (key,) in rows(connection, "select min(id) from window group by hash")]
    texts = list(vectors.texts(connection, windows).values())
    raw, pairs = raw_model_seconds(texts), raw_model_seconds(texts, at_once=2)
    return [
        ["raw model", f"{raw:.1f} s", f"{len(texts) / raw:.0f} texts/s", "100 %", "-", ""],
        ["raw model, two texts at once", f"{pairs:.1f} s", f"{len(texts) / pairs:.0f} texts/s",
         f"{raw / pairs:.0%}", "-", ""],
        ["djinn index", f"{indexing:.1f} s", f"{len(texts) / indexing:.0f} texts/s",
         f"{raw / indexing:.0%}", f"{peak:.0f} MB", "88 %, 500 MB"],
    ]  # fmt: skip


def no_change(notes: Path) -> list[list[object]]:
    """An index run with nothing to do over 5,000 notes, against a plain walk with a stat each."""
    with tempfile.TemporaryDirectory() as folder:
        sources = sorted(notes.rglob("*.md"))
        for number in range(5000):
            target = Path(folder) / f"{number // 100:02}" / f"{number}.md"
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(sources[number % len(sources)], target)
        walk = f"import pathlib\nfor p in pathlib.Path({folder!r}).rglob('*.md'): p.stat()"
        with home_with(many=Path(folder)) as home:
            home.edit((("embedding", "provider"), "none"))
            place = {"DJINN_HOME": str(home.root)}
            Djinn(home).index()
            time.sleep(2.5)  # past the racy window, in which every file is looked into again
            Djinn(home).index()
            plain = median_seconds([sys.executable, "-c", walk], runs=5)
            seconds = median_seconds([*PROGRAM, "index"], place, runs=5)
            cold = median_seconds([*PROGRAM, "memory", "search", QUERY], place, runs=5)
    return [
        ["plain walk with stat", f"{plain:.2f} s", "1.0", ""],
        ["djinn index, nothing changed", f"{seconds:.2f} s", f"{seconds / plain:.1f}", "1.0 s"],
        ["memory search, words only", f"{cold:.2f} s", f"{cold / plain:.1f}", ""],
    ]


def rebuilt(home: Home, notes: Path) -> list[list[object]]:
    """Delete the index, index again: nothing is embedded and every answer is the same."""
    titles = sorted({path.stem for path in notes.rglob("*.md")})
    queries = [f"what about {title}" for title in titles[:: max(1, len(titles) // 50)]][:50]
    before = [_answer(home, query) for query in queries]
    home.index_path.unlink()
    for rest in ("-wal", "-shm"):
        home.index_path.with_name(home.index_path.name + rest).unlink(missing_ok=True)
    report = Djinn(home).index()
    same = sum(_answer(home, query) == old for query, old in zip(queries, before, strict=True))
    return [[len(queries), same, report.embedded, report.reused, f"{report.seconds:.1f} s"]]


def _answer(home: Home, query: str) -> str:
    hits = Djinn(home).search(query).hits
    return json.dumps([(hit.path, hit.lines, hit.score) for hit in hits])


def main() -> None:
    """Print all tables."""
    notes = need_data() / "vaults" / "jackyzha0"
    print(f"## Speed and memory\n\n`python benchmarks/speed.py` on {machine()}\n")
    with home_with(notes=notes) as home:
        print("First index of a vault of 749 notes:\n")
        table(["run", "time", "rate", "of raw", "peak", "bar"], first_index(home))
        print("Cold processes over that vault, median of 11:\n")
        table(["command", "wall", "of the import", "peak", "bar"], search(home))
        print("The index deleted and made again:\n")
        table(["queries", "same hits", "embedded", "reused", "time"], rebuilt(home, notes))
    print("5,000 notes, nothing changed:\n")
    table(["command", "wall", "of the walk", "bar"], no_change(notes))


if __name__ == "__main__":
    main()
