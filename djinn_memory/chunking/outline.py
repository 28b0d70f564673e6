"""The items of a page that is one nested list, as an outliner writes it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from djinn_memory.models import Section

_ITEM = re.compile(r"(?m)^([ \t]*+)[-*+](?:[ \t]|$)")
_TAB = 4

Span = tuple[int, int]


def items(
    text: str, section: Section, fences: Sequence[Span], fits: Callable[[Span], bool]
) -> Iterator[Span]:
    """The largest items of a section that fit, each with all that is nested below it, in order.

    The first line of an item that is too large stays with the first item below it, so that a
    parent does not end one chunk while its children begin the next.
    """
    found = _items(text, section, fences)
    done = 0
    for number, (start, end) in enumerate(found):
        if start < done:
            continue
        if not fits((start, end)):
            if number + 1 == len(found) or found[number + 1][0] >= end:
                continue
            end = found[number + 1][1]
            if not fits((start, end)):
                continue
        done = end
        yield start, end


def _items(text: str, section: Section, fences: Sequence[Span]) -> list[Span]:
    """Every item, in order; one ends where the next begins that is not nested in it."""
    opens = [start for start, _ in fences]
    starts: list[int] = []
    ends: list[int] = []
    nest: list[tuple[int, int]] = []
    for match in _ITEM.finditer(text, section.start, section.end):
        start, indent = match.start(), len(match[1].expandtabs(_TAB))
        fence = bisect_right(opens, start) - 1
        if fence >= 0 and start < fences[fence][1]:
            continue
        while nest and nest[-1][0] >= indent:
            ends[nest.pop()[1]] = start
        nest.append((indent, len(starts)))
        starts.append(start)
        ends.append(section.end)
    return list(zip(starts, ends, strict=True))
