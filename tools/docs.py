"""Writes docs/cli.md from the command line's own help, docs/json.md from the types that commands
print, docs/config.md from the settings; with --check only says whether they are so.

Run: `make docs`
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import config_docs
import json_docs
import typer.main

from djinn_memory.cli.app import app

DOCS = Path(__file__).resolve().parent.parent / "docs"
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


def cli_page() -> str:
    """The whole page of the command line."""
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
    """0 when the pages are, or now are, what they are made from."""
    pages = {"cli.md": cli_page, "json.md": json_docs.page, "config.md": config_docs.page}
    stale = []
    for name, page in pages.items():
        made, target = page(), DOCS / name
        if target.is_file() and target.read_text(encoding="utf-8") == made:
            continue
        stale.append(f"docs/{name}")
        if "--check" not in sys.argv:
            target.parent.mkdir(exist_ok=True)
            target.write_text(made, encoding="utf-8")
    if "--check" not in sys.argv:
        return 0
    print(f"stale: {', '.join(stale)}; run `make docs`" if stale else "docs/ is up to date")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
