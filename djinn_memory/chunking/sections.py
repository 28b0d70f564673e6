"""The headings of a note and the text under each."""

from __future__ import annotations

from collections.abc import Sequence

from djinn_memory.chunking.spans import Span, span_at
from djinn_memory.models import Section
from djinn_memory.notes.markdown.headings import headings
from djinn_memory.notes.markdown.plain_text import inline

MAX_SECTIONS = 20_000
"""Headings beyond this number are treated as text. A section is at least one chunk, and a chunk
costs more than its words. The Bible has 1,189 chapters."""

MAX_HEADING = 300
"""Maximum characters of a heading. A longer one is cut, because every chunk below it repeats it."""


def sections(text: str, body: int, fences: Sequence[Span]) -> list[Section]:
    """The sections of `text` from offset `body` on, in order, covering every character.

    `fences` are `code_blocks(text)`: a line in one is not a heading. Text before the first heading
    is a section without a path. The last of `MAX_SECTIONS` holds the rest of the text.
    """
    result = [Section((), body, body, len(text))]
    trail: list[tuple[int, str]] = []
    for heading in headings(text, body):
        if span_at(fences, heading.opens):
            continue
        if len(result) == MAX_SECTIONS:
            break
        while trail and trail[-1][0] >= heading.level:
            trail.pop()
        trail.append((heading.level, inline(text[slice(*heading.title)], MAX_HEADING)))
        path = tuple(name for _, name in trail if name)
        above = result[-1]
        result[-1] = Section(above.path, above.opens, above.start, heading.opens)
        result.append(Section(path, heading.opens, heading.start, len(text)))
    return result
