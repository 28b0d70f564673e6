"""What grants of domains cost: a search with and without them, and a change of the grants.

The notes are made: words with the frequencies of language, eight domains, and notes without one.
Vectors come from hashes of words. The calls of all rows alternate, so that load hits them alike.

Run: `python benchmarks/domains.py [NOTES]`
"""

from __future__ import annotations

import random
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from common import home_with, machine, table

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home

NOTES, SECTIONS = 5_000, 5
RUNS = 80
DOMAINS = [f"part{number}" for number in range(8)]
AGENTS = ["me", "all", "half", "one"]
GRANTS = {"all": DOMAINS, "half": DOMAINS[:4], "one": DOMAINS[:1]}
WORDS = 20_000


class Writer:
    """Writes made text, the same each time."""

    def __init__(self) -> None:
        self.random = random.Random(17)
        self.words = [self._word() for _ in range(WORDS)]
        self.weights = [1 / (rank + 10) for rank in range(WORDS)]

    def _word(self) -> str:
        syllables = ("ba", "ke", "li", "mo", "ru", "ta", "ve", "no", "si", "pa")
        return "".join(self.random.choices(syllables, k=self.random.randint(2, 5)))

    def say(self, count: int) -> str:
        """A text of so many words."""
        return " ".join(self.random.choices(self.words, self.weights, k=count))

    def write(self, vault: Path, notes: int) -> None:
        """Notes of the domains in turn; every ninth has none."""
        for number in range(notes):
            place = vault / f"{number // 100:02}" / f"{number}.md"
            place.parent.mkdir(exist_ok=True)
            turn = number % (len(DOMAINS) + 1)
            front = f"---\ndomain: {DOMAINS[turn]}\n---\n" if turn < len(DOMAINS) else ""
            sections = (f"## {self.say(3)}\n\n{self.say(60)}\n" for _ in range(SECTIONS))
            place.write_text(f"{front}# {self.say(4)}\n\n" + "\n".join(sections))


def seconds(work: Callable[[], object]) -> float:
    """How long a call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def searches(bare: Home, granted: Home, asked: list[str]) -> list[list[object]]:
    """A row for each kind of agent, the first without grants."""
    # Notes that were saved a moment ago are looked at once more.
    time.sleep(2.5)
    with Djinn(bare, resident=True) as before, Djinn(granted, resident=True) as after:
        kinds = {
            "no grants": (before, "me"),
            "grants, the owner": (after, "me"),
            "grants, an agent that sees all 8 domains": (after, "all"),
            "grants, an agent that sees 4 domains": (after, "half"),
        }
        taken: dict[str, list[float]] = {kind: [] for kind in kinds}
        for question in asked:
            for kind, (djinn, agent) in kinds.items():
                ask = seconds(lambda d=djinn, a=agent, q=question: d.search(q, agent=a))  # type: ignore[misc]
                taken[kind].append(ask * 1000)
    base = statistics.median(taken["no grants"][10:])
    return [
        [kind, f"{statistics.median(times[10:]):.1f} ms",
         f"{statistics.median(times[10:]) / base:.2f}", "1.2" if kind != "no grants" else ""]
        for kind, times in taken.items()
    ]  # fmt: skip


def main() -> None:
    """Build the homes and print the tables."""
    notes = int(sys.argv[1]) if sys.argv[1:] else NOTES
    writer = Writer()
    print(f"## Domains\n\n`python benchmarks/domains.py` on {machine()}\n")
    with home_with() as bare:
        bare.edit(
            (("embedding", "provider"), "hashing"),
            (("agents",), AGENTS),
            (("vaults", "shared", "path"), "vaults/shared"),
        )
        writer.write(bare.root / "vaults" / "shared", notes)
        with Djinn(bare) as djinn:
            indexing = seconds(djinn.index)
            counts = djinn.memories.stats(agent="me")
        granted = Home(shutil.copytree(bare.root, bare.root.with_name("granted")))
        with Djinn(granted) as djinn:
            # The files of a copy seem to have changed.
            djinn.index()
        granted.edit((("access",), GRANTS))
        divided = [
            seconds(lambda: Djinn(granted).memories.stats(agent="one")),
            seconds(lambda: Djinn(granted).memories.stats(agent="one")),
        ]
        fewer = {**GRANTS, "half": DOMAINS[:3]}
        granted.edit((("access",), fewer))
        divided.append(seconds(lambda: Djinn(granted).memories.stats(agent="one")))
        granted.edit((("access",), GRANTS))
        asked = [writer.say(4) for _ in range(RUNS + 10)]
        print(f"{notes:,} notes with {counts.chunks:,} chunks, {RUNS} searches:\n")
        table(["search", "p50", "of no grants", "bar"], searches(bare, granted, asked))
        print()
        table(
            ["what", "time"],
            [
                ["index all notes", f"{indexing:.1f} s"],
                ["first answer after 3 agents were limited", f"{divided[0]:.1f} s"],
                ["the same again", f"{divided[1]:.2f} s"],
                ["first answer after one domain less for one agent", f"{divided[2]:.1f} s"],
            ],
        )


if __name__ == "__main__":
    main()
