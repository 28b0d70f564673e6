"""The lines of a PDF's page: their text, where they stand, how large they are set."""

from __future__ import annotations

import ctypes
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from statistics import median
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

BOLD = 600
"""Font weights from here on are bold: 700 by OpenType, 600 for a demi-bold."""

FEWEST_NUMBERS = 5
"""A column of fewer numbers is rather a list or a part of a table than the numbers of lines."""

SMALL = 0.85
"""A digit at most so large as the text beside it is a footnote's."""

TORN = 0.15
"""From this share of one-letter words on, a line was set letter by letter."""

FEWEST_GAPS = 6
"""From fewer gaps between letters nothing is learnt."""

WIDEST = 0.3
"""Of a letter's height: what stands further apart is no word."""

SOFT_HYPHEN = "\ufffe"
"""What pdfium writes for a hyphen at the end of a line; no other line end follows."""

_BREAK = re.compile(rf"[^\r\n\v\f\x1c-\x1e\x85\u2028\u2029{SOFT_HYPHEN}]+{SOFT_HYPHEN}?")
_BOLD_NAME = re.compile(rb"bold|black|heavy|[CS]\wBX\w?\d", re.IGNORECASE)
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ufffe\uffff]")
_NOTE = re.compile(r"^\d{1,3}(?=[^\W\d_])")

Turn = int
"""Quarters by which text stands turned on its page, counted against the clock."""


class TextLine(Struct, frozen=True):
    """A run of text as the page shows it, turned so that most of its text is upright.

    Lengths are points, x grows to the right, y upward.
    """

    text: str
    left: float = 0.0
    right: float = 0.0
    base: float = 0.0
    """Where its letters stand."""
    size: float = 0.0
    """Of the font; 0 when unknown."""
    bold: bool = False
    upright: bool = True
    """Whether it runs as most text of its page does."""


class _Piece(Struct):
    """A line as pdfium gives it: it ends where the letters rise, sink or change their size."""

    line: TextLine
    start: float
    """The base of its first letter."""
    end: float
    turn: Turn


def turned(x: float, y: float, turn: Turn) -> tuple[float, float]:
    """A point of a page whose text stands so turned, once that text is upright."""
    return ((x, y), (y, -x), (-x, -y), (-y, x))[turn % 4]


def plain(text: str) -> str:
    """The text on one line, without characters that show nothing."""
    return " ".join(_CONTROL.sub(" ", text).split())


def page_lines(text_page: Any) -> tuple[list[TextLine], Turn]:
    """The lines of a pdfium text page in reading order, and how most of them stand on the page.

    The order is that in which the file draws them, which is nearly always the reading order.
    """
    pieces = list(_Reader(text_page).pieces())
    turns = Counter[Turn]()
    for piece in pieces:
        turns[piece.turn] += len(piece.line.text)
    turn = turns.most_common(1)[0][0] if turns else 0
    whole: list[_Piece] = []
    for piece in pieces:
        piece = _upright(piece, turn)
        if whole and _goes_on(whole[-1], piece):
            whole[-1] = _one(whole[-1], piece)
        else:
            whole.append(piece)
    return with_numbers([piece.line for piece in whole]), turn


class _Reader:
    """Reads a pdfium text page: where its letters stand and how they are set."""

    def __init__(self, text_page: Any) -> None:
        import pypdfium2.raw as pdfium

        self.pdfium = pdfium
        self.page = text_page.raw
        self.text = text_page.get_text_range(errors="replace")
        # It counts in halves of surrogates, and keeps some characters from the text.
        self.units = (
            []
            if len(self.text) == text_page.count_chars()
            else [0, *accumulate(1 + (char > "\uffff") for char in self.text)]
        )
        # Made once: there are some for each line.
        self.x, self.y, self.matrix = ctypes.c_double(), ctypes.c_double(), pdfium.FS_MATRIX()
        self.box = pdfium.FS_RECTF()
        self.name = ctypes.create_string_buffer(64)
        self.to_matrix, self.to_box = ctypes.byref(self.matrix), ctypes.byref(self.box)
        self.to_point = ctypes.byref(self.x), ctypes.byref(self.y)

    def pieces(self) -> Iterator[_Piece]:
        """In the order of the file."""
        for found in _BREAK.finditer(self.text):
            words = found[0].strip()
            if words:
                start = found.start() + found[0].index(words[0])
                yield self._piece(words, start)

    def _index(self, at: int) -> int:
        """The number that pdfium has for a character of the text."""
        if not self.units:
            return at
        found: int = self.pdfium.FPDFText_GetCharIndexFromTextIndex(self.page, self.units[at])
        return found

    def _letter(self, at: int) -> tuple[float, float, float, Turn]:
        """The origin of a letter, its size, how it is turned."""
        place = self._index(at)
        self.pdfium.FPDFText_GetMatrix(self.page, place, self.to_matrix)
        self.pdfium.FPDFText_GetCharOrigin(self.page, place, *self.to_point)
        # A font's size is often 1, and the matrix enlarges it.
        size = self.pdfium.FPDFText_GetFontSize(self.page, place)
        size *= math.hypot(self.matrix.c, self.matrix.d)
        b, a = self.matrix.b, self.matrix.a
        turn = round(math.atan2(b, a) / (math.pi / 2)) % 4 if b or a < 0 else 0
        return self.x.value, self.y.value, size, turn

    def _piece(self, words: str, start: int) -> _Piece:
        # No spaces, which have no size.
        last = len(words) - 1
        places = [start + at + words[at].isspace() for at in (0, last // 2, last)]
        letters = [self._letter(at) for at in places]
        turn = letters[1][3]
        if len({(round(size, 1), turned(x, y, turn)[1]) for x, y, size, _ in letters}) > 1:
            # Where the ends differ, most of it is set as most of three between them.
            between = [start + at + words[at].isspace() for at in (last // 4, 3 * last // 4)]
            letters[1:2] = sorted(
                (letters[1], *map(self._letter, between)), key=lambda letter: letter[2]
            )
        points = [turned(x, y, turn) for x, y, _, _ in letters]
        across = [x for x, _ in points]
        for at in (places[0], places[-1]):
            if self.pdfium.FPDFText_GetLooseCharBox(self.page, self._index(at), self.to_box):
                across.append(turned(self.box.left, self.box.bottom, turn)[0])
                across.append(turned(self.box.right, self.box.top, turn)[0])
        main = len(letters) // 2
        size = letters[main][2]
        text = self._meant(words, start)
        if letters[0][2] < SMALL * size:
            text = _NOTE.sub(r"\g<0> ", text, count=1)
        line = TextLine(
            text, min(across), max(across), points[main][1], round(size, 1), self._bold(places[1])
        )
        return _Piece(line, points[0][1], points[-1][1], turn)

    def _bold(self, at: int) -> bool:
        place = self._index(at)
        if self.pdfium.FPDFText_GetFontWeight(self.page, place) >= BOLD:
            return True
        # Fonts that are not embedded, and those of TeX, say it by their names only.
        flags = ctypes.c_int()
        self.pdfium.FPDFText_GetFontInfo(self.page, place, self.name, len(self.name), flags)
        return bool(_BOLD_NAME.search(self.name.value))

    def _meant(self, words: str, start: int) -> str:
        """The words without what pdfium or a font makes of them."""
        words = _swapped(words.replace(SOFT_HYPHEN, "-"))
        return self._closed(words, start) if _torn(words) else words

    def _closed(self, words: str, start: int) -> str:
        """Without the spaces that pdfium puts where letters are only set apart.

        Such a space is no wider than the space between most letters of the line.
        """
        gaps: list[float] = []
        spaces: dict[int, float] = {}
        right = space = None
        for at, char in enumerate(words):
            place = self._index(start + at)
            if char.isspace() and self.pdfium.FPDFText_IsGenerated(self.page, place) == 1:
                space = at
                continue
            self.pdfium.FPDFText_GetLooseCharBox(self.page, place, self.to_box)
            if right is not None and not char.isspace():
                gaps.append(self.box.left - right)
                if space is not None:
                    spaces[space] = gaps[-1]
            right, space = (None if char.isspace() else self.box.right), None
        usual = median(gaps) if len(gaps) >= FEWEST_GAPS else 0.0
        if usual > WIDEST * (self.box.top - self.box.bottom):
            return words
        gone = {
            at
            for at, gap in spaces.items()
            if gap <= 1.5 * usual and words[at - 1].isalnum() and words[at + 1].isalnum()
        }
        return "".join(char for at, char in enumerate(words) if at not in gone)


def _upright(piece: _Piece, turn: Turn) -> _Piece:
    """The piece as it stands when text of that turn is upright."""
    if piece.turn == turn:
        return piece
    line = piece.line
    corners = [turned(*turned(x, line.base, -piece.turn), turn) for x in (line.left, line.right)]
    across = [x for x, _ in corners]
    line = replace(
        line, left=min(across), right=max(across), base=max(y for _, y in corners), upright=False
    )
    return _Piece(line, line.base, line.base, piece.turn)


def _goes_on(before: _Piece, piece: _Piece) -> bool:
    """Whether a piece goes on where the one before ends: raised, lowered or in another size."""
    one, other = before.line, piece.line
    size = max(one.size, other.size)
    return (
        one.upright
        and other.upright
        and -0.3 * size < other.left - one.right < 0.4 * size
        and abs(piece.start - before.end) < 0.6 * size
        and not one.text.endswith("-")
    )


def _one(before: _Piece, piece: _Piece) -> _Piece:
    one, other = before.line, piece.line
    note = one.text.isdecimal() and one.size < SMALL * other.size
    apart = other.left - one.right > 0.15 * min(one.size, other.size) or note
    main = one if len(one.text) >= len(other.text) else other
    line = replace(
        main,
        text=f"{one.text}{' ' if apart else ''}{other.text}",
        left=min(one.left, other.left),
        right=max(one.right, other.right),
    )
    return _Piece(line, before.start, piece.end, piece.turn)


def _swapped(words: str) -> str:
    """Text whose font's map has the bytes of each character in the wrong order, mended."""
    if len(words) > 3 and all(not ord(c) & 0xFF and 0x20 <= ord(c) >> 8 < 0x7F for c in words):
        return "".join(chr(ord(char) >> 8) for char in words)
    return words


def _torn(words: str) -> bool:
    parts = words.split()
    letters = sum(len(part) == 1 and part.isalpha() for part in parts)
    return letters > 0 and letters >= TORN * len(parts)


def with_numbers(lines: Sequence[TextLine]) -> list[TextLine]:
    """Put the numbers of lines, which a file draws as a column of their own, before their lines."""
    start, stop = _numbers(lines)
    if stop - start < FEWEST_NUMBERS:
        return list(lines)
    waiting = list(lines[start:stop])
    result: list[TextLine] = []
    for line in (*lines[:start], *lines[stop:]):
        near = max(line.size, waiting[0].size, 1.0) / 2 if waiting else 0
        found = next((n for n, one in enumerate(waiting) if abs(one.base - line.base) < near), None)
        if found is None:
            result.append(line)
            continue
        number = waiting[found]
        result += waiting[:found]
        del waiting[: found + 1]
        result.append(replace(line, text=f"{number.text} {line.text}", left=number.left))
    return result + waiting


def _numbers(lines: Sequence[TextLine]) -> tuple[int, int]:
    """The longest run of lines that count up by one down the page, right-aligned."""
    best = (0, 0)
    start = 0
    for at in range(1, len(lines) + 1):
        if at < len(lines) and _next_number(lines[at - 1], lines[at]):
            continue
        if at - start > best[1] - best[0]:
            best = (start, at)
        start = at
    return best


def _next_number(above: TextLine, below: TextLine) -> bool:
    return (
        below.text.isdecimal()
        and above.text.isdecimal()
        and int(below.text) == int(above.text) + 1
        and below.base < above.base
        and abs(below.right - above.right) < max(below.size, 1.0)
    )
