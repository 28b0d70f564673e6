"""The pages of a document, told by the marks in its note."""

from __future__ import annotations

import re

from msgspec import Struct

_NUMBER = "(?P<number>0|[1-9][0-9]{0,6})"
_MARK = re.compile(rf"(?m)^\*Page {_NUMBER}\* \^p(?P=number)$")

# Whoever writes a note may trim its lines, and a lone \r is a line's end once it is read.
_ALIKE = re.compile(
    rf"""(?mx) (?:^|(?<=\r)) (?P<lead>[ \t]*+)
    \*(?P<shown>Page[ ]{_NUMBER}\*[ ]) \^(?P<block>p(?P=number)) (?=[ \t]*+(?:\r|$))"""
)


class MarkedPage(Struct, frozen=True):
    """A page's own text: from behind its mark's line up to the next mark."""

    number: int
    start: int
    end: int


def mark(number: int) -> str:
    """The line that opens a page, to which `[[note#^p12]]` leads; at most 7 digits."""
    return f"*Page {number}* ^p{number}"


def pages(text: str, body: int) -> list[MarkedPage]:
    """The pages of `text` from offset `body` on, as they stand; none without a mark.

    Text before the first mark is on no page.
    """
    found = list(_MARK.finditer(text, body))
    opens = [*(match.start() for match in found), len(text)]
    return [
        MarkedPage(int(match["number"]), min(match.end() + 1, len(text)), end)
        for match, end in zip(found, opens[1:], strict=True)
    ]


def hide(text: str) -> str:
    """`text` with spaces for its marks: what is searched, at the same offsets and lines."""
    return _MARK.sub(lambda match: " " * len(match[0]), text)


def defang(text: str) -> str:
    """A file's own text with lines that read as marks escaped, to be shown as the file has them."""
    return _ALIKE.sub(r"\g<lead>\\*\g<shown>\\^\g<block>", text)
