"""Fits lines to the terminal: wraps them at words, with a hanging indent."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

NARROWEST = 20
"""Minimum columns of a line, however deep its indent is."""

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\")
"""Colours and links, which have no width."""

_WIDE = "\u1100-\u115f\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60\U00020000-\U0003ffff"
"""Scripts without spaces. A line may end after any of these characters."""

_LABEL = r"\|(?=[^\[\]]{0,200}\]\])"
"""The mark before the label of a wikilink."""

_PIECE = rf"\s+|[{_WIDE}]|(?:{_LABEL}|[^\s|{_WIDE}])+\|?|\|"
"""Compiled at first use, because its ranges take 5 ms."""

_MARKER = re.compile(r" *(?:[-*+]|\d+\.)\s+|[a-z]{1,10} {2,}")
"""The mark of a list item, or a label in a column of labels."""


def cells(text: str) -> int:
    """The number of columns that a text occupies."""
    plain = _ESCAPE.sub("", text)
    if plain.isascii():
        return len(plain)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in plain
    )


def wrap(text: str, width: int | None, *, indent: int = 0, hang: int | None = None) -> str:
    """`text` on lines of at most `width` columns; None keeps it on one line.

    The first line is indented by `indent` columns, the others by `hang`. A line ends between words,
    or after a `|` between choices. A word that is longer than a line is not broken.
    """
    hang = indent if hang is None else hang
    first = " " * indent
    if width is None or indent + cells(text) <= width:
        return first + text
    limit = max(width, hang + NARROWEST)
    lines, line, used = [], first, indent
    for piece in re.findall(_PIECE, text):
        size = cells(piece)
        if used + size > limit and (line.strip() or piece.isspace()):
            lines.append(line.rstrip())
            line, used = " " * hang, hang
        if piece.isspace() and lines and not line.strip():
            continue
        line, used = line + piece, used + size
    return "\n".join([*lines, line.rstrip()] if line.strip() else lines)


def hanging(text: str, width: int | None, hang: int | None = None) -> str:
    """Wrap each line of `text` separately. Continuation lines are indented by `hang`.

    None indents them like the first line. In a list item, they begin below its first word, and in a
    labelled line below the text after the label. In a one-line text, they are indented by two more
    columns.
    """
    if width is None:
        return text
    lines = []
    for line in text.split("\n"):
        start = len(line) - len(line.lstrip(" "))
        marker = _MARKER.match(line)
        below = marker.end() if marker else start or (0 if "\n" in text else 2)
        lines.append(wrap(line[start:], width, indent=start, hang=below if hang is None else hang))
    return "\n".join(lines)


def table(rows: Sequence[Sequence[str]], width: int | None) -> list[str]:
    """Rows in aligned columns.

    If they are too wide, the last cell of each row is on a separate line.
    """
    if not rows:
        return []
    widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
    if width is None or sum(widths) + 2 * len(widths) - 2 <= width:
        return [_aligned(row, widths) for row in rows]
    if len(widths) < 3:
        return [wrap("  ".join(row), width, hang=4) for row in rows]
    lines = []
    for row in rows:
        lines.append(wrap(_aligned(row[:-1], widths), width, hang=4))
        lines.append(wrap(row[-1], width, indent=4))
    return lines


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (width - cells(cell)) for cell, width in zip(row, widths, strict=False))
    return "  ".join(padded).rstrip()
