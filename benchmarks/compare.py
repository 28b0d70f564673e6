"""djinn and other memory systems on one vault, with one list of questions, by their commands.

Run: `python benchmarks/compare.py [NAME ...]`, with the other programs on the PATH

A program that is not installed is left out. The questions, and the note that answers each, were
written down before any program was asked.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from common import PROGRAM, ROOT, Usage, machine, need_data, table, usage

QUESTIONS = ROOT / "benchmarks" / "compared_questions.tsv"
DJINN = shlex.quote(PROGRAM[0])


@dataclass(frozen=True)
class Program:
    """How a program indexes the notes in `$NOTES`, answers `$QUESTION`, and names notes."""

    index: Sequence[str]
    """Shell commands that lead from nothing to the first question."""
    ask: str
    hit: str
    """Finds the file name of each hit in an output, the best first."""
    binary: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


COST = (
    "first index", "processor time", "times a plain read", "peak memory",
    "question, new process", "processor time", "peak memory",
)  # fmt: skip
FOUND = ("first hit right", "among the first five", "paraphrases", "keywords")

WORDS_ONLY = {"DJINN_EMBEDDING__PROVIDER": "none"}
DJINN_INDEX = (f"{DJINN} init", f'{DJINN} vault add notes "$NOTES"', f"{DJINN} index")
DJINN_ASK = f'{DJINN} search "$QUESTION" --limit 20 --format paths'
DJINN_HIT = r"^.*/(.+\.md)(?::\d+)?$"

PROGRAMS = {
    # The notes with the most lines that have a word of the question.
    "grep": Program(
        (), 'grep -rciFw $WORDS "$NOTES" | sort -t: -k2nr | head -20', r"^.*/(.+\.md):\d+$"
    ),
    "djinn": Program(DJINN_INDEX, DJINN_ASK, DJINN_HIT, PROGRAM[0]),
    "djinn, words only": Program(
        DJINN_INDEX, f"{DJINN_ASK} --mode words", DJINN_HIT, PROGRAM[0], WORDS_ONLY
    ),
    "QMD, words only": Program(
        ('qmd collection add "$NOTES" --name notes',),
        'qmd search "$QUESTION" -n 20 --json', r'^ *"file": ".*/(.+\.md)"', "qmd",
    ),
    "ClawVault, words only": Program(
        ('clawvault init --minimal "$NOTES"', 'clawvault reindex -v "$NOTES"'),
        'clawvault search "$QUESTION" -n 20 --json -v "$NOTES"',
        r'^ *"path": ".*/(.+\.md)"', "clawvault",
    ),
    "MemPalace": Program(
        ('mempalace init --yes "$NOTES"', 'mempalace mine "$NOTES"'),
        'mempalace search "$QUESTION" --results 20', r"^ *Source: (.+\.md)$", "mempalace",
    ),
    "basic-memory, words only": Program(
        ('basic-memory project add notes "$NOTES"',),
        'basic-memory tool search-notes "$QUESTION" --project notes --page-size 20 --json',
        r'^ *"file_path": "(?:.*/)?(.+\.md)"', "basic-memory",
    ),
}  # fmt: skip


def questions() -> list[list[str]]:
    """Kind, right note, and question."""
    return [line.split("\t") for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]


def measure(program: Program, notes: Path, plain: float) -> list[str]:
    """The figures of a program, on its own copy of the notes in a home of its own."""
    with tempfile.TemporaryDirectory(prefix="djinn-bench-") as folder:
        home, copy = Path(folder) / "home", Path(folder) / "notes"
        shutil.copytree(notes, copy)
        (home / ".cache").mkdir(parents=True)
        if (models := Path.home() / ".cache" / "chroma").is_dir():
            (home / ".cache" / "chroma").symlink_to(models)
        place = {"HOME": str(home), "NOTES": str(copy), **program.environment}
        indexed = [usage(["sh", "-c", command], **place) for command in program.index]
        if failed := [run for run in indexed if run.code]:
            sys.exit(f"failed: {failed[0].errors}")
        return [*_index_cells(indexed, plain), *_answer_cells(program, place)]


def _index_cells(runs: Sequence[Usage], plain: float) -> list[str]:
    if not runs:
        return ["none", "", "", ""]
    wall, cpu = sum(run.seconds for run in runs), sum(run.cpu for run in runs)
    return [
        f"{wall:.1f} s", f"{cpu:.1f} s", f"{wall / plain:,.0f}",
        f"{max(run.peak for run in runs):.0f} MB",
    ]  # fmt: skip


def _answer_cells(program: Program, place: Mapping[str, str]) -> list[str]:
    runs, ranks = [], dict[str, list[int]]()
    for kind, note, question in questions():
        words = " ".join(f"-e {word}" for word in re.findall(r"\w+", question))
        run = usage(["sh", "-c", program.ask], **place, QUESTION=question, WORDS=words)
        found = list(dict.fromkeys(re.findall(program.hit, run.output, re.MULTILINE)))
        right = Path(note).name
        ranks.setdefault(kind, []).append(found.index(right) + 1 if right in found else 99)
        runs.append(run)
    every = [rank for of_kind in ranks.values() for rank in of_kind]
    return [
        f"{statistics.median(run.seconds for run in runs):.2f} s",
        f"{statistics.median(run.cpu for run in runs):.2f} s",
        f"{max(run.peak for run in runs):.0f} MB",
        _share(every, 1), _share(every, 5), *(_share(of_kind, 5) for of_kind in ranks.values()),
    ]  # fmt: skip


def _share(ranks: Sequence[int], depth: int) -> str:
    return f"{sum(rank <= depth for rank in ranks) / len(ranks):.3f}".lstrip("0")


def version(program: Program) -> str:
    """The version that a program states."""
    stated = usage([program.binary or "grep", "--version"]).output
    found = re.search(r"\d+\.\d+(?:\.\d+)?", stated)
    return found[0] if found else "?"


def main() -> None:
    """Print a line for each program as soon as it is measured, then the tables."""
    notes = need_data() / "vaults" / "jackyzha0"
    print(f"`python benchmarks/compare.py` on {machine()}, load {os.getloadavg()[0]:.1f}\n")
    files = [str(path) for path in notes.rglob("*.md")]
    plain = min(usage(["cat", *files]).seconds for _ in range(20))
    print(f"A plain read of the {len(files)} notes takes {plain:.3f} s.\n", flush=True)
    rows = []
    for name, program in PROGRAMS.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        if program.binary and not shutil.which(program.binary):
            print(f"{name}: not installed, left out", flush=True)
            continue
        rows.append([f"{name} ({version(program)})", *measure(program, notes, plain)])
        print(*rows[-1], sep=" | ", flush=True)
    print()
    table(["program", *COST], [row[:8] for row in rows])
    table(["program", *FOUND], [[row[0], *row[8:]] for row in rows])


if __name__ == "__main__":
    main()
