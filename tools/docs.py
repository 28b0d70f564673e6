"""Writes docs/cli.md, docs/json.md, docs/config.md and the JSON Schemas of the package.

They come from the commands, from the types that commands print, and from the settings. With
`--check` it only says which of them are stale.

Run: `make docs`
"""

from __future__ import annotations

import sys
from pathlib import Path

import cli_docs
import config_docs
import json_docs

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
SCHEMAS = ROOT / "djinn_memory" / "schemas"


def contents() -> dict[Path, str]:
    """The generated files, and what they are made to say."""
    pages = {
        DOCS / "cli.md": cli_docs.page(),
        DOCS / "json.md": json_docs.page(),
        DOCS / "config.md": config_docs.page(),
    }
    return {**pages, **{SCHEMAS / name: text for name, text in json_docs.files().items()}}


def main() -> int:
    """0 when the files are, or now are, up to date."""
    written = contents()
    stale = [
        place
        for place, text in written.items()
        if not place.is_file() or place.read_text(encoding="utf-8") != text
    ]
    left = [place for place in SCHEMAS.glob("*.json") if place not in written]
    if "--check" not in sys.argv:
        SCHEMAS.mkdir(exist_ok=True)
        for place in stale:
            place.write_text(written[place], encoding="utf-8")
        for place in left:
            place.unlink()
        return 0
    names = ", ".join(str(place.relative_to(ROOT)) for place in [*stale, *left])
    print(f"stale: {names}; run `make docs`" if names else "the generated files are up to date")
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main())
