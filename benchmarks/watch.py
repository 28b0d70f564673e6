"""How soon a change is searchable under `djinn watch`, and what the watch costs afterwards.

Run: `python benchmarks/watch.py`
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import psutil
from common import PROGRAM, ROOT, home_with, machine, median_seconds, need_data, table

from djinn_memory.home.home import Home
from djinn_memory.store.sqlite import peek

sys.path.insert(0, str(ROOT))
from tests.indexing.vaults import fill
from tests.watch.editors import STYLES

EDITS = 200
NOTES = 2000


def index(home: Home) -> None:
    """Bring a home up to date; a vault may have notes that are broken."""
    command = [*PROGRAM, "--home", str(home.root), "index"]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


@contextmanager
def watching(home: Home) -> Iterator[psutil.Popen]:
    """`djinn watch` beside the block, after its first look at everything."""
    process = psutil.Popen(
        [*PROGRAM, "--home", str(home.root), "watch", "--log"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    for line in process.stdout:
        if "searchable" in line:
            break
    log = (home.state / "bench.log").open("w")
    drain = subprocess.Popen(["cat"], stdin=process.stdout, stdout=log)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(10)
        drain.wait(10)


def found(connection: apsw.Connection, mark: str, condition: str) -> float:
    """The moment at which the chunk that has `mark` is there, and as it should be."""
    sql = f"select {condition} from chunk where text like ?"
    while not connection.execute(sql, (f"%{mark}%",)).get:
        time.sleep(0.002)
    return time.monotonic()


def edits(home: Home, vault: Path) -> list[list[object]]:
    """Edits of notes in every way of saving, from the last write to the answer."""
    dice = random.Random(4)
    notes = sorted(vault.rglob("*.md"))
    words: list[float] = []
    whole: list[float] = []
    with watching(home), closing(peek(home.index_path)) as connection:
        for number in range(EDITS):
            note = dice.choice(notes)
            mark = f"zebra{number}quagga"
            text = f"{note.read_text()}\n\nThe {mark} was seen today, number {number}.\n"
            STYLES[number % len(STYLES)](note, text)
            began = time.monotonic()
            words.append(found(connection, mark, "count(*) > 0") - began)
            whole.append(
                found(
                    connection,
                    mark,
                    "not exists (select 1 from window where chunk_id = chunk.id and not embedded)",
                )
                - began
            )
            time.sleep(dice.uniform(0, 0.4))
    cold = median_seconds([*PROGRAM, "--home", str(home.root), "index"], runs=3)
    rows: list[list[object]] = [
        ["`djinn index` by hand, nothing to do", f"{cold:.2f} s", "1.00", "-", ""]
    ]
    for label, times, bar in (
        ("found by words", words, ""),
        ("and by meaning", whole, "0.5 s, worst 2 s"),
    ):
        middle, worst = statistics.median(times), max(times)
        rows.append([label, f"{middle:.2f} s", f"{middle / cold:.2f}", f"{worst:.2f} s", bar])
    return rows


def checkout() -> list[list[object]]:
    """A checkout that changes 2,000 notes, and the processor's time when all is done."""
    with tempfile.TemporaryDirectory(prefix="djinn-bench-") as folder:
        vault = Path(folder) / "notes"

        def git(*words: str) -> None:
            subprocess.run(
                ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words],
                cwd=vault, check=True, capture_output=True,
            )  # fmt: skip

        fill(vault, NOTES, words=30)
        git("init", "-b", "one")
        git("add", "-A")
        git("commit", "-m", "one")
        git("checkout", "-b", "two")
        fill(vault, NOTES, words=30, seed=8)
        git("commit", "-am", "two")
        with home_with(notes=vault) as home:
            # The vectors of both are in the cache afterwards, as for any checkout to and fro.
            for branch in ("one", "two"):
                git("checkout", branch)
                index(home)
            began = time.monotonic()
            git("checkout", "one")
            index(home)
            by_hand = time.monotonic() - began
            with watching(home) as process, closing(peek(home.index_path)) as connection:
                before = dict(connection.execute("select path, hash from note"))
                began = time.monotonic()
                git("checkout", "two")
                switched = time.monotonic()

                def done() -> bool:
                    now = dict(connection.execute("select path, hash from note"))
                    return all(now.get(path) != was for path, was in before.items()) and not (
                        connection.execute("select count(*) from window where not embedded").get
                    )

                while not done():
                    time.sleep(0.1)
                whole = time.monotonic()
                twice = connection.execute("select count(*) - count(distinct path) from note").get
                time.sleep(5)
                used = sum(process.cpu_times()[:2])
                time.sleep(20)
                idle = (sum(process.cpu_times()[:2]) - used) / 20
                memory = process.memory_info().rss / 1e6
    return [
        ["`git checkout`, then `djinn index`", f"{by_hand:.1f} s", "1.00", "", "", ""],
        [
            f"under watch (of which git {switched - began:.1f} s)", f"{whole - began:.1f} s",
            f"{(whole - began) / by_hand:.2f}", twice, f"{idle:.1%}", f"{memory:.0f} MB",
        ],
    ]  # fmt: skip


def main() -> None:
    """Print the tables."""
    vault = need_data() / "vaults"
    print("## Watching\n")
    print(f"`python benchmarks/watch.py` on {machine()}\n")
    with tempfile.TemporaryDirectory(prefix="djinn-bench-") as folder:
        copy = Path(folder) / "notes"
        shutil.copytree(vault, copy)
        with home_with(notes=copy) as home:
            index(home)
            rows = edits(home, copy)
            count = sum(1 for _ in copy.rglob("*.md"))
    styles = f"{EDITS} edits in {len(STYLES)} ways of saving"
    print(f"{styles}, in a vault of {count} notes, from the last write:\n")
    table(["what", "median", "of by hand", "worst", "bar"], rows)
    print(f"{NOTES:,} notes changed at once:\n")
    table(["what", "time", "of by hand", "twice", "processor after", "memory"], checkout())


if __name__ == "__main__":
    os.environ.setdefault("GIT_CONFIG_GLOBAL", os.devnull)
    main()
