"""The verbs of an agent at 5,000 memories: whole processes, beside an import of typer and rich.

Run: `python benchmarks/verbs.py`
"""

from __future__ import annotations

import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator

from common import PROGRAM, compile_all, home_with, machine, median_seconds, need_data, table

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.indexing.scan import RACY_NS
from djinn_memory.notes.frontmatter import compose
from djinn_memory.notes.ids import new_id

COUNT = 5000
TYPES = ("lesson", "decision", "pattern", "preference", "commitment", "fact", "project", "plan")


def fill(home: Home, count: int = COUNT) -> None:
    """Give the personal vault of a home `count` memories of all types, linked, and index them."""
    root = home.personal(home.agent(None)).root
    documents = list(itertools.islice(_documents(), count))
    for number in range(count):
        title, text = documents[number % len(documents)]
        title += f" {number}" if number >= len(documents) else ""
        kind = TYPES[number % len(TYPES)]
        day = f"{2024 + number % 3}-{number % 12 + 1:02}-{number % 28 + 1:02}"
        fields = {"id": new_id(), "title": title, "type": kind, "tags": [f"topic/{number % 40}"],
                  "created": f"{day}T10:00:00Z", "updated": f"{day}T10:00:00Z",
                  "due": day if kind == "commitment" else None}  # fmt: skip
        linked = documents[number * 7 % len(documents)][0]
        folder = root / f"{kind}s"
        folder.mkdir(exist_ok=True)
        body = f"{text}\n\nSee also [[{linked}]].\n"
        (folder / f"{number}.md").write_text(compose(fields, body), encoding="utf-8")
    Djinn(home).index()
    # The times of files prove nothing until they were read once more, as in any home in use.
    time.sleep(RACY_NS / 1e9)
    Djinn(home).index()


def _documents() -> Iterator[tuple[str, str]]:
    """Titles and texts of both retrieval sets."""
    for name in ("cacm", "cranfield"):
        path = need_data() / "retrieval" / name / "corpus.jsonl"
        for line in path.read_text(encoding="utf-8").splitlines():
            document = json.loads(line)
            yield " ".join(document["title"].split())[:200] or document["_id"], document["text"]


def remembered(home: Home, runs: int = 11) -> float:
    """The median wall time of `djinn remember` with a new text each time, found afterwards."""
    words = sorted({word for _, text in _documents() for word in text.split() if word.isalpha()})
    chance = random.Random(0)
    times = []
    for _ in range(runs + 1):
        title, text = (" ".join(chance.sample(words, many)) for many in (4, 20))
        began = time.perf_counter()
        done = subprocess.run(
            [*PROGRAM, "remember", "lesson", title, text],
            check=True, capture_output=True, text=True,
            env={**os.environ, "DJINN_HOME": str(home.root)},
        )  # fmt: skip
        times.append(time.perf_counter() - began)
        for mode in ("words", "meaning"):
            assert Djinn(home).search(text, mode=mode).hits[0].id == done.stdout.split()[0]
    return statistics.median(times[1:])


def main() -> None:
    """Print the table."""
    print(f"## The verbs of an agent\n\n`python benchmarks/verbs.py` on {machine()}\n")
    compile_all()
    bare = median_seconds([sys.executable, "-c", "import typer, rich.console"])
    with home_with() as home:
        fill(home)
        place = {"DJINN_HOME": str(home.root)}
        rows: list[tuple[str, float, str]] = [("import typer, rich.console", bare, "")]
        rows.append(("djinn remember", remembered(home), "2.5 imports"))
        for bar, *command in (
            ("", "memory", "search", "how are matrices inverted"),
            ("0.5 s", "recall", "how are matrices inverted"),
            ("0.5 s", "wake", "--task", "invert a matrix"),
        ):
            seconds = median_seconds([*PROGRAM, *command], place)
            rows.append((f"djinn {' '.join(command)}", seconds, bar))
    print(f"Cold processes over {COUNT:,} memories, median of 11:\n")
    table(
        ["command", "wall", "of the import", "bar"],
        [[name, f"{wall:.2f} s", f"{wall / bare:.1f}", bar] for name, wall, bar in rows],
    )


if __name__ == "__main__":
    main()
