"""What of a text is better not cut: code fences, tables, the items of an outline."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

Span = tuple[int, int]

_TABLE = re.compile(r"(?:\n[ \t]*+\|[^\n]*+)++")


def size(span: Span, tokens: Sequence[int]) -> int:
    """How many tokens begin in a span."""
    return bisect_left(tokens, span[1]) - bisect_left(tokens, span[0])


def blocks(text: str, fences: Sequence[Span], items: Sequence[Span] = ()) -> list[Span]:
    """Code fences, tables and `items`, in order: what is not cut where it fits."""
    # The newline in front lets the first line be found as every other.
    tables = [(match.start(), match.end() - 1) for match in _TABLE.finditer("\n" + text)]
    result: list[Span] = []
    for start, end in sorted([*fences, *tables, *items]):
        if not result or start >= result[-1][1]:
            result.append((start, end))
    return result
