"""What it takes to synchronize a vault with a Postgres server inside the home.

Beside each run stands what it cannot do without: for a push, a COPY of the same rows into tables
without indexes; for a pull, a copy of the same files; for a run without changes, a look at each.

Run: `python benchmarks/sync.py`, or with fewer notes `python benchmarks/sync.py --notes 500`
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
from common import machine, table

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from djinn_memory.models import Calibration, Progress, ProgressCallback
from djinn_memory.store.index import memories
from djinn_memory.store.postgres import catalog
from djinn_memory.store.postgres.connection import connect
from djinn_memory.store.postgres.servers import server_address
from djinn_memory.sync.requests import SyncReport

NOTES = 5_000
TOKENS = 100
"""Tokens of a window, whose signs travel with its vector."""
SYLLABLES = [first + second for first in "bdfgklmnprstv" for second in "aeiou"]


def word(number: int) -> str:
    """A word of its own for each number. djinn embeds no text that is mostly digits."""
    syllables: list[str] = []
    while number or not syllables:
        number, rest = divmod(number, len(SYLLABLES))
        syllables.append(SYLLABLES[rest])
    return "".join(syllables)


def note(number: int, notes: int, dice: random.Random) -> str:
    """A note of about 150 words with front matter, a tag and links."""
    words = " ".join(word(min(int(dice.paretovariate(0.7)), 40_000)) for _ in range(150))
    links = " ".join(f"[[Note {dice.randrange(notes)}]]" for _ in range(2))
    return (
        f"---\nid: mem_{number:016d}\ntype: decision\ncreated: 2026-11-20\n---\n"
        f"# Note {number}\n\n{words}\n\n#topic/{number % 40} {links}\n"
    )


def write_notes(vault: Path, notes: int) -> None:
    """Write the notes of a vault."""
    dice = random.Random(5)
    for number in range(notes):
        path = vault / f"part-{number % 50}" / f"note-{number}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(note(number, notes, dice), encoding="utf-8")


def embed(djinn: Djinn) -> None:
    """Index the notes, with made vectors: the model is not what is measured."""
    state, embedder = djinn.runtime.state, djinn.models.embedder
    assert embedder
    dice = np.random.default_rng(5)
    from djinn_memory.indexing.refresh import read

    read(state, djinn.home.vaults)
    hashes = sorted(memories.window_hashes(state.index))
    assert hashes, "no text was cut into windows, so that no vector would be sent"
    state.cache.know(embedder.identity, embedder.dimensions, Calibration())
    vectors = {
        key: dice.standard_normal(embedder.dimensions).astype("<f4").tobytes() for key in hashes
    }
    signs = {key: dice.bytes(TOKENS * embedder.dimensions // 8) for key in hashes}
    state.cache.put(embedder.identity, vectors, signs)
    djinn.index()


@contextmanager
def homes(notes: int, progress: ProgressCallback) -> Iterator[tuple[Djinn, Djinn]]:
    """A home with notes and a server, and an empty home that joined it."""
    with tempfile.TemporaryDirectory(prefix="djinn-bench-") as folder:
        first, _ = init(Path(folder) / "first")
        write_notes(first.shared.root, notes)
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


def copy_seconds(djinn: Djinn) -> tuple[float, int]:
    """The wall time of a COPY of all rows of the server into bare tables, and their bytes."""
    with closing(connect(server_address(djinn.home))) as connection:
        with connection.cursor() as cursor:
            tables = catalog.scoped_tables(cursor)
        with connection.transaction(force_rollback=True), connection.cursor() as cursor:
            cursor.execute("create schema plain")
            rows = {}
            for name in tables:
                cursor.execute(f"create table plain.{name} (like {name})".encode())
                with cursor.copy(f"copy {name} to stdout (format binary)".encode()) as copy:
                    rows[name] = [bytes(data) for data in copy]
            began = time.perf_counter()
            for name, parts in rows.items():
                with cursor.copy(f"copy plain.{name} from stdin (format binary)".encode()) as copy:
                    for data in parts:
                        copy.write(data)
            taken = time.perf_counter() - began
    return taken, sum(len(data) for parts in rows.values() for data in parts)


def files_seconds(vault: Path) -> tuple[float, float]:
    """The wall times of a copy of the vault's files, and of a look at the state of each."""
    with tempfile.TemporaryDirectory(prefix="djinn-bench-") as folder:
        began = time.perf_counter()
        shutil.copytree(vault, Path(folder) / "copy")
        copied = time.perf_counter() - began
    began = time.perf_counter()
    for path in vault.rglob("*"):
        path.stat()
    return copied, time.perf_counter() - began


def measure(notes: int) -> tuple[list[list[object]], int]:
    """The rows of the table, and the bytes that a push writes."""
    embedded: list[int] = []

    def tell(step: Progress) -> None:
        if step.stage == "embed":
            embedded.append(step.done)

    with homes(notes, tell) as (anna, ben):
        vault = anna.home.shared.root
        pushed, report = seconds(anna)
        assert report.vaults[0].sent == notes, report
        still, report = seconds(anna)
        assert not report.vaults[0].sent
        pulled, report = seconds(ben)
        assert report.vaults[0].received == notes
        copied, size = copy_seconds(anna)
        files, looked = files_seconds(vault)
        (vault / "part-0" / "note-0.md").write_text("# Changed\n", encoding="utf-8")
        changed, _ = seconds(anna)
    return [
        ["push to an empty server", f"{pushed:.1f} s", f"{pushed / copied:.1f}", "<= 20 s"],
        ["COPY of the same rows", f"{copied:.2f} s", "1.0", ""],
        ["pull into an empty home", f"{pulled:.1f} s", f"{pulled / files:.1f}", ""],
        ["copy of the same files", f"{files:.2f} s", "1.0", ""],
        ["run without changes", f"{still:.2f} s", f"{still / looked:.1f}", "<= 1.5 s"],
        ["a look at each file", f"{looked:.3f} s", "1.0", ""],
        ["run after one changed note", f"{changed:.2f} s", f"{changed / looked:.1f}", ""],
        ["texts that the pull embedded", str(len(embedded)), "", "0"],
    ], size  # fmt: skip


def main() -> None:
    """Print the table."""
    summary, _, about = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--notes", type=int, default=NOTES, help="notes in the vault")
    notes = parser.parse_args().notes
    print("## Synchronization\n")
    print(
        f"`python benchmarks/sync.py` on {machine()}, a server inside the home. {notes:,} notes "
        f"with vectors of 384 dimensions and the signs of {TOKENS} tokens a window:\n"
    )
    rows, size = measure(notes)
    table(["what", "time", "of the plain one below", "bar"], rows)
    print(f"A push writes {size / 1e6:,.0f} MB of rows.")


if __name__ == "__main__":
    main()
