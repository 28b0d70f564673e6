"""Guesses which dialect a folder of notes is in."""

from __future__ import annotations

import os
import re
from pathlib import Path

from djinn_memory.models import Dialect
from djinn_memory.notes.dialects.rules import definitions
from djinn_memory.notes.links import UUID
from djinn_memory.system.plural import count

_FILES_LOOKED_AT = 200
_ENTRIES_LOOKED_AT = 5_000
_BYTES_LOOKED_AT = 20_000

_WIKILINK = re.compile(r"\[\[[^\[\]\n]+\]\]")
_NOTE_LINK = re.compile(r"\]\((?![a-z][a-z0-9+.-]*:)[^()\s]+\.md(?:#[^()\s]*)?\)", re.IGNORECASE)
_DOTTED_TARGET = re.compile(r"\[\[[^\[\]|\n]+\|[\w-]+(?:\.[\w-]+)+(?:#[^\[\]|\n]*)?\]\]")
_DENDRON_FIELD = re.compile(r"(?m)^(?:created|updated): '?[0-9]{12,14}'?[ \t]*$")
_LOGSEQ_LINE = re.compile(rf"(?m)^[ \t]+(?:id:: {UUID}|collapsed:: true)[ \t]*$")


def guess(root: Path) -> tuple[Dialect, str]:
    """The likely dialect of a folder of notes, and the evidence for it.

    Reads file names, and the beginning and end of about 200 notes. Never raises.
    """
    return _marked(root) or _written(root) or ("obsidian", "nothing points to another dialect")


def _marked(root: Path) -> tuple[Dialect, str] | None:
    """The dialect of a program whose settings lie in the folder, the most distinct one first."""

    def there(*names: str) -> str | None:
        return next((name for name in names if os.path.lexists(root / name)), None)

    if sign := there("logseq/config.edn"):
        return "logseq", sign
    if sign := there("dendron.yml", "dendron.code-workspace", "root.schema.yml"):
        return "dendron", sign
    if sign := there(".foam"):
        return "foam", f"{sign}/"
    if sign := there(".obsidian"):
        return "obsidian", f"{sign}/"
    for sign in (".vscode/extensions.json", ".vscode/settings.json"):
        if "foam" in _glance(root / sign).lower():
            return "foam", f"{sign} names Foam"
    return None


def _written(root: Path) -> tuple[Dialect, str] | None:
    """The dialect that the notes themselves are written in."""
    paths = _some_notes(root)
    names = [path.stem for path in paths]
    outlines = {path.parent.name for path in paths} >= {"journals", "pages"}
    if outlines:
        return "logseq", "journals/ and pages/"
    texts = [_glance(path) for path in paths[:_FILES_LOOKED_AT]]

    def having(pattern: re.Pattern[str]) -> int:
        return sum(bool(pattern.search(text)) for text in texts)

    signs: list[tuple[int, Dialect, str]] = [
        (having(_LOGSEQ_LINE), "logseq", "with id:: or collapsed:: lines"),
        (sum("___" in name.strip("_") for name in names), "logseq", "with ___ in the name"),
        (having(_DENDRON_FIELD), "dendron", "with created: in milliseconds"),
        (having(_DOTTED_TARGET), "dendron", "with links like [[shown|a.b.c]]"),
        (sum(_ends_in_definitions(text) for text in texts), "foam", "with Foam's link definitions"),
    ]
    for number, dialect, sign in signs:
        # A single stray file, pasted from elsewhere, is no evidence.
        if number > 1 or (number and number * 4 >= len(texts)):
            return dialect, f"{count(number, 'note')} {sign}"
    dotted = sum(name.count(".") > 0 and " " not in name for name in names)
    if "root" in names and dotted * 2 >= len(names) - 1 and dotted:
        return "dendron", "root.md and names like a.b.c"
    wiki, markdown = having(_WIKILINK), having(_NOTE_LINK)
    if markdown and not wiki:
        return "markdown", "links like [x](y.md) and no [[x]]"
    return ("obsidian", "links like [[x]]") if wiki else None


def _ends_in_definitions(text: str) -> bool:
    """Whether the text ends with link definitions for its wikilinks, as Foam writes them."""
    spans = list(definitions(text))
    if not spans:
        return False
    targets = re.findall(r"(?m)^ {0,3}\[([^\]\n]+)\]:", text[spans[-1][0] :])
    return any(f"[[{target}" in text or f"|{target}]]" in text for target in targets)


def _some_notes(root: Path) -> list[Path]:
    """Notes of a folder, those near its root first. Links are not followed."""
    notes: list[Path] = []
    folders, seen = [root], 0
    for folder in folders:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    seen += 1
                    if len(notes) >= _FILES_LOOKED_AT * 2 or seen > _ENTRIES_LOOKED_AT:
                        return notes
                    if entry.name.startswith(".") or entry.name == "node_modules":
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(Path(entry.path))
                    elif entry.name.lower().endswith(".md") and entry.is_file(
                        follow_symlinks=False
                    ):
                        notes.append(Path(entry.path))
        except (OSError, ValueError):
            continue
    return notes


def _glance(path: Path) -> str:
    """The beginning and the end of a file; empty when it cannot be read."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            data = file.read(_BYTES_LOOKED_AT)
            size = file.seek(0, os.SEEK_END)
            if size > len(data):
                file.seek(max(len(data), size - _BYTES_LOOKED_AT // 4))
                data += file.read(_BYTES_LOOKED_AT // 4)
    except (OSError, ValueError):
        return ""
    return data.decode("utf-8", "replace").replace("\r\n", "\n")
