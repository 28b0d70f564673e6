"""The fenced blocks of a page, and the commands that stand in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

GENERATED = frozenset({DOCS / "cli.md", DOCS / "config.md", DOCS / "json.md"})
"""Written by `tools/docs.py`, whose `--check` is a test of its own."""

PAGES = [ROOT / "README.md", *sorted(set(DOCS.rglob("*.md")) - GENERATED)]

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

_CHANGING = (
    (r"\b(mem|rec|gap)_[0-9a-z]+", r"\1_ID"),
    (r"\bs\d{8}-\d{6}-\d{6}\b", "SESSION"),
    (r"(?<=\.)[\w-]+-[0-9a-z]{4}(?=\.md\b)", "HOME"),
    (r"\b20\d\d-\d\d-\d\d([T -]\d\d[:-]\d\d(:\d\d)?Z?)?", "DATE"),
    (r"-?\b\d+\.\d+\b", "N"),
    (r"\b\d+ (days ago|bytes|of [\d,]+ tokens)", r"N \1"),
    # Sizes and places are as long as they happen to be.
    (r" {2,}", "  "),
)
"""What differs between two runs of a command: times, scores, sizes and names made at random."""


class Command(NamedTuple):
    """A command of a page."""

    line: str
    output: str | None
    """What the page says it prints; None in a block without output."""


def commands(text: str) -> Iterator[Command]:
    """The commands of a page: lines of `sh` blocks, and of `console` blocks those after `$ `."""
    for block in _BLOCK.finditer(text):
        if block[1] == "sh":
            yield from (
                Command(line, None)
                for line in re.sub(r"\\\n *", "", block[2]).splitlines()
                if line and not line.startswith("#")
            )
        elif block[1] == "console":
            for part in re.split(r"^\$ ", block[2], flags=re.MULTILINE)[1:]:
                line, _, output = part.partition("\n")
                yield Command(line, output.rstrip("\n"))


def with_outputs(text: str, outputs: Iterator[str]) -> str:
    """A page with the outputs of the commands of its `console` blocks, in order."""

    def rewritten(block: re.Match[str]) -> str:
        if block[1] != "console":
            return block[0]
        lines = [line for line in block[2].splitlines() if line.startswith("$ ")]
        parts = [f"{line}\n{next(outputs)}".rstrip() + "\n" for line in lines]
        return "\n".join(["```console", *parts]) + "```"

    return _BLOCK.sub(rewritten, text)


def constant(output: str) -> str:
    """An output without what differs from run to run."""
    for pattern, name in _CHANGING:
        output = re.sub(pattern, name, output)
    lines = [line.rstrip() for line in output.strip().splitlines()]
    if output.startswith("# Context for "):
        # Which memories fit into a budget depends on how many tokens ids made at random have.
        lines = [line for line in lines if line.startswith("#")]
    return "\n".join(lines)
