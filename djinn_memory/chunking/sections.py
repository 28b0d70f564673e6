"""The headings of a note and the text under each."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from djinn_memory.models import Section
from djinn_memory.notes.markdown.headings import headings
from djinn_memory.notes.markdown.plain_text import inline

MAX_SECTIONS = 20_000
"""Headings beyond are text like any other: a section is a chunk at least, and a chunk costs more
than its words. The Bible has 1,189 chapters."""

MAX_HEADING = 300
"""A longer heading is cut: every chunk below it carries it."""


def sections(text: str, body: int, fences: Sequence[tuple[int, int]]) -> list[Section]:
    """The sections of `text` from offset `body` on, in order, covering every character.

    `fences` are `code_blocks(text)`, in which no heading stands. Text before the first heading is
    a section without a path, and the last of `MAX_SECTIONS` holds all that is left.
    """
    starts = [start for start, _ in fences]
    result = [Section((), body, body, len(text))]
    trail: list[tuple[int, str]] = []
    for heading in headings(text, body):
        fence = bisect_right(starts, heading.opens) - 1
        if fence >= 0 and heading.opens < fences[fence][1]:
            continue
        if len(result) == MAX_SECTIONS:
            break
        while trail and trail[-1][0] >= heading.level:
            trail.pop()
        trail.append((heading.level, inline(text[slice(*heading.title)])[:MAX_HEADING]))
        path = tuple(name for _, name in trail if name)
        above = result[-1]
        result[-1] = Section(above.path, above.opens, above.start, heading.opens)
        result.append(Section(path, heading.opens, heading.start, len(text)))
    return result
