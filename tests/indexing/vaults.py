"""Vaults made for tests."""

from __future__ import annotations

import random
import shutil
import time
from pathlib import Path

from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent

_WORDS = [
    "harbour", "tide", "ledger", "anchor", "signal", "bread", "winter", "garden", "kettle",
    "lantern", "mirror", "orchard", "pepper", "quarry", "ribbon", "saddle", "thunder", "umbrella",
    "velvet", "window", "yonder", "zephyr", "copper", "marble",
]  # fmt: skip


def fill(folder: Path, notes: int, *, words: int = 120, seed: int = 7) -> None:
    """Write so many notes of random words, with headings, tags and links among them."""
    dice = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(notes):
        body = " ".join(dice.choices(_WORDS, k=words))
        other = dice.randrange(notes)
        (folder / f"note-{number:05}.md").write_text(
            f"---\ntype: lesson\ntags: [{dice.choice(_WORDS)}]\n---\n# Note {number}\n\n{body}\n\n"
            f"## Part {number % 7}\n\nSee [[note-{other:05}]]. {body[::-1]}\n",
            encoding="utf-8",
        )


def settle() -> None:
    """Wait until what was written is old enough for its times to be believed."""
    time.sleep(2.1)


def with_sample(home: Home, sample: Path) -> Home:
    """Give a home the sample's notes: `shared`, and the personal vaults of finn and grace."""
    for agent in ("finn", "grace"):
        add_agent(home, agent)
    for vault in ("shared", "finn", "grace"):
        shutil.copytree(sample / vault, home.root / "vaults" / vault, dirs_exist_ok=True)
    return home
