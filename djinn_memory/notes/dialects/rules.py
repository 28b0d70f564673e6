"""The rules in which the dialects of Markdown differ."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import PurePosixPath

from djinn_memory.models import Dialect, Vault
from djinn_memory.notes import links
from djinn_memory.notes.dates import iso_date, moment
from djinn_memory.notes.dialects import logseq
from djinn_memory.notes.frontmatter import FrontMatter
from djinn_memory.notes.links import LinkSyntax

Span = tuple[int, int]

_TAG_START = r"(?<![^\s(,;])(?<!\]\()#"
_TAG_CHARACTER = r"[\w/-]|[^\x00-\x7f\s\u2010-\u206f\u3000-\u303f]"
_TAG = re.compile(rf"{_TAG_START}((?:{_TAG_CHARACTER})++)")
"""A tag begins a word. A number alone is not a tag, because it usually means an issue or a year."""

_DAY = re.compile(r"(?<!\d)(\d{4}-\d{2}-\d{2})(?!\d)")


def _day(name: str) -> str | None:
    match = _DAY.search(name)
    return iso_date(match[1]) if match else None


@dataclass(frozen=True)
class DialectRules:
    """The rules for reading the notes of a dialect. The defaults are Obsidian's.

    `prose` is the `mask` of a note's body, with the same offsets.
    """

    syntax: LinkSyntax = links.OBSIDIAN
    tag: re.Pattern[str] = _TAG
    """Matches a tag. Its only group is the name."""
    front: Callable[[str, FrontMatter], FrontMatter] = lambda text, front: front
    """Adds fields from the text below the front matter."""
    hidden: Callable[[str], Iterable[Span]] = lambda prose: ()
    """Spans of `prose` for programs only. Their links do not count, and they are not embedded or
    searched."""
    unread: re.Pattern[str] | None = None
    """Matches parts of `prose` that may belong to a link but are not meant for readers."""
    blocks: Callable[[FrontMatter, str], Iterable[str]] = lambda front, prose: ()
    """The UUIDs of the note's blocks."""
    title: Callable[[str], str] = lambda name: ""
    """The title from a file's name; empty when a heading gives a better title."""
    day: Callable[[str], str | None] = _day
    """The day in a file's name."""
    journals: bool = False
    """Whether the note is about that day, even if it was created on another."""
    moment: Callable[[str], str | None] = iso_date
    """Reads a date from the front matter."""
    created: tuple[str, ...] = ("created", "uploaded_at")
    updated: tuple[str, ...] = ("updated", "modified", "processed_at")
    names: Callable[[str, str], Iterable[str]] = lambda path, title_format: ()
    """The names of the note at a path. They take precedence over all other ways to find it."""
    title_format: str = ""
    """The format of journal titles. A vault's settings may set it."""
    parts: Callable[[str], Iterable[str]] = lambda path: ()
    """Names of the note that apply only when nothing else matches."""
    address: Callable[[str], tuple[str | None, str]] = lambda target: (None, target)
    """Splits a link's target into its vault, if any, and the rest."""
    renames: bool = False
    """Whether notes have special `names` or `parts`."""
    outline: bool = False
    """Whether a page is a list whose items are its sections."""
    folders: frozenset[str] = frozenset()
    """Folders at the vault's root without notes."""


# --- Foam ---

_DEFINITION = re.compile(r" {0,3}\[(?!\^)[^\]\n]+\]:[ \t]+(?![a-z][a-z0-9+.-]*:)\S[^\n]*", re.I)
_GENERATED = re.compile(
    r"(?m)^\[//begin\]:[^\n]*\n(?:(?!\[//)[^\n]*\n)*+\[//end\]:[^\n]*$", re.IGNORECASE
)


def definitions(prose: str) -> Iterator[Span]:
    """The link definitions that Foam writes at the end of a note.

    Recent versions write no markers around them.
    """
    tail = end = len(prose)
    while end > 0:
        start = prose.rfind("\n", 0, end - 1) + 1
        line = prose[start:end].rstrip()
        if line and not _DEFINITION.fullmatch(line):
            break
        tail, end = (start if line else tail), start
    for match in _GENERATED.finditer(prose, 0, tail):
        yield match.span()
    if tail < len(prose):
        yield tail, len(prose)


# --- Dendron ---

_DOTTED_DAY = re.compile(r"(?<!\d)(\d{4})\.(\d{2})\.(\d{2})(?!\d)")
_EPOCH = re.compile(r"[0-9]{12,14}")
_SHOWN_ELSEWHERE = re.compile(r"(?<=[^\[\]|\n])\\?\|[^\[\]|\n]*(?=\]\])")
"""The part `|target` of `[[shown|target]]`. Every program except Dendron would show it."""
_CROSS_VAULT = re.compile(r"dendron://([^/]+)/(.+)", re.DOTALL)


def _epoch_date(text: str) -> str | None:
    """A date, also given as milliseconds since 1970."""
    if not _EPOCH.fullmatch(text.strip()):
        return iso_date(text)
    try:
        return moment(datetime.fromtimestamp(int(text) // 1000, UTC))
    except (ValueError, OverflowError, OSError):
        return None


def _dendron_day(name: str) -> str | None:
    match = _DOTTED_DAY.search(name)
    return iso_date("-".join(match.groups())) if match else _day(name)


def _last_part(name: str) -> str:
    match = _DOTTED_DAY.search(name)
    return "-".join(match.groups()) if match and match.end() == len(name) else name.split(".")[-1]


def _dendron_parts(path: str) -> tuple[str, ...]:
    name = PurePosixPath(path).stem
    return (name.rpartition(".")[2],) if "." in name else ()


def _dendron_address(target: str) -> tuple[str | None, str]:
    match = _CROSS_VAULT.fullmatch(target)
    return (match[1], match[2]) if match else (None, target)


# --- Logseq ---

_LOGSEQ_TAG = re.compile(
    rf"{_TAG_START}(?:\[\[)?((?:(?<=\[)[^\[\]\n]+(?=\]\])|(?<!\[)(?:{_TAG_CHARACTER})++))"
)


# --- all of them ---

RULES: dict[Dialect, DialectRules] = {
    "obsidian": DialectRules(),
    "foam": DialectRules(hidden=definitions),
    "dendron": DialectRules(
        syntax=links.DENDRON,
        unread=_SHOWN_ELSEWHERE,
        tag=re.compile(rf"{_TAG_START}((?:{_TAG_CHARACTER}|\.(?=\w))++)"),
        title=_last_part,
        day=_dendron_day,
        moment=_epoch_date,
        journals=True,
        parts=_dendron_parts,
        address=_dendron_address,
        renames=True,
    ),
    "logseq": DialectRules(
        syntax=links.LOGSEQ,
        tag=_LOGSEQ_TAG,
        front=logseq.page_properties,
        hidden=logseq.machinery,
        unread=logseq.BLOCK_REFERENCE,
        blocks=logseq.block_ids,
        title=logseq.page_name,
        day=lambda name: logseq.day_of(name) or _day(name),
        moment=_epoch_date,
        created=("created", "created-at"),
        updated=("updated", "modified", "updated-at", "last-modified-at"),
        names=logseq.names,
        journals=True,
        parts=logseq.parts,
        renames=True,
        outline=True,
        folders=frozenset({"logseq"}),
    ),
    "markdown": DialectRules(syntax=links.MARKDOWN),
}


def of_vault(vault: Vault) -> DialectRules:
    """The rules of a vault: those of its dialect, adapted to its program's settings."""
    rules = RULES[vault.dialect]
    if vault.dialect == "logseq" and (title_format := logseq.title_format(vault.root)):
        return replace(rules, title_format=title_format)
    return rules
