"""Runs all benchmarks, or those that are named, and writes each table to its section of
docs/benchmarks.md.

Run: `make bench`, or `python benchmarks/run.py speed.py server.py`
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = (
    "install.py", "speed.py", "quality.py", "documents.py", "watch.py", "verbs.py", "warm.py",
    "agent.py", "server.py", "thresholds.py", "multilingual.py", "journal.py", "context.py",
    "tasks.py", "imports.py", "calendars.py", "hook.py", "dates.py", "dated_questions.py",
    "entities.py", "habits.py", "extraction.py", "domains.py", "hostile.py", "sync.py",
    "postgres.py", "graph.py", "two_hop.py", "graph_view.py",
)  # fmt: skip
TARGET = HERE.parent / "docs" / "benchmarks.md"


def replaced(page: str, script: str, made: str) -> str:
    """The page with the new section of a script in place of the old one, or at its end.

    What a person wrote below a `###` heading that the script does not print is kept.
    """
    head, *sections = re.split(r"(?m)^(?=## )", page)
    at = [number for number, section in enumerate(sections) if f"benchmarks/{script}" in section]
    if not at:
        return f"{page.rstrip()}\n\n{made.strip()}\n"
    _, *notes = re.split(r"(?m)^(?=### )", sections[at[0]])
    written = [note for note in notes if note.split("\n", 1)[0] not in made.split("\n")]
    sections[at[0]] = "\n\n".join(part.strip() for part in (made, *written)) + "\n\n"
    return (head + "".join(sections)).rstrip() + "\n"


def main() -> None:
    """Print each table as it comes, and keep it at once."""
    for script in sys.argv[1:] or SCRIPTS:
        done = subprocess.run(
            [sys.executable, HERE / script], stdout=subprocess.PIPE, text=True, check=True
        )
        print(done.stdout, flush=True)
        page = TARGET.read_text(encoding="utf-8")
        TARGET.write_text(replaced(page, script, done.stdout), encoding="utf-8")


if __name__ == "__main__":
    main()
