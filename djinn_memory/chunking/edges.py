"""The white space at the edges of a span, which no chunk begins or ends with."""

from __future__ import annotations

import re

_SPACE = re.compile(r"\s*")
_SHOWN = re.compile(r"(?s).*\S")


def skip(text: str, start: int, end: int) -> int:
    """The first place from `start` on without white space, `end` if there is none."""
    found = _SPACE.match(text, start, end)
    return found.end() if found else start


def trim(text: str, start: int, end: int) -> int:
    """Where the text of a span ends, without the white space behind it."""
    found = _SHOWN.match(text, start, end)
    return found.end() if found else start
