"""What an append to a journal costs, however long the journal is and however many there are.

Run: `python benchmarks/journal.py`
"""

from __future__ import annotations

import statistics
import sys
import time
from datetime import date, timedelta
from pathlib import Path

from common import PROGRAM, home_with, machine, median_seconds, table

from djinn_memory.djinn import Djinn
from djinn_memory.notes import journal

LENGTHS = (10, 1000)
APPENDS = 9


def record(number: int) -> str:
    """A record of a length that is usual for a turn of a conversation."""
    text = f"Turn {number}: the tide came, the kettle sang, and [[Nobody]] wrote it down.\n"
    return journal.compose(
        "09:30",
        f"Turn {number}",
        f"t{number}",
        text * 5,
        {"type": "interaction", "created": "2026-11-20T09:30:00Z", "about": ["[[Kettle]]"]},
    )


def seconds(length: int) -> tuple[float, int]:
    """The median seconds of an index run after an append, and the rows that the last one wrote."""
    with home_with() as home:
        vault = home.root / "vaults" / "shared"
        (vault / "journal").mkdir()
        (vault / "Kettle.md").write_text("It sings.\n", encoding="utf-8")
        path = vault / "journal" / "2026-11-20.laptop.md"
        records = "".join(record(number) for number in range(length))
        path.write_text(journal.header("2026-11-20", "laptop") + records, encoding="utf-8")
        djinn = Djinn(home)
        djinn.index()
        runs = []
        for number in range(length, length + APPENDS):
            with path.open("a", encoding="utf-8") as file:
                file.write(record(number))
            before = djinn.runtime.state.index.total_changes()
            started = time.perf_counter()
            djinn.index()
            runs.append(time.perf_counter() - started)
        written = djinn.runtime.state.index.total_changes() - before
        djinn.close()
    return statistics.median(runs), written


EPISODES = 100_000


def episodes(vault: Path) -> None:
    """Journals of 1,000 episodes a day."""
    (vault / "journal").mkdir()
    for number in range(EPISODES // 1000):
        day = (date(2026, 1, 1) + timedelta(days=number)).isoformat()
        records = "".join(record(1000 * number + count) for count in range(1000))
        path = vault / "journal" / f"{day}.laptop.md"
        path.write_text(journal.header(day, "laptop") + records, encoding="utf-8")


def recorded() -> list[list[object]]:
    """Whole processes that record an episode beside 100,000, and one that finds it."""
    with home_with() as home:
        home.edit((("embedding", "provider"), "hashing"))
        episodes(home.root / "vaults" / "shared")
        with Djinn(home) as djinn:
            djinn.index()
        place = {"DJINN_HOME": str(home.root)}
        base = median_seconds([sys.executable, "-c", "import typer, rich.console"])
        rows: list[list[object]] = [["import typer, rich.console", f"{base:.3f} s", "1.00", ""]]
        said = ["--message", "The quokka missed the ferry to Oslo.", "--response", "Noted."]
        for label, command, bar in (
            ("episode record", ["episode", "record", *said], "4 times"),
            ("memory search, words", ["search", "quokka", "--mode", "words"], ""),
        ):
            seconds = median_seconds([*PROGRAM, *command], place)
            rows.append([label, f"{seconds:.3f} s", f"{seconds / base:.2f}", bar])
        with Djinn(home) as djinn:
            assert "quokka" in djinn.search("quokka").hits[0].snippet
        return rows


def main() -> None:
    """Print the figures as tables."""
    figures = {length: seconds(length) for length in LENGTHS}
    shortest = figures[LENGTHS[0]][0]
    print("## Journals\n")
    print(f"`python benchmarks/journal.py` on {machine()}\n")
    table(
        ["records", "index run after one append", "ratio", "rows written"],
        [
            [f"{length:,}", f"{1000 * took:.1f} ms", f"{took / shortest:.2f}", written]
            for length, (took, written) in figures.items()
        ],
    )

    print(f"\nWhole processes in a home of {EPISODES:,} episodes, median of 11:\n")
    table(["command", "wall", "of the import", "bar"], recorded())


if __name__ == "__main__":
    main()
