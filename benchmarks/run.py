"""Runs all benchmarks and writes their tables to docs/benchmarks.md.

Run: `make bench`
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = (
    "install.py", "speed.py", "quality.py", "documents.py", "watch.py", "verbs.py", "agent.py",
    "server.py", "thresholds.py", "journal.py", "hostile.py",
)  # fmt: skip
TARGET = HERE.parent / "docs" / "benchmarks.md"
HEAD = """# Benchmarks

Made by `make bench`. Machines differ, so what counts is the ratio to what stands beside a figure.
The data is not part of the project; where it is absent a benchmark says so.
"""


def main() -> None:
    """Print each table as it comes, then keep them all."""
    parts = [HEAD]
    for script in SCRIPTS:
        done = subprocess.run(
            [sys.executable, HERE / script], stdout=subprocess.PIPE, text=True, check=True
        )
        print(done.stdout)
        parts.append(done.stdout)
    TARGET.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
