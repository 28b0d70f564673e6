"""One Markdown file as djinn understands it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct

from djinn_memory.models import Dialect
from djinn_memory.notes import frontmatter
from djinn_memory.notes.dates import iso_date
from djinn_memory.notes.headings import headings
from djinn_memory.notes.links import Link, parse_links
from djinn_memory.notes.markup import mask
from djinn_memory.notes.plain import inline
from djinn_memory.notes.slugs import fold
from djinn_memory.notes.text import decode

_TAG = re.compile(r"(?<![^\s(,;])(?<!\]\()#((?:[\w/-]|[^\x00-\x7f\s\u2010-\u206f\u3000-\u303f])++)")
"""A tag begins a word and is not a number alone: that is how people write of an issue or a year."""

_DAY = re.compile(r"(?<!\d)(\d{4}-\d{2}-\d{2})(?!\d)")
_ID = re.compile(r"mem_[0-9a-hjkmnp-tv-z]{16}")
_BRACKETS = re.compile(r"^\[\[([^\[\]|]+)(?:\|[^\[\]]*)?\]\]$")


MAX_TITLE = 300
"""A longer title is cut: every window of the note carries it."""


class Note(Struct, frozen=True):
    """What is read from a file: text with `\\n` line ends, and what the note says of itself."""

    text: str
    body: int
    """Offset in `text` behind the front matter."""
    title: str
    id: str | None
    type: str | None
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    created: str | None
    updated: str | None
    date: str | None
    """The day or time the note is about: its `date`, `created`, or the day in its file name."""
    fields: tuple[tuple[str, str], ...]
    """Every scalar of the front matter under its dotted key, as text."""
    links: tuple[Link, ...]
    problem: str | None


def parse(path: str, data: bytes, dialect: Dialect = "obsidian") -> Note:
    """The note in a file's bytes. Anything is a note: what cannot be understood is a `problem`.

    `path` is relative to the vault.
    """
    text, remark = decode(data)
    front = frontmatter.read(text)
    fields = {fold(key.strip()): value for key, value in front.fields.items()}
    prose = mask(text[front.body :])
    name = PurePosixPath(path).stem
    title = inline(_first(fields.get("title"))) or _first_heading(text[front.body :], prose)
    day = _DAY.search(name)
    created = iso_date(_first(fields.get("created")))
    identity = _first(fields.get("id")) or ""
    kind = fold(_unlinked(_first(fields.get("type"))))
    remarks = [part for part in (front.problem, remark) if part]
    return Note(
        text=text,
        body=front.body,
        title=title[:MAX_TITLE] or name,
        id=identity if _ID.fullmatch(identity) else None,
        type=kind[:100] or None,
        aliases=tuple(dict.fromkeys(_words(fields, "aliases", "alias", split=","))),
        tags=_tags(fields, prose),
        created=created,
        updated=iso_date(_first(fields.get("updated")) or _first(fields.get("modified"))),
        date=iso_date(_first(fields.get("date"))) or created or (iso_date(day[1]) if day else None),
        fields=tuple(_flat("", fields)),
        links=tuple(parse_links(text[front.body :], fields=front.fields, prose=prose)),
        problem="; ".join(remarks) or None,
    )


def _first_heading(body: str, prose: str) -> str:
    """The words of the first level-one heading that has any."""
    ones = (body[slice(*h.title)] for h in headings(prose) if h.level == 1)
    return next(filter(None, map(inline, filter(None, ones))), "")


def _first(value: Any) -> str:
    """A scalar where a note gives one, or the first of a list."""
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


def _tags(fields: dict[str, Any], prose: str) -> tuple[str, ...]:
    """Tags of the front matter, then those in the text, each once whatever its case."""
    found = [tag.lstrip("#") for tag in _words(fields, "tags", "tag", split=r",\s")]
    found += [tag for tag in _TAG.findall(prose) if not tag.isdecimal()]
    once: dict[str, str] = {}
    for tag in found:
        name = tag.strip("/")
        if name.strip("-/"):
            once.setdefault(fold(name), name)
    return tuple(once.values())


def _flat(prefix: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{prefix}.{key}" if prefix else key, inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _flat(prefix, inner)
    elif value not in ("", "~", "null"):
        yield prefix, _unlinked(value.strip())
