"""A first index of 270 hostile files with the packaged model, beside the bare model.

Run: `python benchmarks/hostile.py`
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import string
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from common import PROGRAM, ROOT, home_with, machine, peak_mb, raw_model_seconds, table

from djinn_memory.home.home import Home
from djinn_memory.store.index import open_index, vectors
from djinn_memory.store.sqlite import rows

PER_KIND = 10
"""Files of a kind, each 2.5 times as long as the one before; the largest has its kind's size."""

GROWTH = 2.5

Write = Callable[[random.Random, int], str | bytes]
"""Gets a source of chance, and how many bytes there are to be."""

SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]


def word(chance: random.Random) -> str:
    """A word that no language has."""
    return "".join(chance.choices(SYLLABLES, k=chance.randint(1, 4)))


VOCABULARY = sorted(set(re.findall(r"[a-z]+", (ROOT / "README.md").read_text(encoding="utf-8"))))


def words(chance: random.Random, size: int, between: str = " ") -> str:
    """Common words in no order."""
    return between.join(chance.choices(VOCABULARY, k=size // 7))


def encoded(chance: random.Random, size: int) -> str:
    """Base64 on one line."""
    return base64.b64encode(chance.randbytes(size * 3 // 4)).decode()


def wrapped(chance: random.Random, size: int) -> str:
    """Base64 in lines of 76 characters, as in mail."""
    return base64.encodebytes(chance.randbytes(size * 3 // 4)).decode()


def picture(chance: random.Random, size: int) -> str:
    """A picture inside a note."""
    return f"# Picture\n\nSee ![](data:image/png;base64,{encoded(chance, size)}) here.\n"


def minified_code(chance: random.Random, size: int) -> str:
    """Minified JavaScript."""
    letters = string.ascii_letters
    part = 'function {0}({1},{2}){{return {1}.{3}?{2}[{4}]+"{5}":{0}({2},!{1})}}'
    functions = (
        part.format(
            *chance.choices(letters, k=3), word(chance), chance.randint(0, 999), word(chance)
        )
        for _ in range(size // 50)
    )
    return ";".join(functions)


def minified_style(chance: random.Random, size: int) -> str:
    """Minified CSS."""
    rules = (
        f".{word(chance)}>{word(chance)}{{color:#{chance.randint(0, 0xFFFFFF):06x};"
        f"margin:{chance.randint(0, 99)}px {chance.randint(0, 99)}px}}"
        for _ in range(size // 45)
    )
    return "".join(rules)


def minified_json(chance: random.Random, size: int) -> str:
    """JSON on one line."""
    records = [
        {
            "id": number,
            "name": word(chance),
            "tags": [word(chance), word(chance)],
            "at": chance.random(),
        }
        for number in range(size // 80)
    ]
    return json.dumps(records, separators=(",", ":"))


def fenced_json(chance: random.Random, size: int) -> str:
    """Indented JSON in a code fence."""
    text = json.dumps(json.loads(minified_json(chance, size // 2)), indent=1)
    return f"# Data\n\n```json\n{text}\n```\n"


def fenced_dump(chance: random.Random, size: int) -> str:
    """A hex dump in a code fence."""
    lines = (
        f"{at * 16:08x}  {chance.randbytes(16).hex(' ')}  |................|"
        for at in range(size // 78)
    )
    return "```\n" + "\n".join(lines) + "\n```\n"


def hashes(chance: random.Random, size: int) -> str:
    """Checksums and file names."""
    lines = (
        f"{hashlib.sha256(chance.randbytes(8)).hexdigest()}  {word(chance)}.bin"
        for _ in range(size // 75)
    )
    return "\n".join(lines)


def letters(chance: random.Random, size: int) -> str:
    """One word without an end."""
    return "".join(chance.choices(string.ascii_lowercase, k=size))


def digits(chance: random.Random, size: int) -> str:
    """One number without an end."""
    return "".join(chance.choices(string.digits, k=size))


def numbers(chance: random.Random, size: int) -> str:
    """Comma-separated numbers."""
    lines = (",".join(f"{chance.gauss(0, 100):.3f}" for _ in range(12)) for _ in range(size // 90))
    return "\n".join(lines)


def chinese(chance: random.Random, size: int) -> str:
    """Ideographs without a space or a stop."""
    return "".join(chr(chance.randint(0x4E00, 0x9FA5)) for _ in range(size // 3))


def zalgo(chance: random.Random, size: int) -> str:
    """Letters under heaps of combining marks."""
    marks = [chr(code) for code in range(0x300, 0x36F)]
    return " ".join(
        letter + "".join(chance.choices(marks, k=20))
        for letter in chance.choices(string.ascii_lowercase, k=size // 42)
    )


def emoji(chance: random.Random, size: int) -> str:
    """Emoji without a space."""
    return "".join(chr(chance.randint(0x1F300, 0x1F5FF)) for _ in range(size // 4))


def log(chance: random.Random, size: int) -> str:
    """Short lines of a log."""
    lines = (
        f"2026-11-{chance.randint(1, 30):02}T{chance.randint(0, 23):02}:00:00Z "
        f"{word(chance)}[{number}] {chance.randint(100, 599)} /{word(chance)}/{word(chance)}"
        for number in range(size // 50)
    )
    return "\n".join(lines)


def records(chance: random.Random, size: int) -> str:
    """A table of comma-separated values."""
    lines = (
        f"{number},{word(chance)},{chance.random():.4f},{word(chance)}@example.org"
        for number in range(size // 40)
    )
    return "\n".join(lines)


def wide_table(chance: random.Random, size: int) -> str:
    """A Markdown table of a thousand columns."""
    row = "|".join(word(chance) for _ in range(1000))
    rule = "-|" * 1000
    return f"|{row}|\n|{rule}\n" + f"|{row}|\n" * (size // len(row))


KINDS: dict[str, tuple[int, Write]] = {
    "base64": (5_000_000, encoded),
    "base64 in lines": (2_000_000, wrapped),
    "a picture in a note": (2_000_000, picture),
    "random bytes": (5_000_000, lambda chance, size: chance.randbytes(size)),
    "bytes in lines": (
        1_000_000,
        lambda chance, size: chance.randbytes(size).replace(b"\0", b"\n"),
    ),
    "zeros": (5_000_000, lambda chance, size: bytes(size)),
    "Latin-1": (150_000, lambda chance, size: words(chance, size, " é ").encode("latin-1")),
    "minified JavaScript": (2_000_000, minified_code),
    "minified CSS": (1_000_000, minified_style),
    "minified JSON": (2_000_000, minified_json),
    "JSON in a fence": (150_000, fenced_json),
    "a hex dump in a fence": (150_000, fenced_dump),
    "checksums": (500_000, hashes),
    "a word without an end": (5_000_000, letters),
    "a number without an end": (5_000_000, digits),
    "a line of words": (1_000_000, words),
    "a word a line": (150_000, lambda chance, size: words(chance, size, "\n")),
    "numbers": (500_000, numbers),
    "ideographs": (150_000, chinese),
    "combining marks": (500_000, zalgo),
    "emoji": (500_000, emoji),
    "a log": (150_000, log),
    "records": (150_000, records),
    "a wide table": (200_000, wide_table),
    "deep quotes": (500_000, lambda chance, size: ">" * size + words(chance, 100)),
    "deep lists": (500_000, lambda chance, size: "- " * (size // 2) + words(chance, 100)),
    "open brackets": (1_000_000, lambda chance, size: "[[" * (size // 2)),
}


def fill(folder: Path) -> int:
    """Write the files, the same at each call; returns their bytes."""
    total = 0
    for kind, (largest, write) in KINDS.items():
        for number in range(PER_KIND):
            size = int(largest / GROWTH ** (PER_KIND - 1 - number))
            content = write(random.Random(f"{kind} {number}"), size)
            data = content if isinstance(content, bytes) else content.encode()
            path = folder / kind / f"{number}.md"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
            total += len(data)
    return total


def first_index(home: Home) -> tuple[float, float, list[str]]:
    """Seconds and megabytes of a first index, and the different texts that it embeds."""
    began = time.perf_counter()
    peak = peak_mb([sys.executable, "-c", RUN, *PROGRAM, "index"], DJINN_HOME=str(home.root))
    seconds = time.perf_counter() - began
    connection = open_index(home.index_path)
    windows = [key for (key,) in rows(connection, "select min(id) from window group by hash")]
    return seconds, peak, list(vectors.texts(connection, windows).values())


RUN = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode not in (0, 1))"
"""Runs a command that ends with 1 where it has something to remark."""


def main() -> None:
    """Print the table."""
    print(f"## Hostile files\n\n`python benchmarks/hostile.py` on {machine()}\n")
    with tempfile.TemporaryDirectory(prefix="djinn-hostile-") as place:
        folder = Path(place)
        size = fill(folder)
        with home_with(hostile=folder) as home:
            seconds, peak, texts = first_index(home)
    raw = raw_model_seconds(texts)
    number = len(KINDS) * PER_KIND
    print(f"{number} files of {len(KINDS)} kinds, {size / 1e6:.0f} MB:\n")
    table(
        ["run", "time", "of raw", "peak", "bar"],
        [
            [f"raw model, {len(texts):,} texts", f"{raw:.1f} s", "1.00", "-", ""],
            ["djinn index", f"{seconds:.1f} s", f"{seconds / raw:.2f}", f"{peak:.0f} MB", "120 s"],
        ],
    )


if __name__ == "__main__":
    main()
