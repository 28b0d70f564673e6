"""Cuts a note into chunks along its headings, and a chunk into windows the model can read."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from djinn_memory.chunking.blocks import blocks, size
from djinn_memory.chunking.edges import trim
from djinn_memory.chunking.lines import Lines
from djinn_memory.chunking.outline import items
from djinn_memory.chunking.sections import sections
from djinn_memory.models import Chunk, Section
from djinn_memory.notes.markdown.markup import code_blocks

VERSION = 3
"""Raised when the same note would be cut differently: an index made by another is made anew."""

CHUNK_TOKENS = 450
"""Upper size of a chunk: about a screen of text, one to three windows."""

WINDOW_TOKENS = 178
"""With the two marks around a text, 180 of the 256 that MiniLM reads: a longer window says too many
things for one vector (nDCG@10 on Cranfield .386 at 256, .398 at 180)."""

OVERLAP_TOKENS = 30
"""Shared by neighbouring windows, so that a sentence on the seam is whole in one of them."""

_BREAKS = (
    re.compile(r"\n[ \t]*\n+"),
    re.compile(r"\n"),
    re.compile(r"[.!?…。！？][\"')\]]*\s|[。！？]"),
    re.compile(r"\s"),
)
"""Where text may be cut, best first: between paragraphs, lines, sentences, words."""

_NEWLINES = re.compile(r"\n*")


def chunks(
    text: str,
    body: int,
    tokens: Sequence[int],
    *,
    limit: int = CHUNK_TOKENS,
    outline: bool = False,
) -> list[Chunk]:
    """The chunks of a note in order, at least one; together they hold all text outside headings.

    `tokens` are the character offsets at which tokens begin. A chunk never crosses a heading; a
    heading without text of its own gives none when a deeper one follows, whose path names it. In
    an `outline` no list item is cut that fits, with all below it, into a chunk.
    """
    fences = code_blocks(text)
    lines = Lines(text)
    found = sections(text, body, fences)
    whole = [
        span
        for section in found
        if outline
        for span in items(text, section, fences, lambda span: size(span, tokens) <= limit)
    ]
    solid = blocks(text, fences, whole)
    result: list[Chunk] = []
    for number, section in enumerate(found):
        following = found[number + 1].path if number + 1 < len(found) else ()
        pieces = _pieces(text, section, tokens, solid, limit)
        if not pieces and section.path and following[: len(section.path)] != section.path:
            pieces = [(section.start, section.start)]
        for start, end in pieces:
            opens = section.opens if start == pieces[0][0] else start
            first = lines.of(opens)
            last = lines.of(max(opens, end - 1))
            result.append(Chunk(section.path, start, end, first, last))
    return result or [Chunk((), body, body, 1, 1)]


def windows(start: int, end: int, tokens: Sequence[int], limit: int) -> list[tuple[int, int]]:
    """Spans of at most `limit` tokens that cover start..end, neighbours sharing OVERLAP_TOKENS.

    Always at least one, empty where the chunk is.
    """
    first, stop = bisect_left(tokens, start), bisect_left(tokens, end)
    count = stop - first
    if count <= limit:
        return [(start, end)]
    overlap = min(OVERLAP_TOKENS, limit // 4)
    # Even lengths: a last window of three tokens would be a vector of noise.
    number = -(-(count - overlap) // (limit - overlap))
    step = -(-(count - overlap) // number)
    spans = []
    for at in range(number):
        low = first + at * step
        high = min(low + step + overlap, stop)
        spans.append((tokens[low] if at else start, tokens[high] if high < stop else end))
    return spans


def _pieces(
    text: str,
    section: Section,
    tokens: Sequence[int],
    solid: Sequence[tuple[int, int]],
    limit: int,
) -> list[tuple[int, int]]:
    start, end = section.start, section.end
    start, end = _past_newlines(text, start, end), trim(text, start, end)
    pieces = []
    while start < end:
        cut = _cut(text, start, end, tokens, solid, limit)
        stop = trim(text, start, cut)
        if stop > start:
            pieces.append((start, stop))
        start = _past_newlines(text, cut, end)
    return pieces


def _past_newlines(text: str, start: int, end: int) -> int:
    found = _NEWLINES.match(text, start, end)
    return found.end() if found else start


def _cut(
    text: str,
    start: int,
    end: int,
    tokens: Sequence[int],
    solid: Sequence[tuple[int, int]],
    limit: int,
) -> int:
    """Where the chunk that begins at `start` ends: at the best break within the limit."""
    first, stop = bisect_left(tokens, start), bisect_left(tokens, end)
    count = stop - first
    if count <= limit:
        return end
    even = -(-count // -(-count // limit))
    latest = tokens[first + min(limit, even + even // 5)]
    earliest = tokens[first + min(limit, even) // 3]
    at = bisect_right(solid, (latest, 0)) - 1
    if at >= 0 and solid[at][0] < latest < solid[at][1]:
        block = solid[at]
        if size((start, block[1]), tokens) <= limit:
            return block[1]
        if block[0] > start and size(block, tokens) <= limit:
            return block[0]
        if block[0] > earliest:
            latest = block[0]
    for pattern in _BREAKS:
        breaks = [match.end() for match in pattern.finditer(text, earliest, latest)]
        for place in reversed(breaks):
            inner = bisect_right(solid, (place, 0)) - 1
            inside = inner >= 0 and solid[inner][0] < place < solid[inner][1]
            if not inside or size(solid[inner], tokens) > limit:
                return place
    return latest
