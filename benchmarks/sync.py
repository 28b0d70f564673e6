"""What it takes to synchronize a vault with a Postgres server inside the home.

Run: `python benchmarks/sync.py`
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from common import machine, table

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from djinn_memory.models import Calibration, ProgressCallback
from djinn_memory.store.index import memories
from djinn_memory.sync.exchange_requests import SyncReport

NOTES = 5_000
TOKENS = 100
"""Tokens of a window, whose signs travel with its vector."""


def note(number: int, dice: random.Random) -> str:
    """A note of about 150 words with front matter, a tag and links."""
    words = " ".join(f"w{min(int(dice.paretovariate(0.7)), 40_000)}" for _ in range(150))
    links = " ".join(f"[[Note {dice.randrange(NOTES)}]]" for _ in range(2))
    return (
        f"---\nid: mem_{number:016d}\ntype: decision\ncreated: 2026-11-20\n---\n"
        f"# Note {number}\n\n{words}\n\n#topic/{number % 40} {links}\n"
    )


def write_notes(vault: Path) -> None:
    """Write the notes of a vault."""
    dice = random.Random(5)
    for number in range(NOTES):
        path = vault / f"part-{number % 50}" / f"note-{number}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(note(number, dice), encoding="utf-8")


def embed(djinn: Djinn) -> None:
    """Index the notes, with made vectors: the model is not what is measured."""
    state, embedder = djinn.runtime.state, djinn.models.embedder
    assert embedder
    dice = np.random.default_rng(5)
    from djinn_memory.indexing.refresh import read

    read(state, djinn.home.vaults)
    hashes = sorted(memories.window_hashes(state.index))
    state.cache.know(embedder.identity, embedder.dimensions, Calibration())
    vectors = {
        key: dice.standard_normal(embedder.dimensions).astype("<f4").tobytes() for key in hashes
    }
    signs = {key: dice.bytes(TOKENS * embedder.dimensions // 8) for key in hashes}
    state.cache.put(embedder.identity, vectors, signs)
    djinn.index()


@contextmanager
def homes(progress: ProgressCallback) -> Iterator[tuple[Djinn, Djinn]]:
    """A home with notes and a server, and an empty home that joined it."""
    with tempfile.TemporaryDirectory(prefix="djinn-bench-") as folder:
        first, _ = init(Path(folder) / "first")
        write_notes(first.shared.root)
        second, _ = init(Path(folder) / "second")
        with Djinn(first) as anna:
            embed(anna)
            anna.sync.init(embedded=True)
            second.edit((("sync", "url"), f"embedded:{first.root}"))
            second.trust(second.untrusted)
            with Djinn(Home(second.root), progress) as ben:
                ben.sync.init()
                yield anna, ben


def seconds(djinn: Djinn) -> tuple[float, SyncReport]:
    """The wall time of a run in this process, and its report."""
    began = time.perf_counter()
    report = djinn.sync.run()
    return time.perf_counter() - began, report


def main() -> None:
    """Print the table."""
    print("## Synchronization\n")
    print(f"`benchmarks/sync.py`, {NOTES:,} notes with vectors of 384 dimensions. {machine()}\n")
    embedded: list[int] = []
    with homes(lambda step: embedded.append(step.done) if step.stage == "embed" else None) as (
        anna,
        ben,
    ):
        rows: list[list[object]] = []
        taken, report = seconds(anna)
        assert report.vaults[0].sent == NOTES, report
        rows.append(["push to an empty server", f"{taken:.1f} s", "<= 20 s"])
        taken, report = seconds(anna)
        assert not report.vaults[0].sent
        rows.append(["second push, nothing changed", f"{taken:.2f} s", "<= 1.5 s"])
        taken, report = seconds(ben)
        assert report.vaults[0].received == NOTES
        rows.append(["pull into an empty home", f"{taken:.1f} s", ""])
        rows.append(["texts that it embedded", str(len(embedded)), "0"])
        (anna.home.shared.root / "part-0" / "note-0.md").write_text("# Changed\n", encoding="utf-8")
        taken, report = seconds(anna)
        rows.append(["one changed note", f"{taken:.2f} s", ""])
        table(["what", "time", "bar"], rows)


if __name__ == "__main__":
    main()
