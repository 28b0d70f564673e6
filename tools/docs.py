"""Writes docs/cli.md from the command line's own help, docs/json.md from the types that commands
print, docs/config.md from the settings; with --check only says whether they are so.

Run: `make docs`
"""

from __future__ import annotations

import sys
from pathlib import Path

import cli_docs
import config_docs
import json_docs

DOCS = Path(__file__).resolve().parent.parent / "docs"


def main() -> int:
    """0 when the pages are, or now are, what they are made from."""
    pages = {"cli.md": cli_docs.page, "json.md": json_docs.page, "config.md": config_docs.page}
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
