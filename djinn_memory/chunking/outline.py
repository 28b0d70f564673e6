"""Finds the list items of a page that is one nested list, as outliners write."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from djinn_memory.chunking.spans import Span, span_at
from djinn_memory.models import Section

_ITEM = re.compile(r"(?m)^([ \t]*+)[-*+](?:[ \t]|$)")
_TAB = 4


def fitting_items(
    text: str, section: Section, fences: Sequence[Span], fits: Callable[[Span], bool]
) -> Iterator[Span]:
    """The largest list items of a section that fit, each with all its nested items, in order.

    The first line of a list item that is too large stays with its first nested item, so that no
    chunk ends with a parent whose children begin the next.
    """
    spans = _list_items(text, section, fences)
    done = 0
    for number, (start, end) in enumerate(spans):
        if start < done:
            continue
        if not fits((start, end)):
            if number + 1 == len(spans) or spans[number + 1][0] >= end:
                continue
            end = spans[number + 1][1]
            if not fits((start, end)):
                continue
        done = end
        yield start, end


def _list_items(text: str, section: Section, fences: Sequence[Span]) -> list[Span]:
    """Every list item in order. An item ends where the next item not nested in it begins."""
    starts: list[int] = []
    ends: list[int] = []
    nest: list[tuple[int, int]] = []
    for match in _ITEM.finditer(text, section.start, section.end):
        start, indent = match.start(), len(match[1].expandtabs(_TAB))
        if span_at(fences, start):
            continue
        while nest and nest[-1][0] >= indent:
            ends[nest.pop()[1]] = start
        nest.append((indent, len(starts)))
        starts.append(start)
        ends.append(section.end)
    return list(zip(starts, ends, strict=True))
