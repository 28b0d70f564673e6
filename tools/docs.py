"""Writes docs/cli.md from the command line's own help; with --check only says whether it is so.

Run: `make docs`
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import typer.main

from djinn_memory.cli.app import app

TARGET = Path(__file__).resolve().parent.parent / "docs" / "cli.md"
HEAD = """# Command line

Made from `djinn --help` and the help of every command below it, by `make docs`.
"""


def commands() -> list[list[str]]:
    """Every command and group, as the words that a user types."""
    found = [["djinn"]]

    def walk(group: object, path: list[str]) -> None:
        for name, command in getattr(group, "commands", {}).items():
            found.append([*path, name])
            walk(command, [*path, name])

    walk(typer.main.get_command(app), ["djinn"])
    return found


def page() -> str:
    """The whole page."""
    fixed = {"COLUMNS": "100", "TERMINAL_WIDTH": "100", "TERM": "dumb", "NO_COLOR": "1"}
    plain = {**os.environ, **fixed}
    plain.pop("FORCE_COLOR", None)
    parts = [HEAD]
    for words in commands():
        shown = subprocess.run(
            [sys.executable, "-m", "djinn_memory", *words[1:], "--help"],
            capture_output=True, text=True, check=True, env=plain,
        )  # fmt: skip
        body = "\n".join(line.rstrip() for line in shown.stdout.strip().splitlines())
        parts.append(f"## `{' '.join(words)}`\n\n```text\n{body}\n```\n")
    return "\n".join(parts)


def main() -> int:
    """0 when the page is, or now is, what the help says."""
    made = page()
    if "--check" in sys.argv:
        same = TARGET.is_file() and TARGET.read_text(encoding="utf-8") == made
        print("docs/cli.md is up to date" if same else "docs/cli.md is stale; run `make docs`")
        return 0 if same else 1
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
