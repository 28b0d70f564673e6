"""Reads PDF pages with pdfminer. It is slow, but decodes fonts that pdfium cannot."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from djinn_memory.documents.pdf.lines import TextLine, Turn

VERTICAL = 0.5
"""Minimum share of steps down the page in text that is written in vertical columns."""

FUTILE = 3
"""Maximum number of pages on which pdfminer reads no more than pdfium. After that, pdfminer reads
only pages that lose most of their text: reading with both takes ten times as long."""

_CID = re.compile(r"\(cid:\d+\)")
_FROM_THE_RIGHT = {
    "line_dir": "rtl", "char_dir": "ttb", "line_dir_render": "ttb", "char_dir_render": "ltr",
}  # fmt: skip


class FallbackReader:
    """Reads a file with pdfminer. The file is opened when the first page is read."""

    def __init__(self, path: Path, password: str | None) -> None:
        self._path = path
        self._password = password
        self.futile = 0
        """The number of pages on which pdfminer read no more than pdfium."""

    def worthwhile(self, lost: int, letters: int) -> bool:
        """Whether pdfminer should read a page from which pdfium left out `lost` pieces of text."""
        return lost > (0 if self.futile < FUTILE else letters)

    def read(self, number: int) -> tuple[list[TextLine], int]:
        """The lines of a page, counted from 0, and the number of letters and digits that it shows.

        The number includes letters that pdfminer cannot decode. Returns ([], 0) when pdfminer
        fails.
        """
        # pdfminer raises errors of every kind for a file that it cannot parse.
        try:
            page = self._file.pages[number]
            if turn := _turn(page.chars):
                # Only on an upright page does pdfminer separate lines.
                page.page_obj.rotate = (page.page_obj.rotate + 90 * turn) % 360
                page.close()
            chars, vertical = page.chars, _vertical(page.chars)
            options = _FROM_THE_RIGHT if vertical else {}
            rows = page.extract_text_lines(return_chars=False, **options)
            page.close()
        except Exception:
            return [], 0
        lines = [_line(row, at if vertical else None) for at, row in enumerate(rows)]
        # A letter that cannot be told is written as `(cid:7)`.
        drawn = sum(char["text"].isalnum() or len(char["text"]) > 5 for char in chars)
        return [line for line in lines if line.text], drawn

    @cached_property
    def _file(self) -> Any:
        import pdfplumber

        return pdfplumber.open(self._path, password=self._password or "")

    def close(self) -> None:
        """Close the file."""
        if file := self.__dict__.pop("_file", None):
            file.close()


def _line(row: Mapping[str, Any], column: int | None) -> TextLine:
    """A line from pdfplumber. A column of vertical text is placed below the previous column."""
    text = _CID.sub("", row["text"]).strip()
    if column is not None:
        return TextLine(text, base=-float(column))
    size = round(row["bottom"] - row["top"], 1)
    return TextLine(text, row["x0"], row["x1"], -row["bottom"], size)


def _turn(chars: Sequence[Any]) -> Turn:
    """The direction of most letters."""
    turns = Counter(
        round(math.atan2(char["matrix"][1], char["matrix"][0]) / (math.pi / 2)) % 4
        for char in chars
    )
    return turns.most_common(1)[0][0] if turns else 0


def _vertical(chars: Sequence[Any]) -> bool:
    """Whether most letters are below the previous letter, as in Japanese."""
    written = [char for char in chars if not char["text"].isspace()]
    down: int = sum(
        below["text"] > "\u2e80"
        and abs(below["x0"] - above["x0"]) < above["size"] / 2
        and below["top"] > above["top"]
        for above, below in pairwise(written)
    )
    return down > VERTICAL * len(written)
