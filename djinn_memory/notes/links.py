"""Finds the links of a note: wikilinks, embeds, and Markdown links to `.md` files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Literal
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.notes.markdown import mask
from djinn_memory.system.expressions import expression

_WIKI = r"!? \[\[ (?P<wiki> [^\[\]\n]+ ) \]\]"
_MARKDOWN = r"""
    !? \[ (?P<label> (?: [^\[\]\n]++ | \n(?![ \t\r]*\n) | \[ [^\[\]\n]* \] )*+ ) \]
    \( [ \t]* (?: < (?P<angled> [^<>\n]* ) > | (?P<bare> (?: [^\s<>()] | \( [^\s<>()]* \) )++ ) )
    (?: [ \t]+ (?: "[^"\n]*" | '[^'\n]*' | \( [^()\n]* \) ) )? [ \t]* \)
"""
_LINK = expression(f"{_WIKI} | {_MARKDOWN}", re.VERBOSE)
UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_PAGE_OR_BLOCK = rf"""
    (?: (?P<macro> \{{\{{ embed [ \t]+ ) | \[ (?P<shown> [^\[\]\n]* ) \]\( (?= \[\[ | \(\( ) )?
    (?: \[\[ (?P<page> [^\[\]\n]+ ) \]\] | \(\( (?P<uuid> {UUID} ) \)\) )
    (?(macro) [ \t]* \}}\}} ) (?(shown) \) )
"""
_DEFINITION = expression(
    r"^ {0,3}\[(?!\^)(?P<label>[^\[\]\n]+)\]:[ \t]+(?:<(?P<angled>[^<>\n]*)>|(?P<bare>[^\s<>]+))",
    re.MULTILINE,
)
"""The definition of a reference-style link. The index does not count it as a link."""
BAR = expression(r"\\?\|")
_NOTE_SUFFIX = expression(r"(?<=[^/])\.md$", re.IGNORECASE)
_REMOTE = expression(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
_ESCAPE = expression(r"\\([!-/:-@\[-`{-~])")


class LinkSyntax(Struct, frozen=True):
    """The link syntax of a dialect. The defaults are Obsidian's."""

    pattern: re.Pattern[str] = _LINK
    label_first: bool = False
    """Whether the label of a wikilink comes before the `|`."""
    whole: bool = False
    """Whether the target is everything between `[[` and `]]`, including `#` and `|`."""


OBSIDIAN = LinkSyntax()
DENDRON = LinkSyntax(label_first=True)
LOGSEQ = LinkSyntax(expression(f"{_PAGE_OR_BLOCK} | {_MARKDOWN}", re.VERBOSE), whole=True)
MARKDOWN = LinkSyntax(expression(_MARKDOWN, re.VERBOSE))

Kind = Literal["wiki", "markdown", "block", "file"]
"""A `file` is the target of a Markdown link that is no note. Only `addresses` returns such."""

MAX_HELD = 10_000
"""Maximum number of links of a text that are held in memory. A million links take 350 MB, eight
times as much as their text. More links are found again each time that they are iterated."""


class Link(Struct, frozen=True):
    """A link as written. `target` has no `.md`. It is empty for a link to its own note.

    `start` and `end` are offsets in the text, and `line` counts from 1. A link in the front matter
    has a dotted `field`, offsets of -1 and line 0. Nested headings stay joined (`a#b`). A Logseq
    block reference has the block's UUID as its target and block.
    """

    target: str
    heading: str | None
    block: str | None
    label: str | None
    kind: Kind
    embed: bool
    field: str | None
    start: int
    end: int
    line: int


def parse_links(
    text: str,
    *,
    fields: Mapping[str, object] | None = None,
    prose: str | None = None,
    syntax: LinkSyntax = OBSIDIAN,
) -> Iterable[Link]:
    """Return the links in `fields`, a note's front matter, then those in `text`, its body.

    The result can be iterated repeatedly. It is a tuple unless there are very many links. With
    `fields`, pass only the body: front matter in `text` is read as prose, so its links would be
    returned twice. `prose` is `mask(text)`, if the caller already has it.
    """
    in_fields = tuple(
        replace(link, field=name, start=-1, end=-1, line=0)
        for name, value in _strings(fields or {})
        for link in _links(value, value, syntax)
    )
    scan = _LinkScan(in_fields, text, mask(text) if prose is None else prose, syntax)
    held = tuple(islice(scan, MAX_HELD + 1))
    return held if len(held) <= MAX_HELD else scan


class _LinkScan(Struct, frozen=True):
    """The links of a text, found anew by each iteration."""

    in_fields: tuple[Link, ...]
    text: str
    prose: str
    syntax: LinkSyntax

    def __iter__(self) -> Iterator[Link]:
        return chain(self.in_fields, _links(self.text, self.prose, self.syntax))


def _strings(fields: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield each string in the front matter with its dotted field."""
    for name, root in fields.items():
        # YAML anchors can make a value contain itself, or contain one list a million times.
        seen: set[int] = set()
        pending: list[tuple[str, object]] = [(str(name), root)]
        while pending:
            field, value = pending.pop()
            if isinstance(value, str):
                yield field, value
            elif isinstance(value, Mapping | list | tuple) and id(value) not in seen:
                seen.add(id(value))
                inner = (
                    [(f"{field}.{key}", part) for key, part in value.items()]
                    if isinstance(value, Mapping)
                    else [(field, part) for part in value]
                )
                pending += reversed(inner)


def _links(text: str, prose: str, syntax: LinkSyntax) -> Iterator[Link]:
    return (link for link, _ in _found(text, prose, syntax.pattern, syntax))


def addresses(
    text: str, *, masked: bool = True, syntax: LinkSyntax = OBSIDIAN
) -> Iterator[tuple[Link, tuple[int, int]]]:
    """Yield the links in a text, each with the span of its target, anchor and label as written.

    Definitions of reference-style links and links to files that are no notes are included.
    `masked` leaves out code and other parts in which nothing is a link.
    """
    prose = mask(text) if masked else text
    for pattern in (syntax.pattern, _DEFINITION):
        yield from _found(text, prose, pattern, syntax, files=True)


def _found(
    text: str, prose: str, pattern: re.Pattern[str], syntax: LinkSyntax, *, files: bool = False
) -> Iterator[tuple[Link, tuple[int, int]]]:
    if "[" not in prose and "((" not in prose:
        return
    line, counted = 1, 0
    for match in pattern.finditer(prose):
        start, end = match.span()
        parts = match.groupdict()
        wiki, uuid = parts.get("wiki") or parts.get("page"), parts.get("uuid")
        address: tuple[str, str] | None
        label: str | None
        if uuid:
            address, label = (uuid, f"#^{uuid}"), None
        elif wiki:
            address, label = _wiki_address(wiki, syntax)
        else:
            address, label = _note_address(match), text[slice(*match.span("label"))]
        kind: Kind = "block" if uuid else "wiki" if wiki else "markdown"
        if address is None and kind == "markdown" and files:
            address, kind = _file_address(match), "file"
        if address is None:
            continue
        if parts.get("shown"):
            label = text[slice(*match.span("shown"))]
        line += text.count("\n", counted, start)
        counted = start
        heading, block = _anchor(address[1])
        link = Link(
            target=_NOTE_SUFFIX.sub("", address[0]),
            heading=heading,
            block=block,
            label=label,
            kind=kind,
            embed=match.group().startswith(("!", "{{")),
            field=None,
            start=start,
            end=end,
            line=line,
        )
        yield link, match.span(next(name for name in _ADDRESSES if parts.get(name) is not None))


_ADDRESSES = ("wiki", "page", "uuid", "angled", "bare")
"""The groups of the patterns that match an address."""


def _wiki_address(written: str, syntax: LinkSyntax) -> tuple[tuple[str, str] | None, str | None]:
    """Return target and anchor (None when both are empty), and the label."""
    if syntax.whole:
        return ((written.strip(), "") if written.strip() else None), None
    first, *rest = BAR.split(written, maxsplit=1)
    shown = rest[0] if rest else ""
    if syntax.label_first and rest:
        first, shown = shown, first
    target, _, anchor = first.partition("#")
    if syntax.label_first:
        # `#first:#last` embeds everything from one heading to another.
        anchor = anchor.partition(":#")[0]
    target, anchor = target.strip(), anchor.strip("# \t")
    return ((target, anchor) if target or anchor else None), shown.strip() or None


def _note_address(match: re.Match[str]) -> tuple[str, str] | None:
    """Return the decoded path and anchor of a Markdown link that may refer to a note."""
    address = None if match.group().startswith("!") else _file_address(match)
    return address if address and _NOTE_SUFFIX.search(address[0]) else None


def _file_address(match: re.Match[str]) -> tuple[str, str] | None:
    """Return the decoded path and anchor of a Markdown link to a file."""
    written = match["bare"] or match["angled"] or ""
    path, _, anchor = _ESCAPE.sub(r"\1", written).partition("#")
    return None if _REMOTE.match(written) else (unquote(path), unquote(anchor))


def _anchor(written: str) -> tuple[str | None, str | None]:
    """Split the text after the first `#` into heading and block."""
    above, _, last = written.rpartition("#")
    if last.startswith("^"):
        return above.strip("# \t") or None, last[1:] or None
    return written or None, None
