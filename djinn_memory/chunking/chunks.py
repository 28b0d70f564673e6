"""Cuts a note into chunks at its headings, and chunks into windows that fit the model."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from djinn_memory.chunking.lines import Lines
from djinn_memory.chunking.outline import fitting_items
from djinn_memory.chunking.sections import sections
from djinn_memory.chunking.spans import Span, blocks, size, span_across, trim
from djinn_memory.models import Chunk, Section
from djinn_memory.notes.markdown.markup import code_blocks

VERSION = 5
"""Increased when the same note would be cut differently. An index of another version is rebuilt."""

CHUNK_TOKENS = 450
"""Maximum size of a chunk: about a screen of text, one to three windows."""

WINDOW_TOKENS = 178
"""With the two special tokens, 180 of the 256 tokens that MiniLM reads. A longer window mixes too
many subjects for one vector (nDCG@10 on Cranfield .386 at 256, .398 at 180)."""

MODEL_READS = 254
"""Number of tokens that the packaged model reads, without the two special tokens."""

OVERLAP_TOKENS = 30
"""Shared by neighbouring windows, so that a sentence at the border is whole in one of them."""

_BREAKS = (
    re.compile(r"\n[ \t]*\n+"),
    re.compile(r"\n"),
    re.compile(r"[.!?…。！？][\"')\]]*\s|[。！？]"),
    re.compile(r"\s"),
)
"""Where text may be cut, best first: between paragraphs, lines, sentences, words."""


def chunks(
    text: str, body: int, tokens: Sequence[int], *, limit: int = CHUNK_TOKENS, outline: bool = False
) -> list[Chunk]:
    """The chunks of a note in order, at least one. Together they hold all text outside headings.

    `tokens` are the character offsets at which tokens begin. A chunk never crosses a heading. A
    heading without text gets no chunk when a deeper heading follows, because the path of the deeper
    heading includes it. In an `outline`, a list item stays whole if it fits into a chunk with all
    its nested items.
    """
    fences = code_blocks(text, outline=outline)
    lines = Lines(text)
    parts = sections(text, body, fences)
    list_items = [
        span
        for section in parts
        if outline
        for span in fitting_items(text, section, fences, lambda span: size(span, tokens) <= limit)
    ]
    solid = blocks(text, fences, list_items)
    result: list[Chunk] = []
    for number, section in enumerate(parts):
        following = parts[number + 1].path if number + 1 < len(parts) else ()
        pieces = _pieces(text, section, tokens, solid, limit)
        if not pieces and section.path and following[: len(section.path)] != section.path:
            pieces = [(section.start, section.start)]
        for start, end in pieces:
            opens = section.opens if start == pieces[0][0] else start
            first, last = lines.of(opens), lines.of(max(opens, end - 1))
            result.append(Chunk(section.path, start, end, first, last))
    return result or [Chunk((), body, body, 1, 1)]


def windows(start: int, end: int, tokens: Sequence[int], limit: int) -> list[Span]:
    """Spans of at most `limit` tokens that cover start..end. Neighbours share OVERLAP_TOKENS.

    Returns at least one span, which is empty when the chunk is empty.
    """
    first, stop = bisect_left(tokens, start), bisect_left(tokens, end)
    count = stop - first
    if count <= limit:
        return [(start, end)]
    overlap = min(OVERLAP_TOKENS, limit // 4)
    # Even lengths: the vector of a last window of three tokens would be noise.
    number = -(-(count - overlap) // (limit - overlap))
    step = -(-(count - overlap) // number)
    spans = []
    for at in range(number):
        low = first + at * step
        high = min(low + step + overlap, stop)
        spans.append((tokens[low] if at else start, tokens[high] if high < stop else end))
    return spans


def _pieces(
    text: str, section: Section, tokens: Sequence[int], solid: Sequence[Span], limit: int
) -> list[Span]:
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
    while start < end and text[start] == "\n":
        start += 1
    return start


def _cut(
    text: str, start: int, end: int, tokens: Sequence[int], solid: Sequence[Span], limit: int
) -> int:
    """The end of the chunk that begins at `start`: the best break within the limit."""
    first, stop = bisect_left(tokens, start), bisect_left(tokens, end)
    count = stop - first
    if count <= limit:
        return end
    even = -(-count // -(-count // limit))
    latest = tokens[first + min(limit, even + even // 5)]
    earliest = tokens[first + min(limit, even) // 3]
    block = span_across(solid, latest)
    if block:
        if size((start, block[1]), tokens) <= limit:
            return block[1]
        if block[0] > start and size(block, tokens) <= limit:
            return block[0]
        if block[0] > earliest:
            latest = block[0]
    for pattern in _BREAKS:
        breaks = [match.end() for match in pattern.finditer(text, earliest, latest)]
        for place in reversed(breaks):
            block = span_across(solid, place)
            if not block or size(block, tokens) > limit:
                return place
    return latest
