"""The verbs about links at 10,000 notes and 60,000 links: whole processes, from their start.

Run: `python benchmarks/graph.py`, or `python benchmarks/graph.py memory` for the peak memory of all
verbs about the graph at 100,000 notes and 600,000 links, which takes twenty minutes.
"""

from __future__ import annotations

import random
import sys
import time
from typing import get_args

from common import PROGRAM, compile_all, home_with, machine, median_seconds, table, usage

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.indexing.scan import RACY_NS
from djinn_memory.memories.graph.requests import GraphFormat

NOTES, LINKS, MENTIONS = 10_000, 60_000, 300
BAR = "0.40 s"
VERBS = (
    ("memory", "related", "note 77"),
    ("memory", "mentions", "Zebra crane"),
    ("graph", "neighbours", "note 77", "--hops", "2"),
    ("graph", "path", "note 77", "note 9000"),
)
LARGE = 10
"""How many times as many notes, links and mentions the table of memory has."""

LARGE_VERBS = (
    *VERBS,
    ("graph", "stats"),
    ("graph", "communities"),
    ("graph", "view", "--json"),
    *(("graph", "export", "--format", form) for form in get_args(GraphFormat)),
)
WORDS = ("harbour", "tide", "lamp", "kettle", "pier", "budget", "plan", "boat", "rope", "sail")


def fill(home: Home, times: int = 1) -> None:
    """Write and index the notes. Some have many links, most have few, as in real vaults."""
    notes = times * NOTES
    chance, vault = random.Random(7), home.shared.root
    links: list[list[int]] = [[] for _ in range(notes)]
    ends = list(range(notes))
    for _ in range(times * LINKS):
        source = chance.randrange(notes)
        near = min(notes - 1, max(0, source + chance.randrange(-30, 30)))
        target = chance.choice(ends) if chance.random() < 0.6 else near
        ends.append(target)
        links[source].append(target)
    for number, targets in enumerate(links):
        text = " ".join(chance.choice(WORDS) for _ in range(40))
        said = " A zebra crane stands there." if number < times * MENTIONS else ""
        listed = " ".join(f"[[note {target}]]" for target in targets)
        folder = vault / f"{number // 500}"
        folder.mkdir(exist_ok=True)
        (folder / f"note {number}.md").write_text(f"# note {number}\n\n{text}.{said} {listed}\n")
    (vault / "Zebra crane.md").write_text("---\naliases: [Old crane]\n---\nIt is tall.\n")
    for _ in range(2):
        Djinn(home).index()
        # The times of files prove nothing until they were read once more, as in any home in use.
        time.sleep(RACY_NS / 1e9)


def main() -> None:
    """Print a table."""
    compile_all()
    if sys.argv[1:] == ["memory"]:
        memory()
        return
    print(f"## The graph of links\n\n`python benchmarks/graph.py` on {machine()}\n")
    with home_with() as home:
        home.edit((("embedding", "provider"), "hashing"))
        fill(home)
        place = {"DJINN_HOME": str(home.root)}
        rows = [(words, median_seconds([*PROGRAM, *words], place)) for words in VERBS]
    print(f"Cold processes over {NOTES:,} notes and {LINKS:,} links, median of 11:\n")
    table(
        ["command", "wall", "bar"],
        [[f"djinn {' '.join(words)}", f"{wall:.2f} s", BAR] for words, wall in rows],
    )


def memory() -> None:
    """Print the time and the peak memory of single runs over many notes."""
    print(f"### Memory\n\n`python benchmarks/graph.py memory` on {machine()}\n")
    with home_with() as home:
        home.edit((("embedding", "provider"), "hashing"))
        fill(home, LARGE)
        rows = []
        for words in LARGE_VERBS:
            used = usage([*PROGRAM, *words], DJINN_HOME=str(home.root))
            rows.append(
                [f"djinn {' '.join(words)}", f"{used.seconds:.1f} s", f"{used.peak:.0f} MB"]
            )
    print(f"{LARGE * NOTES:,} notes and {LARGE * LINKS:,} links, bar 500 MB:\n")
    table(["command", "wall", "peak memory"], rows)


if __name__ == "__main__":
    main()
