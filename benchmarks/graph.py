"""The verbs about links at 10,000 notes and 60,000 links: whole processes, from their start.

Run: `python benchmarks/graph.py`
"""

from __future__ import annotations

import random
import time

from common import PROGRAM, compile_all, home_with, machine, median_seconds, table

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.indexing.scan import RACY_NS

NOTES, LINKS, MENTIONS = 10_000, 60_000, 300
BAR = "0.40 s"
VERBS = (
    ("memory", "related", "note 77"),
    ("memory", "mentions", "Zebra crane"),
    ("graph", "neighbours", "note 77", "--hops", "2"),
    ("graph", "path", "note 77", "note 9000"),
)
WORDS = ("harbour", "tide", "lamp", "kettle", "pier", "budget", "plan", "boat", "rope", "sail")


def fill(home: Home) -> None:
    """Write and index the notes. Some have many links, most have few, as in real vaults."""
    chance, vault = random.Random(7), home.shared.root
    links: list[list[int]] = [[] for _ in range(NOTES)]
    ends = list(range(NOTES))
    for _ in range(LINKS):
        source = chance.randrange(NOTES)
        near = min(NOTES - 1, max(0, source + chance.randrange(-30, 30)))
        target = chance.choice(ends) if chance.random() < 0.6 else near
        ends.append(target)
        links[source].append(target)
    for number, targets in enumerate(links):
        text = " ".join(chance.choice(WORDS) for _ in range(40))
        said = " A zebra crane stands there." if number < MENTIONS else ""
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
    """Print the table."""
    print(f"## The graph of links\n\n`python benchmarks/graph.py` on {machine()}\n")
    compile_all()
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


if __name__ == "__main__":
    main()
