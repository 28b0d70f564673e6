"""Parses a Markdown file into a note, and reads its domains."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct

from djinn_memory.home.access import DOMAIN, domain_key
from djinn_memory.models import Dialect
from djinn_memory.notes import frontmatter
from djinn_memory.notes.dialects.rules import RULES, DialectRules, Span
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.frontmatter import FrontMatter
from djinn_memory.notes.ids import ID
from djinn_memory.notes.links import Link, parse_links
from djinn_memory.notes.markdown import blank, headings, inline, mask
from djinn_memory.notes.pages import hide
from djinn_memory.notes.slugs import fold, tag_key

_DAY = re.compile(r"\d+[-/.]\d+[-/.]\d+")

_OTHER_DATES = ("date", "expires", "due", "last_verified")
"""Fields for dates other than the creation or the change of a note."""

_BRACKETS = re.compile(r"^\[\[([^\[\]|]+)(?:\|[^\[\]]*)?\]\]$")


VERSION = 3
"""Increased when a file would be read differently. An index of another version is rebuilt."""

DOCUMENT = "document"
"""The type of a note that was made from a document file."""

MAX_TITLE = 300
"""A longer title is cut, because every window of the note includes it."""


class Note(Struct, frozen=True):
    """A memory as read from a file: its text, with `\\n` line ends, and its front matter."""

    text: str
    searched: str
    """The text that is chunked, embedded and searched, with the same offsets as `text`. Spaces
    replace page marks of documents and parts that the dialect writes only for programs."""
    body: int
    """The offset in `text` below the front matter."""
    title: str
    id: str | None
    type: str | None
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    created: str | None
    updated: str | None
    date: str | None
    """The day or time that the note is about: `date`, `created`, or the day in the file name."""
    fields: tuple[tuple[str, str], ...]
    """Every scalar of the front matter as text, by its dotted key."""
    links: Iterable[Link]
    blocks: tuple[str, ...]
    """UUIDs by which Logseq names blocks of the note, lower case."""
    problem: str | None


def parse(path: str, data: bytes, dialect: Dialect = "obsidian") -> Note:
    """The note in a file's bytes. `path` is relative to the vault.

    Any file is a note. Its `problem` describes parts that djinn does not understand.
    """
    rules = RULES[dialect]
    text, remark = decode(data)
    front = rules.front(text, frontmatter.read(text))
    return understand(PurePosixPath(path).stem, text, front, rules, remark=remark)


def understand(
    name: str,
    text: str,
    front: FrontMatter,
    rules: DialectRules,
    *,
    title: str = "",
    remark: str | None = None,
    quoted: Iterable[Span] = (),
    marks: Iterable[Span] = (),
) -> Note:
    """The note in a text whose front matter is known.

    `name` is the name of its file. `title` overrides the front matter. Tags and links do not count
    in the spans of `text` that are `quoted`. Spans in `marks` are for programs and are not
    searched. All spans are whole lines, in order.
    """
    fields = {fold(key.strip()): value for key, value in front.fields.items()}
    body = text[front.body :]
    masked = mask(blank(text, quoted)[front.body :], outline=rules.outline)
    hidden = list(rules.hidden(masked))
    prose = blank(masked, hidden) if hidden else masked
    unread = [match.span() for match in rules.unread.finditer(prose)] if rules.unread else []
    title = inline(title) or inline(_first(fields.get("title"))) or rules.title(name)
    title = title or _first_heading(body, prose)
    day = rules.day(name)
    created = _date(fields, rules.created, rules.moment)
    identity = _first(fields.get("id")) or ""
    kind = fold(_unlinked(_first(fields.get("type"))))
    remarks = [part for part in (front.problem, remark, *_no_dates(fields, rules)) if part]
    searched = blank(text, marks)
    if hidden or unread:
        searched = text[: front.body] + blank(blank(searched[front.body :], hidden), unread)
    return Note(
        text=text,
        searched=hide(searched) if kind == DOCUMENT else searched,
        body=front.body,
        title=title[:MAX_TITLE] or name,
        id=identity if ID.fullmatch(identity) else None,
        type=kind[:100] or None,
        aliases=tuple(dict.fromkeys(_words(fields, "aliases", "alias", split=","))),
        tags=_tags(fields, prose, rules.tag),
        created=created,
        updated=_date(fields, rules.updated, rules.moment),
        date=_date(fields, ("date",), rules.moment)
        or next(filter(None, (day, created) if rules.journals else (created, day)), None),
        fields=tuple(_flat("", fields)),
        links=parse_links(body, fields=front.fields, prose=prose, syntax=rules.syntax),
        blocks=tuple(dict.fromkeys(rules.blocks(front, masked))),
        problem="; ".join(remarks) or None,
    )


def _first_heading(body: str, prose: str) -> str:
    """The words of the first level-one heading that has words."""
    ones = (body[slice(*h.title)] for h in headings(prose) if h.level == 1)
    return next(filter(None, (inline(words, MAX_TITLE) for words in ones if words)), "")


def _date(
    fields: dict[str, Any], keys: tuple[str, ...], moment: Callable[[str], str | None]
) -> str | None:
    """The date in the first field that is not empty."""
    return moment(next(filter(None, (_first(fields.get(key)) for key in keys)), ""))


def _no_dates(fields: dict[str, Any], rules: DialectRules) -> Iterator[str]:
    """Remarks on date fields whose value looks like a date but is invalid."""
    for key in dict.fromkeys((*rules.created, *rules.updated, *_OTHER_DATES)):
        written = _first(fields.get(key))
        if _DAY.match(written) and rules.moment(written) is None:
            yield f"{key}: {' '.join(written[:40].split())} is not a date"


def _first(value: Any) -> str:
    """A scalar as text; for a list, its first entry."""
    while isinstance(value, list):
        value = value[0] if value else ""
    text = value.strip() if isinstance(value, str) else ""
    return "" if text in ("~", "null") else text


def _unlinked(text: str) -> str:
    match = _BRACKETS.match(text)
    return match[1] if match else text


def _words(fields: dict[str, Any], *keys: str, split: str) -> Iterator[str]:
    for key in keys:
        value = fields.get(key)
        parts = value if isinstance(value, list) else re.split(f"[{split}]", _first(value))
        for part in parts:
            word = _unlinked(_first(part))
            if word:
                yield word


def _tags(fields: dict[str, Any], prose: str, written: re.Pattern[str]) -> tuple[str, ...]:
    """The tags of the front matter, then those of the text.

    Tags that differ only in case count once.
    """
    tags = [tag.lstrip("#") for tag in _words(fields, "tags", "tag", split=r",\s")]
    tags += [tag for tag in written.findall(prose) if not tag.isdecimal()]
    unique: dict[str, str] = {}
    for tag in tags:
        name = tag.strip("/")
        if name.strip("-/"):
            unique.setdefault(tag_key(name), name)
    return tuple(unique.values())


def _flat(prefix: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{prefix}.{key}" if prefix else key, inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _flat(prefix, inner)
    elif value not in ("", "~", "null"):
        yield prefix, _unlinked(value.strip())


_KEYS = (DOMAIN, f"{DOMAIN}s")
"""The fields that hide a memory. People who know the setting `domains` write the second one."""

_FRONT = re.compile(r"""(?im)^(?:[ \t]*"(?=domains?"))?domains?"?[ \t]*[:=][ \t]*(\S.*)?$""")
"""A line for the domain in front matter, which may be YAML, TOML or JSON."""

_COMMENT = re.compile(r"^%%[^\n]*?\"domains?\"\s*:\s*\[?\s*\"([^\"\n]*)", re.MULTILINE)
"""The domain of a journal section, also in a comment that is no longer valid JSON."""

_UNPARSED = 2_000
"""Characters at the beginning of a text in which front matter without an end is looked for."""


def domains_of(note: Note) -> tuple[str, ...]:
    """The domains of a memory as written, without repetitions.

    A text that is not clear about its domains hides rather than shows: front matter with several
    lines for the domain, with a value that is no name, or that cannot be parsed, and the comment of
    a journal section that is not valid JSON.
    """
    domains = [value for key, value in note.fields if fold(key) in _KEYS and value.strip()]
    if note.text.startswith(("---", "+++", "{")):
        lines = _FRONT.findall(note.text[: note.body or _UNPARSED])
        if len(lines) > 1 or (any(lines) and not domains):
            domains += [line.strip(" \t\r\"',[]") for line in lines]
        nested = [
            key for key, _ in note.fields if fold(key).startswith(tuple(f"{k}." for k in _KEYS))
        ]
        domains += [key.partition(".")[2] for key in nested]
    if "%%" in note.text:
        domains += _COMMENT.findall(note.text)
    by_key = {domain_key(domain): domain for domain in reversed(domains) if domain.strip()}
    return tuple(reversed(by_key.values()))
