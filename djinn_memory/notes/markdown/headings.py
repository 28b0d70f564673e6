"""Finds the headings of a Markdown text."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_HEADING = re.compile(
    r"\n {0,3}+(?:(?P<marks>#{1,6}+)(?![^ \t\n])[ \t]*+|(?P<line>={2,}+|-{2,}+)[ \t]*+(?=\n|\Z))"
)
_MARKER = re.compile(r"[ \t]*+(?:[-*+>#|]|\d{1,9}[.)])")
_CLOSING = re.compile(r"(?:^|(?<=[ \t]))#+\Z")


class Heading(NamedTuple):
    """A heading. `opens` is the offset of its first line, `start` that of the text below it."""

    level: int
    title: tuple[int, int]
    """The span of its words, without the marks. Empty for a heading without words."""
    opens: int
    start: int


def headings(text: str, body: int = 0) -> Iterator[Heading]:
    """Yield the ATX and one-line setext headings of `text` from offset `body` on.

    Code is not recognised: pass `mask(text)`, or skip the spans of `code_blocks`.
    """
    # With a newline before the first line too, the search leaps from newline to newline.
    lines = "\n" + text[body:]
    behind = 0  # the line after front matter or a heading needs no blank line before it
    for match in _HEADING.finditer(lines):
        end = lines.find("\n", match.end())
        end = len(lines) if end < 0 else end
        if match["marks"]:
            level, opens = len(match["marks"]), match.start() + 1
            title = _trimmed(lines, match.end(), end)
        else:
            level = 1 if match["line"][0] == "=" else 2
            opens = lines.rfind("\n", 0, match.start()) + 1
            before = lines.rfind("\n", 0, max(opens - 1, 0)) + 1
            alone = opens - 1 == behind or not lines[before:opens].strip()
            if not alone or _MARKER.match(lines, opens) or not lines[opens : match.start()].strip():
                continue
            title = (opens, match.start())
        behind = end
        shift = body - 1
        start = min(end + 1, len(lines)) + shift
        yield Heading(level, (title[0] + shift, title[1] + shift), opens + shift, start)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The span of an ATX heading's words, without any closing `#`."""
    words = text[start:end].rstrip(" \t")
    words = _CLOSING.sub("", words).rstrip(" \t")
    return start, start + len(words)
