"""The lines of a PDF page: their text, position, size and weight."""

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
"""Minimum weight of a bold font: in OpenType 700 is bold and 600 is demi-bold."""

FEWEST_NUMBERS = 5
"""Minimum number of line numbers in a column: a shorter one is a list or part of a table."""

SMALL = 0.85
"""A digit below this share of the neighbouring text size marks a footnote."""

TORN = 0.15
"""Minimum share of one-letter words in a line that was set letter by letter."""

FEWEST_GAPS = 6
"""Minimum number of gaps between letters for a reliable median."""

WIDEST = 0.3
"""Maximum gap between the letters of a word, as a share of their height."""

SOFT_HYPHEN = "\ufffe"
"""pdfium's character for a hyphen at the end of a line. No other line break follows it."""

_BREAK = re.compile(rf"[^\r\n\v\f\x1c-\x1e\x85\u2028\u2029{SOFT_HYPHEN}]+{SOFT_HYPHEN}?")
_BOLD_NAME = re.compile(rb"bold|black|heavy|[CS]\wBX\w?\d", re.IGNORECASE)
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ufffe\uffff]")
_NOTE = re.compile(r"^\d{1,3}(?=[^\W\d_])")

Turn = int
"""The direction of text on its page, in quarter turns counter-clockwise."""


class TextLine(Struct, frozen=True):
    """A line of text, after its page is rotated so that most text is upright.

    Lengths are in points; x increases to the right, y upward.
    """

    text: str
    left: float = 0.0
    right: float = 0.0
    base: float = 0.0
    """The height of the baseline."""
    size: float = 0.0
    """The font size; 0 when unknown."""
    bold: bool = False
    upright: bool = True
    """Whether the line runs in the same direction as most text on its page."""


class _Piece(Struct):
    """A piece of a line, as pdfium returns it. It ends where the baseline or the size changes."""

    line: TextLine
    start: float
    """The baseline of the first letter."""
    end: float
    turn: Turn


def rotate(x: float, y: float, turn: Turn) -> tuple[float, float]:
    """A point of a page after the page is rotated so that text in direction `turn` is upright."""
    return ((x, y), (y, -x), (-x, -y), (-y, x))[turn % 4]


def plain(text: str) -> str:
    """`text` on one line, without invisible characters."""
    return " ".join(_CONTROL.sub(" ", text).split())


def page_lines(text_page: Any) -> tuple[list[TextLine], Turn]:
    """The lines of a pdfium text page in reading order, and the direction of most of them.

    The reading order is assumed to be the drawing order, which is nearly always correct.
    """
    pieces = list(_Reader(text_page).pieces())
    turns = Counter[Turn]()
    for piece in pieces:
        turns[piece.turn] += len(piece.line.text)
    turn = turns.most_common(1)[0][0] if turns else 0
    joined: list[_Piece] = []
    for piece in pieces:
        piece = _upright(piece, turn)
        if joined and _continues(joined[-1], piece):
            joined[-1] = _join(joined[-1], piece)
        else:
            joined.append(piece)
    return with_line_numbers([piece.line for piece in joined]), turn


class _Reader:
    """Reads a pdfium text page: the position, size and direction of its letters."""

    def __init__(self, text_page: Any) -> None:
        import pypdfium2.raw as pdfium

        self.pdfium = pdfium
        self.page = text_page.raw
        self.text = text_page.get_text_range(errors="replace")
        # pdfium counts in UTF-16 units, and leaves some characters out of the text.
        ends = accumulate(1 + (char > "\uffff") for char in self.text)
        self.units = [] if len(self.text) == text_page.count_chars() else [0, *ends]
        # Created once: each line needs several.
        self.x, self.y, self.matrix = ctypes.c_double(), ctypes.c_double(), pdfium.FS_MATRIX()
        self.box = pdfium.FS_RECTF()
        self.name = ctypes.create_string_buffer(64)
        self.to_matrix, self.to_box = ctypes.byref(self.matrix), ctypes.byref(self.box)
        self.to_point = ctypes.byref(self.x), ctypes.byref(self.y)

    def pieces(self) -> Iterator[_Piece]:
        """The pieces of text in the order in which the file draws them."""
        for match in _BREAK.finditer(self.text):
            words = match[0].strip()
            if words:
                start = match.start() + match[0].index(words[0])
                yield self._piece(words, start)

    def _index(self, at: int) -> int:
        """Return pdfium's index of a character of the text."""
        if not self.units:
            return at
        index: int = self.pdfium.FPDFText_GetCharIndexFromTextIndex(self.page, self.units[at])
        return index

    def _letter(self, at: int) -> tuple[float, float, float, Turn]:
        """The position, size and direction of a letter."""
        place = self._index(at)
        self.pdfium.FPDFText_GetMatrix(self.page, place, self.to_matrix)
        self.pdfium.FPDFText_GetCharOrigin(self.page, place, *self.to_point)
        # The size of a font is often 1, and the matrix scales it.
        size = self.pdfium.FPDFText_GetFontSize(self.page, place)
        size *= math.hypot(self.matrix.c, self.matrix.d)
        b, a = self.matrix.b, self.matrix.a
        turn = round(math.atan2(b, a) / (math.pi / 2)) % 4 if b or a < 0 else 0
        return self.x.value, self.y.value, size, turn

    def _piece(self, words: str, start: int) -> _Piece:
        # Spaces have no size.
        last = len(words) - 1
        places = [start + at + words[at].isspace() for at in (0, last // 2, last)]
        letters = [self._letter(at) for at in places]
        turn = letters[1][3]
        if len({(round(size, 1), rotate(x, y, turn)[1]) for x, y, size, _ in letters}) > 1:
            # When the ends differ, the median of three letters between them stands for the piece.
            between = [start + at + words[at].isspace() for at in (last // 4, 3 * last // 4)]
            letters[1:2] = sorted(
                (letters[1], *map(self._letter, between)), key=lambda letter: letter[2]
            )
        points = [rotate(x, y, turn) for x, y, _, _ in letters]
        across = [x for x, _ in points]
        for at in (places[0], places[-1]):
            if self.pdfium.FPDFText_GetLooseCharBox(self.page, self._index(at), self.to_box):
                across.append(rotate(self.box.left, self.box.bottom, turn)[0])
                across.append(rotate(self.box.right, self.box.top, turn)[0])
        main = len(letters) // 2
        size = letters[main][2]
        text = self._repaired(words, start)
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
        # Fonts that are not embedded, and those of TeX, show their weight only in their names.
        flags = ctypes.c_int()
        self.pdfium.FPDFText_GetFontInfo(self.page, place, self.name, len(self.name), flags)
        return bool(_BOLD_NAME.search(self.name.value))

    def _repaired(self, words: str, start: int) -> str:
        """The words, corrected for known errors of pdfium and of fonts."""
        words = _swap_bytes(words.replace(SOFT_HYPHEN, "-"))
        return self._close_gaps(words, start) if _is_torn(words) else words

    def _close_gaps(self, words: str, start: int) -> str:
        """The words without the spaces that pdfium inserts between widely spaced letters.

        Such a space is about as wide as most gaps between letters of the line.
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
        false_spaces = {
            at
            for at, gap in spaces.items()
            if gap <= 1.5 * usual and words[at - 1].isalnum() and words[at + 1].isalnum()
        }
        return "".join(char for at, char in enumerate(words) if at not in false_spaces)


def _upright(piece: _Piece, turn: Turn) -> _Piece:
    """The piece after its page is rotated so that text in direction `turn` is upright."""
    if piece.turn == turn:
        return piece
    line = piece.line
    corners = [rotate(*rotate(x, line.base, -piece.turn), turn) for x in (line.left, line.right)]
    across = [x for x, _ in corners]
    line = replace(
        line, left=min(across), right=max(across), base=max(y for _, y in corners), upright=False
    )
    return _Piece(line, line.base, line.base, piece.turn)


def _continues(before: _Piece, piece: _Piece) -> bool:
    """Whether a piece continues the previous one, perhaps raised, lowered or in another size."""
    left, right = before.line, piece.line
    size = max(left.size, right.size)
    return (
        left.upright
        and right.upright
        and -0.3 * size < right.left - left.right < 0.4 * size
        and abs(piece.start - before.end) < 0.6 * size
        and not left.text.endswith("-")
    )


def _join(before: _Piece, piece: _Piece) -> _Piece:
    left, right = before.line, piece.line
    note = left.text.isdecimal() and left.size < SMALL * right.size
    apart = right.left - left.right > 0.15 * min(left.size, right.size) or note
    line = replace(
        left if len(left.text) >= len(right.text) else right,
        text=f"{left.text}{' ' if apart else ''}{right.text}",
        left=min(left.left, right.left),
        right=max(left.right, right.right),
    )
    return _Piece(line, before.start, piece.end, piece.turn)


def _swap_bytes(words: str) -> str:
    """The text, corrected if the font's map reverses the bytes of each character."""
    if len(words) > 3 and all(not ord(c) & 0xFF and 0x20 <= ord(c) >> 8 < 0x7F for c in words):
        return "".join(chr(ord(char) >> 8) for char in words)
    return words


def _is_torn(words: str) -> bool:
    parts = words.split()
    letters = sum(len(part) == 1 and part.isalpha() for part in parts)
    return letters > 0 and letters >= TORN * len(parts)


def with_line_numbers(lines: Sequence[TextLine]) -> list[TextLine]:
    """Put each line number before its line when the file draws the numbers as a separate column."""
    start, stop = _numbers(lines)
    if stop - start < FEWEST_NUMBERS:
        return list(lines)
    waiting = list(lines[start:stop])
    result: list[TextLine] = []
    for line in (*lines[:start], *lines[stop:]):
        near = max(line.size, waiting[0].size, 1.0) / 2 if waiting else 0
        bases = [abs(number.base - line.base) < near for number in waiting]
        if not any(bases):
            result.append(line)
            continue
        at = bases.index(True)
        number = waiting[at]
        result += waiting[:at]
        del waiting[: at + 1]
        result.append(replace(line, text=f"{number.text} {line.text}", left=number.left))
    return result + waiting


def _numbers(lines: Sequence[TextLine]) -> tuple[int, int]:
    """The longest run of right-aligned numbers that count up by one down the page."""
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
