"""What a query says: words, quoted phrases, words to leave out, and filters written in it."""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.models import Filters

MAX_OPERATORS = 50
"""Phrases, words left out and filters of one query; what comes after them is text."""

_PART = re.compile(
    r'(?P<minus>-?)(?:(?P<key>tag|type|path):(?P<value>"[^"]+"|[^\s"]+)'
    r'|"(?P<phrase>[^"]*)"|(?P<text>[^\s"]+|"))',
    re.IGNORECASE,
)


class Query(Struct, frozen=True):
    """A query taken apart; `text` is what is searched for by meaning and by words."""

    text: str
    phrases: tuple[str, ...] = ()
    """Must stand in a hit, word for word."""
    without: tuple[str, ...] = ()
    """Must not stand in a note that answers."""
    tags: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    excluded: tuple[tuple[str, str], ...] = ()
    """Filters with a minus, as ("tag", value)."""

    def narrow(self, filters: Filters) -> Filters:
        """`filters` with those written in the query."""
        return replace(
            filters,
            tags=filters.tags + self.tags,
            types=filters.types + self.types,
            paths=filters.paths + self.paths,
            excluded=filters.excluded + self.excluded,
        )


def parse(query: str) -> Query:
    """Take a query apart. Anything is a query: what is not understood is text.

    `"a b"` asks for the phrase, `-word` or `-"a b"` leaves out notes with it, `tag:x`, `type:x` and
    `path:x` filter, with a minus they leave out. A minus inside a word or alone is just text.
    """
    text: list[str] = []
    phrases: list[str] = []
    without: list[str] = []
    wanted: dict[str, list[str]] = {"tag": [], "type": [], "path": []}
    excluded: list[tuple[str, str]] = []
    readable = query.replace("\0", " ").encode("utf-8", "replace").decode()
    spare = MAX_OPERATORS
    for part in _PART.finditer(readable):
        minus, phrase, word = part["minus"], part["phrase"], part["text"]
        value = (part["value"] or "").strip('"').lstrip("#")
        if not spare:
            text.append(part[0])
            continue
        if value and minus:
            excluded.append((part["key"].lower(), value))
        elif value:
            wanted[part["key"].lower()].append(value)
        elif minus and re.match(r"\w", phrase or word or ""):
            without.append(phrase or word)
        elif phrase and re.search(r"\w", phrase):
            phrases.append(phrase)
            text.append(phrase)
        else:
            text.append(part[0])
            continue
        spare -= 1
    return Query(
        " ".join(text).strip(),
        tuple(phrases),
        tuple(without),
        tuple(wanted["tag"]),
        tuple(wanted["type"]),
        tuple(wanted["path"]),
        tuple(excluded),
    )
