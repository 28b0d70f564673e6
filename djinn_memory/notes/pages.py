"""The pages of a document. Marks in its note separate them."""

from __future__ import annotations

from msgspec import Struct

from djinn_memory.system.expressions import expression

_NUMBER = "(?P<number>0|[1-9][0-9]{0,6})"
_MARK = expression(rf"(?m)^\*Page {_NUMBER}\* \^p(?P=number)$")

# A program that writes the note may trim its lines, and a lone \r reads as a line end.
_ALIKE = expression(
    rf"""(?mx) (?:^|(?<=\r)) (?P<lead>[ \t]*+)
    \*(?P<shown>Page[ ]{_NUMBER}\*[ ]) \^(?P<block>p(?P=number)) (?=[ \t]*+(?:\r|$))"""
)


class MarkedPage(Struct, frozen=True):
    """The text of a page: from the line below its mark up to the next mark."""

    number: int
    start: int
    end: int


def mark(number: int) -> str:
    """The line that begins a page, a target for `[[note#^p12]]`. A number has at most 7 digits."""
    return f"*Page {number}* ^p{number}"


def pages(text: str, body: int) -> list[MarkedPage]:
    """The pages of `text` from offset `body` on, in order; empty when there are no marks.

    Text before the first mark is not on any page.
    """
    marks = list(_MARK.finditer(text, body))
    ends = [*(match.start() for match in marks[1:]), len(text)]
    return [
        MarkedPage(int(match["number"]), min(match.end() + 1, len(text)), end)
        for match, end in zip(marks, ends, strict=False)
    ]


def hide(text: str) -> str:
    """`text` with spaces in place of its marks, so that search offsets and lines are the same."""
    return _MARK.sub(lambda match: " " * len(match[0]), text)


def defang(text: str) -> str:
    """The text of a file with lines that look like marks escaped, so that they show unchanged."""
    return _ALIKE.sub(r"\g<lead>\\*\g<shown>\\^\g<block>", text)
