"""What it costs to index one record that was appended to a journal, however long the journal is.

Run: `python benchmarks/journal.py`
"""

from __future__ import annotations

import statistics
import time

from common import home_with, machine, table

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


def main() -> None:
    """Print the figures as a table."""
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


if __name__ == "__main__":
    main()
