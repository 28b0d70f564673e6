"""The header and footer lines that pages repeat."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from statistics import median

from msgspec import Struct, field

from djinn_memory.documents.pdf.lines import TextLine

EDGE = 2
"""Lines from the top and the bottom of a page that may be its header or footer."""

DEEPEST = 6
"""What follows running lines only may be one as well, up to so many lines into the page."""

FEWEST_PAGES = 3
"""On fewer pages a line that stands twice may be meant."""

SHARE = 0.2
"""Of the pages: left and right ones differ, each chapter may have its own, and begins without."""

MOST = 0.45
"""Of the pages: left and right ones may differ. What is on fewer stays where it comes first."""

CLOSE = 6
"""On that many pages in a row the fewest make a header as well."""

LONG = 12
"""Letters beside a number: what is shorter, `Question 7`, may be a heading."""

APART = 1.5
"""Times the usual distance between rows, by which a header or footer with a number stands off the
text: `Fact 12 of the report` within the text is text."""

LARGE = 1.2
"""Times the usual size of the page's lines: what is larger is a heading."""

MANY_PAGES = 10
"""On so many pages a number that ends or begins a line there and counts up with them is the page's,
whatever the line says: each chapter has its own header."""

SMALL = 0.85
"""Times the usual size: small print."""

_NUMBER = re.compile(r"(?<!\w)\d{1,9}(?!\w)|\b[ivxlc]{1,7}\b")
_ANY = "\0"
"""Stands for a number."""

_PAGED = re.compile(
    rf"(?:(?!{_ANY})[\W\d_]|\b(?:page|seite|pagina|página|side|pg|p|s|стр)\b|[第页頁])*+{_ANY}"
    r"(?:[\W\d_]|\b(?:of|von|de|sur|di|из)\b|[页頁])*+"
)
"""A page number by itself, however it is adorned."""

_MOST_NUMBERS = 16
_DRIFT = 8.0
"""Points by which a line's height may differ from page to page."""

Mark = tuple[str, int | None, int]
"""What lines of several pages have in common: the text, with `_ANY` for a number, how far that
number is from the page's, None where it may be any, and the height. No text stands for any."""


class RunningLines(Struct):
    """Takes from pages the lines that many of them have at the same height near an edge.

    Page numbers in such a line go with it. Pages come in blocks of consecutive ones, and what ran
    through the block before is known in the next.
    """

    known: set[Mark] = field(default_factory=set)
    seldom: set[Mark] = field(default_factory=set)
    """Those that are on fewer than most pages: of a chapter, of a part."""
    shown: set[Mark] = field(default_factory=set)
    """Those that were met."""
    done: int = 0

    def without(self, pages: Sequence[Sequence[TextLine]]) -> list[list[TextLine]]:
        """The pages of the next block without them; a page that has nothing else keeps them."""
        marks = [_page_marks(page, number) for number, page in enumerate(pages, self.done)]
        self.done += len(pages)
        seen: dict[Mark, list[int]] = {}
        for number, page in enumerate(marks):
            for mark in set().union(*(told for _, told in page.values())):
                seen.setdefault(mark, []).append(number)
        least = max(FEWEST_PAGES, SHARE * len(pages))
        often = {mark for mark in seen if _often(mark, seen, least)}
        running = often | self.known
        self.known = often if len(pages) >= FEWEST_PAGES else running
        self.seldom |= {mark for mark in often if len(seen[mark]) < MOST * len(pages)}
        return [
            _without(page, {one for one, (own, _) in found.items() if self._runs(own & running)})
            for page, found in zip(pages, marks, strict=True)
        ]

    def _runs(self, marks: set[Mark]) -> bool:
        """Whether a line with these marks goes: one of few pages stays where it comes first."""
        if not marks:
            return False
        first = not marks & self.shown
        self.shown |= marks
        return not (first and marks <= self.seldom and any(map(_says, marks)))


def _says(mark: Mark) -> bool:
    return sum(map(str.isalpha, mark[0])) >= LONG


def _without(page: Sequence[TextLine], running: set[int]) -> list[TextLine]:
    gone: set[int] = set()
    for side in _sides(page):
        for depth, row in enumerate(side):
            gone.update(id(line) for line in row if id(line) in running)
            if depth + 1 >= EDGE and not all(id(line) in running for line in row):
                break
    return [line for line in page if id(line) not in gone] or list(page)


def _sides(page: Sequence[TextLine]) -> Iterator[list[list[TextLine]]]:
    """The rows of lines from the top, those from the bottom, and what stands beside the text."""
    rows: dict[int, list[TextLine]] = {}
    for line in page:
        if line.upright:
            rows.setdefault(round(line.base), []).append(line)
    heights = sorted(rows)
    yield [rows[height] for height in heights[: -DEEPEST - 1 : -1]]
    yield [rows[height] for height in heights[:DEEPEST]]
    # What runs up or down is a stamp.
    yield [[line for line in page if not line.upright]]


def _page_marks(page: Sequence[TextLine], number: int) -> dict[int, tuple[set[Mark], set[Mark]]]:
    """By the id of each line near an edge: its marks, and those of them that tell of a header.

    A line with a number tells only where it stands off the text and is no heading.
    """
    found: dict[int, tuple[set[Mark], set[Mark]]] = {}
    usual = median(line.size for line in page) if page else 0.0
    for side in _sides(page):
        off = _set_off(side)
        for depth, row in enumerate(side):
            for line in row:
                if any(map(str.isalnum, line.text)):
                    plain = (line.text.lower(), None, _height(line))
                    large = line.size > LARGE * usual
                    own, told = found.setdefault(id(line), ({plain}, set() if large else {plain}))
                    small = line.size <= SMALL * usual
                    near = depth < max(EDGE, off)
                    numbered = set(_numbered(line, number, small)) if near else set()
                    own |= numbered
                    if depth < off and not large:
                        told |= numbered
    return found


def _set_off(side: Sequence[Sequence[TextLine]]) -> int:
    """How many of the outermost rows stand off the text behind them."""
    heights = [row[0].base for row in side if row]
    gaps = [abs(one - other) for one, other in pairwise(heights)]
    if len(heights) <= EDGE:
        return 0 if all(line.upright for row in side for line in row) else len(side)
    usual = median(gaps[EDGE:] or gaps)
    return next((n for n in range(EDGE, 0, -1) if gaps[n - 1] >= APART * usual), 0)


def _height(line: TextLine) -> int:
    return round(line.base / _DRIFT)


def _numbered(line: TextLine, page: int, small: bool) -> Iterator[Mark]:
    """The line without a number that may count the pages: at either end, in small print within."""
    text, height = line.text.lower(), _height(line)
    for found in islice(_NUMBER.finditer(text), _MOST_NUMBERS):
        rest = f"{text[: found.start()]}{_ANY}{text[found.end() :]}"
        letters = sum(map(str.isalpha, rest))
        paged = _PAGED.fullmatch(rest)
        if paged or (letters >= LONG and (small or _ANY in (rest[0], rest[-1]))):
            yield rest, _value(found[0]) - page, height
            yield "", _value(found[0]) - page, height
        if paged:
            yield rest, None, height


def _value(number: str) -> int:
    if number.isdecimal():
        return int(number)
    values = ["ivxlc".index(char) for char in number]
    values = [(1, 5, 10, 50, 100)[at] for at in values]
    return sum(-value if value < max(values[at:]) else value for at, value in enumerate(values))


def _often(mark: Mark, seen: Mapping[Mark, Sequence[int]], least: float) -> bool:
    text, number, height = mark
    near = {
        page for h in (height - 1, height, height + 1) for page in seen.get((text, number, h), ())
    }
    if len(near) >= (least if text else max(MANY_PAGES, least)):
        return True
    if not text or (_ANY in text and number is None):
        return False
    # The header of a short chapter.
    found = sorted(near)
    return any(
        later - one < CLOSE for one, later in zip(found, found[FEWEST_PAGES - 1 :], strict=False)
    )
