"""The speed of an import beside that of the bare model, its memory, a kill and a second import.

Run: `python benchmarks/imports.py [--turns 3000]`. 50,000 turns take half an hour.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from common import PROGRAM, home_with, machine, peak_mb, raw_model_seconds, table

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.store.index import vectors

TURNS = 50_000
SAMPLE = 4_000
"""Windows that the bare model embeds, half of them before the import and half behind it."""

_TEXT = (
    "the a of to in and is was for ferry harbour lamp kettle budget meeting report server deploy "
    "release customer invoice Anna Berg Oslo Berlin review code function test error logs database "
    "index query travel hotel flight ticket plan project decision team note water garden recipe "
    "bread doctor school music piano running marathon phone laptop window door account bank price"
)
WORDS = _TEXT.split()
DATES = (
    "next Tuesday", "on Friday", "2026-05-12", "May 4", "in two weeks", "last month", "tomorrow",
    "3 days ago", "yesterday at 7 pm", "in March", "on 12 June 2026",
)  # fmt: skip
OPENINGS = (
    "Can you create", "Please update", "I finished", "How do I", "What is", "We decided on",
    "Remind me about", "I prefer",
)  # fmt: skip


def sentence(dice: random.Random) -> str:
    """Words at random, some with a date, an amount or an address."""
    words = dice.choices(WORDS, k=dice.randint(6, 14))
    if dice.random() < 0.25:
        words.insert(dice.randrange(len(words)), dice.choice(DATES))
    if dice.random() < 0.1:
        words.append(f"{dice.randint(5, 900)} EUR")
    if dice.random() < 0.05:
        words.append(f"https://example.org/{dice.randrange(10**6)}")
    return f"{' '.join(words).capitalize()}."


def messages(turns: int) -> Iterator[dict[str, object]]:
    """The lines of a chat log: sessions of ten turns on average, over some years."""
    dice, at, session = random.Random(7), 1.65e9, 0
    step = 1e8 / TURNS
    for number in range(turns):
        if dice.random() < 0.1:
            session, at = session + 1, at + dice.expovariate(1 / (9 * step))
        at += dice.expovariate(1 / (0.1 * step))
        asked = " ".join([dice.choice(OPENINGS), *(sentence(dice) for _ in range(2))])
        said = " ".join(sentence(dice) for _ in range(dice.randint(2, 8)))
        for role, text, seconds in (("user", asked, 0), ("assistant", said, 5)):
            yield {
                "id": f"{role[0]}{number}",
                "session_id": f"s{session}",
                "role": role,
                "content": text,
                "timestamp": round(at + seconds, 3),
            }


def write_log(path: Path, turns: int) -> Path:
    """A chat log of this many turns."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(message)}\n" for message in messages(turns))
    return path


def imported(home: Home, log: Path) -> tuple[float, float]:
    """The wall seconds of `djinn import`, and its peak memory in MB."""
    began = time.perf_counter()
    memory = peak_mb([*PROGRAM, "--home", str(home.root), "import", str(log)])
    return time.perf_counter() - began, memory


def window_texts(home: Home) -> list[str]:
    """A sample of the texts that are embedded, at random."""
    with Djinn(home) as djinn:
        connection = djinn.runtime.state.index
        count = vectors.count(connection)
        numbers = random.Random(1).sample(range(1, count + 1), min(count, SAMPLE))
        return [*vectors.texts(connection, numbers).values()]


def raw_seconds(texts: list[str], at_once: int = 1) -> float:
    """What the bare model takes for a text, in batches of like length."""
    longest_first = sorted(texts, key=len, reverse=True)
    return raw_model_seconds(longest_first, at_once=at_once) / len(texts)


def killed(log: Path) -> list[object]:
    """An import that is killed when it has written 20 journals, and the next one."""
    with home_with() as home:
        home.edit((("embedding", "provider"), "none"))
        command = [*PROGRAM, "--home", str(home.root), "import", str(log), "--json"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        journal = home.root / "vaults" / "me" / "journal"
        while process.poll() is None and not (journal.exists() and len([*journal.iterdir()]) > 20):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        answer = json.loads(done.stdout)
        with Djinn(home) as djinn:
            total = djinn.episodes.stats().total
        return [f"{answer['known']:,}", f"{answer['recorded']:,}", f"{total:,}"]


def measure(log: Path, few: Path, turns: int) -> None:
    """Print the figures as tables."""
    with home_with() as home:
        home.edit((("embedding", "provider"), "none"))
        small = imported(home, few)[1]
    with home_with() as home:
        home.edit((("embedding", "provider"), "none"))
        words, large = imported(home, log)
        texts = window_texts(home)
    half = len(texts) // 2
    before = raw_seconds(texts[:half]), raw_seconds(texts[:half], 2)
    with home_with() as home:
        seconds, memory = imported(home, log)
        with Djinn(home) as djinn:
            windows = vectors.count(djinn.runtime.state.index)
        again = imported(home, log)[0]
    after = raw_seconds(texts[half:]), raw_seconds(texts[half:], 2)
    raw, pairs = (statistics.fmean(rates) * windows for rates in zip(before, after, strict=True))
    table(
        ["what", "result", "bar"],
        [
            ["turns, windows", f"{turns:,}, {windows:,}", ""],
            ["bare model", f"{raw:.1f} s", ""],
            ["bare model, two texts at once", f"{pairs:.1f} s", ""],
            ["import", f"{seconds:.1f} s", ""],
            ["speed of the bare model", f"{raw / seconds:.0%}", "85 %"],
            ["speed of the bare model, two texts at once", f"{pairs / seconds:.0%}", ""],
            ["import without a model", f"{words:.1f} s", ""],
            ["second import, nothing new", f"{again:.1f} s", ""],
            ["peak memory", f"{memory:.0f} MB", ""],
            ["without a model", f"{large:.0f} MB", "flat"],
            ["without a model, a fifth of the turns", f"{small:.0f} MB", ""],
        ],
    )
    print("After a kill:\n")
    table(["known", "recorded", "episodes"], [killed(log)])


def main() -> None:
    """Import made chats."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=TURNS)
    turns = parser.parse_args().turns
    print("## Imports\n")
    print(f"`python benchmarks/imports.py` on {machine()}\n")
    with tempfile.TemporaryDirectory(prefix="djinn-bench-") as folder:
        log = write_log(Path(folder) / "log.jsonl", turns)
        few = write_log(Path(folder) / "few.jsonl", turns // 5)
        measure(log, few, turns)


if __name__ == "__main__":
    main()
