"""Runs all benchmarks, or those that are named, and writes their tables to docs/benchmarks.md.

Run: `make bench`, or `python benchmarks/run.py speed.py server.py`
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = (
    "install.py", "speed.py", "quality.py", "documents.py", "watch.py", "verbs.py", "agent.py",
    "server.py", "thresholds.py", "multilingual.py", "journal.py", "context.py", "tasks.py",
    "imports.py", "calendars.py", "hook.py", "dates.py", "dated_questions.py", "entities.py",
    "habits.py", "domains.py", "hostile.py", "sync.py", "postgres.py",
)  # fmt: skip
TARGET = HERE.parent / "docs" / "benchmarks.md"
HEAD = """# Benchmarks

Made by `make bench`. Machines differ, so what counts is the ratio to what stands beside a figure.
The data is not part of the project; where it is absent a benchmark says so.
"""


def kept() -> dict[str, str]:
    """The sections that the page has, by script."""
    page = TARGET.read_text(encoding="utf-8") if TARGET.exists() else ""
    sections = [f"## {section.strip()}\n" for section in page.split("\n## ")[1:]]
    named = ((script, section) for script in SCRIPTS for section in sections)
    return {script: section for script, section in named if f"benchmarks/{script}`" in section}


def main() -> None:
    """Print each table as it comes, and keep it at once."""
    sections = kept()
    for script in sys.argv[1:] or SCRIPTS:
        done = subprocess.run(
            [sys.executable, HERE / script], stdout=subprocess.PIPE, text=True, check=True
        )
        print(done.stdout, flush=True)
        sections[script] = done.stdout
        parts = [HEAD, *(sections[name] for name in SCRIPTS if name in sections)]
        TARGET.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
