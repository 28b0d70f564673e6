"""Guesses the dialect of a folder of notes."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from djinn_memory.models import Certainty, Dialect
from djinn_memory.notes.dialects.rules import definitions
from djinn_memory.notes.links import UUID
from djinn_memory.notes.slugs import fold

_FILES_LOOKED_AT = 200
_ENTRIES_LOOKED_AT = 5_000
_BYTES_LOOKED_AT = 20_000

_ENOUGH = 1 / 2
"""Minimum share of notes with a sign of another dialect than the default, Obsidian."""

_DOUBT = 1 / 5
"""Minimum share of such notes at which the guess mentions them."""

_SETTINGS: tuple[tuple[Dialect, tuple[str, ...]], ...] = (
    ("logseq", ("logseq/config.edn",)),
    ("dendron", ("dendron.yml", "dendron.code-workspace", "root.schema.yml")),
    ("foam", (".foam/",)),
    ("obsidian", (".obsidian/",)),
)
"""Files and folders that only the program of a dialect creates, the most distinctive first."""

_FOAM_EXTENSIONS = (".vscode/extensions.json", ".vscode/settings.json")

_FENCE = re.compile(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)")
_WIKILINK = re.compile(r"\[\[(?![\s\-\"'])([^\[\]\n]+)\]\]")
_NOTE_LINK = re.compile(r"\]\((?![a-z][a-z0-9+.-]*:)[^()\s]+\.md(?:#[^()\s]*)?\)", re.IGNORECASE)
_MILLISECONDS = re.compile(r"(?m)^(?:created|updated): ['\"]?[0-9]{12,14}['\"]?[ \t]*$")
_LOGSEQ_LINE = re.compile(rf"(?m)^[ \t]+(?:id:: {UUID}|collapsed:: true)[ \t]*$")
_LOGSEQ_PATH = re.compile(r"(?:^|/)(?:journals/\d{4}_\d{2}_\d{2}|pages/[^/]+)\Z")
_DOTTED = re.compile(r"[^\W\d][\w-]*(?:\.[\w-]+)+")


class DialectGuess(Struct, frozen=True):
    """A dialect, and the evidence for it."""

    dialect: Dialect
    certainty: Certainty
    why: str


def guess(root: Path) -> DialectGuess:
    """The likely dialect of a folder of notes.

    Reads file names, and the beginning and end of about 200 notes. Returns Obsidian by default and
    in close cases. Never raises.
    """
    marks = dict(_marks(root))
    if len(marks) == 1:
        [(dialect, mark)] = marks.items()
        return DialectGuess(dialect, "certain", mark)
    written = _written(root)
    if marks and written.dialect not in marks:
        dialect = "obsidian" if "obsidian" in marks else next(iter(marks))
        return DialectGuess(dialect, "unsure", " and ".join(marks.values()))
    return written


def _marks(root: Path) -> Iterator[tuple[Dialect, str]]:
    """The dialects of programs whose settings are in the folder, each with its settings."""
    for dialect, names in _SETTINGS:
        if mark := next((name for name in names if os.path.lexists(root / name)), None):
            yield dialect, mark
    for name in _FOAM_EXTENSIONS:
        if "foam" in glance(root / name).lower():
            yield "foam", f"{name} names Foam"


def _written(root: Path) -> DialectGuess:
    """The dialect in which the notes themselves are written."""
    paths = some_notes(root)
    names = {fold(path.stem) for path in paths}
    texts = {path: _FENCE.sub("", glance(path)) for path in paths[:_FILES_LOOKED_AT]}

    def having(pattern: re.Pattern[str]) -> int:
        return sum(bool(pattern.search(text)) for text in texts.values())

    wiki, markdown = having(_WIKILINK), having(_NOTE_LINK)
    linked, first, last = _directions(names, texts.values())
    outlines = sum(_by_logseq(path.relative_to(root), text) for path, text in texts.items())
    hierarchy = sum(bool(_DOTTED.fullmatch(name)) for name in names) if "root" in names else 0
    defined = sum(map(_ends_in_definitions, texts.values()))
    signs: list[tuple[int, int, Dialect, str]] = [
        (outlines, len(texts), "logseq", "notes are journals, pages or blocks of Logseq"),
        (having(_MILLISECONDS), len(texts), "dendron", "notes have created: in milliseconds"),
        (hierarchy, len(names) - 1, "dendron", "notes below root.md have names like a.b.c"),
        (last, first + last, "dendron", "links are like [[shown|a.b.c]]"),
        (defined, wiki, "foam", "notes with links have Foam's link definitions"),
    ]
    signs = sorted((sign for sign in signs if sign[0]), key=lambda sign: -sign[0] / sign[1])
    # Dendron has the target last, and Logseq has no [[a|b]]: a few read the wrong way hurt most.
    most = {"dendron": last, "logseq": outlines // 10, "foam": first}
    for number, whole, dialect, sign in signs:
        if number >= _ENOUGH * whole and first <= most[dialect]:
            return DialectGuess(dialect, "likely", f"{number} of {whole} {sign}")
    if markdown > 10 * wiki and not linked:
        return DialectGuess("markdown", "likely", "links are like [x](y.md), not [[x]]")
    for number, whole, _, sign in signs:
        if number >= _DOUBT * whole or not wiki:
            return DialectGuess("obsidian", "unsure", f"only {number} of {whole} {sign}")
    if wiki:
        return DialectGuess("obsidian", "likely", "links like [[x]]")
    return DialectGuess("obsidian", "unsure", "nothing points to another dialect")


def _directions(names: Collection[str], texts: Iterable[str]) -> tuple[int, int, int]:
    """Count wikilinks that name a note, and links `[[a|b]]` in which only one side does.

    The second number counts links where only `a` names a note. The third counts links where only
    `b` does and contains a dot.
    """
    linked = first = last = 0
    for text in texts:
        for link in _WIKILINK.finditer(text):
            ends = [fold(end.partition("#")[0].strip()) for end in link[1].split("|")]
            known = [end.rpartition("/")[2] in names for end in ends]
            linked += any(known)
            if len(ends) == 2 and known[0] != known[1]:
                first += known[0]
                last += known[1] and "." in ends[1]
    return linked, first, last


def _by_logseq(path: Path, text: str) -> bool:
    """Whether a note is a page that Logseq wrote."""
    if _LOGSEQ_LINE.search(text) or "___" in path.stem.strip("_"):
        return True
    lines = [line for line in text.splitlines() if line.strip()]
    outline = sum(line[0] in "-\t " or "::" in line for line in lines) >= 0.9 * len(lines)
    return outline and bool(_LOGSEQ_PATH.search(path.with_suffix("").as_posix()))


def _ends_in_definitions(text: str) -> bool:
    """Whether the text ends with link definitions for its wikilinks, as Foam writes them."""
    spans = list(definitions(text))
    if not spans:
        return False
    targets = re.findall(r"(?m)^ {0,3}\[([^\]\n]+)\]:", text[spans[-1][0] :])
    return any(f"[[{target}" in text or f"|{target}]]" in text for target in targets)


def some_notes(root: Path) -> list[Path]:
    """Notes of a folder, those nearest its root first. Symbolic links are not followed."""
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


def glance(path: Path) -> str:
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
