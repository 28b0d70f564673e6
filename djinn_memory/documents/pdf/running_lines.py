"""Removes header and footer lines that repeat across pages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from statistics import median

from msgspec import Struct, field

from djinn_memory.documents.pdf.lines import TextLine

EDGE = 2
"""Number of rows at the top and the bottom of a page that may be a header or footer."""

DEEPEST = 6
"""Maximum depth in rows of running lines, if only running lines precede them."""

FEWEST_PAGES = 3
"""Minimum number of pages with the same line: on fewer pages, it may be part of the text."""

SHARE = 0.2
"""Minimum share of pages with the same header: left and right pages differ, and so do chapters."""

MOST = 0.45
"""A header on a smaller share of pages belongs to a chapter. Its first occurrence is kept."""

CLOSE = 6
"""Number of consecutive pages within which FEWEST_PAGES occurrences make a header."""

LONG = 12
"""Minimum letters beside a number: a shorter line, such as `Question 7`, may be a heading."""

APART = 1.5
"""Minimum distance of a numbered header or footer from the text, as a multiple of the usual
distance between rows. A line such as `Fact 12 of the report` within the text is kept."""

LARGE = 1.2
"""A line larger than this multiple of the page's usual text size is a heading."""

MANY_PAGES = 10
"""Minimum number of pages on which a number at the end of a line increases with the pages. It is
then the page number, whatever the rest of the line says, because chapters may have their own
headers."""

SMALL = 0.85
"""A line smaller than this multiple of the usual text size is small print."""

_NUMBER = re.compile(r"(?<!\w)\d{1,9}(?!\w)|\b[ivxlc]{1,7}\b")
_ANY = "\0"
"""The placeholder for a number."""

_PAGED = re.compile(
    rf"(?:(?!{_ANY})[\W\d_]|\b(?:page|seite|pagina|página|side|pg|p|s|стр)\b|[第页頁])*+{_ANY}"
    r"(?:[\W\d_]|\b(?:of|von|de|sur|di|из)\b|[页頁])*+"
)
"""A page number by itself, with any ornament around it."""

_MOST_NUMBERS = 16
_DRIFT = 8.0
"""Maximum difference in points between the heights of a running line on different pages."""

Mark = tuple[str, int | None, int]
"""The common features of lines on several pages: text, number and height. The text has `_ANY` in
place of a number; "" stands for any text. The number is relative to the page number; None stands
for any number."""


class RunningLines(Struct):
    """Removes the lines that many pages have at the same height near an edge.

    Page numbers in such lines are removed as well. Pages arrive in blocks of consecutive pages. The
    running lines of a block are known in the next block.
    """

    known: set[Mark] = field(default_factory=set)
    seldom: set[Mark] = field(default_factory=set)
    """Marks that occur on a minority of the pages, such as the header of a chapter."""
    shown: set[Mark] = field(default_factory=set)
    """Marks that occurred before."""
    done: int = 0

    def remove(self, pages: Sequence[Sequence[TextLine]]) -> list[list[TextLine]]:
        """The pages of the next block without running lines.

        A page with only running lines keeps them.
        """
        marks = [_page_marks(page, number) for number, page in enumerate(pages, self.done)]
        self.done += len(pages)
        pages_by_mark: dict[Mark, list[int]] = {}
        for number, page in enumerate(marks):
            for mark in set().union(*(identifying for _, identifying in page.values())):
                pages_by_mark.setdefault(mark, []).append(number)
        least = max(FEWEST_PAGES, SHARE * len(pages))
        often = {mark for mark in pages_by_mark if _often(mark, pages_by_mark, least)}
        running = often | self.known
        self.known = often if len(pages) >= FEWEST_PAGES else running
        self.seldom |= {mark for mark in often if len(pages_by_mark[mark]) < MOST * len(pages)}
        return [
            _without(page, {line for line, (own, _) in lines.items() if self._runs(own & running)})
            for page, lines in zip(pages, marks, strict=True)
        ]

    def _runs(self, marks: set[Mark]) -> bool:
        """Whether a line with these marks is removed. The first header of a chapter is kept."""
        if not marks:
            return False
        first = not marks & self.shown
        self.shown |= marks
        return not (first and marks <= self.seldom and any(map(_has_words, marks)))


def _has_words(mark: Mark) -> bool:
    return sum(map(str.isalpha, mark[0])) >= LONG


def _without(page: Sequence[TextLine], running: set[int]) -> list[TextLine]:
    removed: set[int] = set()
    for side in _sides(page):
        for depth, row in enumerate(side):
            removed.update(id(line) for line in row if id(line) in running)
            if depth + 1 >= EDGE and not all(id(line) in running for line in row):
                break
    return [line for line in page if id(line) not in removed] or list(page)


def _sides(page: Sequence[TextLine]) -> Iterator[list[list[TextLine]]]:
    """The rows from the top, the rows from the bottom, and the lines in another direction."""
    rows: dict[int, list[TextLine]] = {}
    for line in page:
        if line.upright:
            rows.setdefault(round(line.base), []).append(line)
    heights = sorted(rows)
    yield [rows[height] for height in heights[: -DEEPEST - 1 : -1]]
    yield [rows[height] for height in heights[:DEEPEST]]
    # A line in another direction is a stamp.
    yield [[line for line in page if not line.upright]]


def _page_marks(page: Sequence[TextLine], number: int) -> dict[int, tuple[set[Mark], set[Mark]]]:
    """For each line near an edge, by its id: all its marks, and those that can identify a header.

    A numbered line can identify a header only if a gap separates it from the text and it is not a
    heading.
    """
    marks: dict[int, tuple[set[Mark], set[Mark]]] = {}
    usual = median(line.size for line in page) if page else 0.0
    for side in _sides(page):
        off = _set_off(side)
        for depth, row in enumerate(side):
            for line in row:
                if any(map(str.isalnum, line.text)):
                    plain = (line.text.lower(), None, _height(line))
                    large = line.size > LARGE * usual
                    own, identifying = marks.setdefault(
                        id(line), ({plain}, set() if large else {plain})
                    )
                    small = line.size <= SMALL * usual
                    near = depth < max(EDGE, off)
                    numbered = set(_numbered(line, number, small)) if near else set()
                    own |= numbered
                    if depth < off and not large:
                        identifying |= numbered
    return marks


def _set_off(side: Sequence[Sequence[TextLine]]) -> int:
    """The number of outermost rows that a gap separates from the text."""
    heights = [row[0].base for row in side if row]
    gaps = [abs(row - following) for row, following in pairwise(heights)]
    if len(heights) <= EDGE:
        return 0 if all(line.upright for row in side for line in row) else len(side)
    usual = median(gaps[EDGE:] or gaps)
    return next((n for n in range(EDGE, 0, -1) if gaps[n - 1] >= APART * usual), 0)


def _height(line: TextLine) -> int:
    return round(line.base / _DRIFT)


def _numbered(line: TextLine, page: int, small: bool) -> Iterator[Mark]:
    """The marks of a line after its page number is removed.

    The number is at either end of the line, or anywhere in small print.
    """
    text, height = line.text.lower(), _height(line)
    for number in islice(_NUMBER.finditer(text), _MOST_NUMBERS):
        rest = f"{text[: number.start()]}{_ANY}{text[number.end() :]}"
        letters = sum(map(str.isalpha, rest))
        paged = _PAGED.fullmatch(rest)
        if paged or (letters >= LONG and (small or _ANY in (rest[0], rest[-1]))):
            yield rest, _value(number[0]) - page, height
            yield "", _value(number[0]) - page, height
        if paged:
            yield rest, None, height


def _value(number: str) -> int:
    if number.isdecimal():
        return int(number)
    values = ["ivxlc".index(char) for char in number]
    values = [(1, 5, 10, 50, 100)[at] for at in values]
    return sum(-value if value < max(values[at:]) else value for at, value in enumerate(values))


def _often(mark: Mark, pages_by_mark: Mapping[Mark, Sequence[int]], least: float) -> bool:
    text, number, height = mark
    near = {
        page
        for h in (height - 1, height, height + 1)
        for page in pages_by_mark.get((text, number, h), ())
    }
    if len(near) >= (least if text else max(MANY_PAGES, least)):
        return True
    if not text or (_ANY in text and number is None):
        return False
    # The header of a short chapter.
    pages = sorted(near)
    return any(
        last - first < CLOSE for first, last in zip(pages, pages[FEWEST_PAGES - 1 :], strict=False)
    )
