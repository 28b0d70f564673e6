"""Cuts the text of a document into chunks, by the strategy that its user chose."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.chunking.blocks import Span, blocks, size
from djinn_memory.chunking.breaks import Break, Breaks, leads
from djinn_memory.chunking.edges import skip, trim
from djinn_memory.chunking.lines import Lines
from djinn_memory.chunking.sections import sections
from djinn_memory.errors import UsageError
from djinn_memory.models import Chunk, Part, Strategy
from djinn_memory.notes.markdown.markup import code_blocks
from djinn_memory.notes.pages import MarkedPage

_SHARE = 20
"""An adaptive chunk is one 20th of the context window, so that twenty fit a prompt."""
_LEAST, _MOST = 256, 4096

_SIZES: dict[Strategy, int] = {"semantic": 512, "fixed": 1000, "words": 1000}
"""In characters for `words`, else in tokens; the other strategies take the adaptive size."""
_OVERLAPPING: tuple[Strategy, ...] = ("adaptive", "recursive")
_TOKENS, _CHARACTERS = (64, 4096), (100, 5000)

_SPREAD: tuple[Break, ...] = ("heading", "paragraph", "line", "sentence", "word")
_BREAKS: dict[Strategy, tuple[Break, ...]] = {
    "adaptive": _SPREAD,
    "page_based": _SPREAD,
    "semantic": ("paragraph", "sentence", "line", "word"),
    "recursive": ("heading", "paragraph", "sentence", "line", "word"),
    "fixed": ("word",),
}
"""Where a chunk may end, best first."""
_FILLING: tuple[Strategy, ...] = ("adaptive", "page_based")
"""Strategies that look for a good break only near the end of what fits."""


class Plan(Struct, frozen=True):
    """How a document is cut: `size` and `overlap` in tokens, for `words` in characters."""

    strategy: Strategy
    size: int
    overlap: int


def plan(
    strategy: Strategy, *, window: int, size: int | None = None, overlap: int | None = None
) -> Plan:
    """A strategy's own size and overlap for a model that reads `window` tokens, unless given.

    Raises UsageError for what is out of range.
    """
    low, high = _CHARACTERS if strategy == "words" else _TOKENS
    unit = "characters" if strategy == "words" else "tokens"
    if size is None:
        size = _SIZES.get(strategy, min(max(window // _SHARE, _LEAST), _MOST))
    if not low <= size <= high:
        raise UsageError(f"--chunk-size {size}: {low:,} to {high:,} {unit} for {strategy}")
    if overlap is None:
        overlap = size // 10 if strategy in _OVERLAPPING else 0
    if not 0 <= overlap <= size // 2:
        raise UsageError(
            f"--chunk-overlap {overlap}: 0 to {size // 2:,} {unit} for {strategy}"
            f" with chunks of {size:,}"
        )
    return Plan(strategy, size, overlap)


def cut(
    text: str, body: int, tokens: Sequence[int], pages: Sequence[MarkedPage], plan: Plan
) -> list[Chunk]:
    """The chunks of a document in order, at least one; together they hold all text behind `body`.

    `text` is what `hide` leaves of the note's, `pages` are the note's, and `tokens` the character
    offsets at which tokens begin. Neighbours share at most the overlap. A word is cut only where
    it is larger than a chunk by itself.
    """
    fences = code_blocks(text)
    found = sections(text, body, fences)
    if plan.strategy == "words":
        spans = _words(text, body, tokens, plan)
    else:
        breaks = Breaks(text, tokens, plan.size)
        if plan.strategy != "fixed":
            breaks = replace(breaks, blocks=blocks(text, fences), leads=leads(text, found))
        parts = [(body, len(text))]
        if plan.strategy == "page_based" and pages:
            parts = [(body, pages[0].start), *((page.start, page.end) for page in pages)]
        spans = (span for part in parts for span in _spans(breaks, *part, plan))
    lines = Lines(text)
    opens = [section.opens for section in found]
    starts = [page.start for page in pages]

    def part(place: int, chunk: int) -> Part:
        on = bisect_right(starts, place) - 1
        path = found[bisect_right(opens, place) - 1].path
        return Part(place - chunk, pages[on].number if on >= 0 else None, path)

    result = []
    for start, end in spans:
        first = part(start, start)
        inner = {
            place
            for places in (starts, opens)
            for place in places[bisect_right(places, start) : bisect_left(places, end)]
        }
        result.append(
            Chunk(
                first.headings,
                start,
                end,
                lines.of(start),
                lines.of(end - 1),
                first.page,
                tuple(part(place, start) for place in sorted(inner)),
            )
        )
    return result or [Chunk((), body, body, 1, 1)]


def _spans(breaks: Breaks, low: int, high: int, plan: Plan) -> Iterator[Span]:
    """The chunks of low..high, which begin and end with text."""
    text = breaks.text
    loose = replace(breaks, leads=())
    start = done = skip(text, low, high)
    while done < high:
        # What is next may fit only without what would be said twice, or without its heading.
        for trial, begin in ((breaks, start), (breaks, done), (loose, done)):
            stop = _stop(trial, begin, done, high, plan.strategy)
            if stop is not None:
                start = begin
                break
        else:
            # A single word, larger than a chunk.
            start = done
            stop = breaks.tokens[bisect_left(breaks.tokens, done) + plan.size]
        end = trim(text, done, stop)
        yield start, end
        done = skip(text, stop, high)
        if done < high:
            start = _again(breaks, start, done, plan.overlap)


def _again(breaks: Breaks, before: int, done: int, overlap: int) -> int:
    """Where the chunk begins whose new text begins at `done`, behind the start of the one before.

    Nothing from above a heading is said again below it: it would give the chunk another's path.
    """
    at = bisect_left(breaks.tokens, done)
    if not overlap or not at:
        return done
    above = bisect_right(breaks.leads, (done, len(breaks.text))) - 1
    heading = breaks.leads[above][0] if above >= 0 else 0
    low = max(breaks.tokens[max(0, at - overlap)], before + 1, heading)
    return breaks.opening(low, done)


def _stop(breaks: Breaks, start: int, done: int, high: int, strategy: Strategy) -> int | None:
    """Where the chunk from `start` ends, behind `done`: at the best break that parts nothing.

    None where there is no such break.
    """
    tokens, limit = breaks.tokens, breaks.limit
    first = bisect_left(tokens, start)
    count = bisect_left(tokens, high) - first
    if count <= limit:
        return high
    filling = strategy in _FILLING
    if filling and count < 2 * limit:
        # The last two are about even: a last chunk of three tokens would answer nothing.
        half = -(-count // 2)
        limit = min(limit, half + half // 5)
    latest = tokens[first + limit]
    span = breaks.held(latest)
    if span and size((start, span[1]), tokens) <= breaks.limit:
        # Only for evenness would it be parted.
        latest = tokens[first + breaks.limit]
        span = breaks.held(latest)
    while span and span[0] > done:
        latest = span[0]
        span = breaks.held(latest)
    lows = [done]
    if filling:
        middle = (bisect_left(tokens, done) + bisect_left(tokens, latest)) // 2
        lows = [tokens[middle], done]
    for low in lows:
        for kind in _BREAKS[strategy]:
            place = breaks.last(kind, low, latest)
            if place is not None:
                return place
    return None


def _words(text: str, body: int, tokens: Sequence[int], plan: Plan) -> Iterator[Span]:
    """Words gathered until they reach the size, each counted with one space behind it."""
    gathered: list[Span] = []
    count = done = 0
    for start, end in _whole_words(text, body, tokens, plan.size):
        gathered.append((start, end))
        count += end - start + 1
        if count >= plan.size:
            yield gathered[0][0], end
            done = end
            gathered = [word for word in gathered[1:] if end - word[0] <= plan.overlap]
            count = sum(stop - begin + 1 for begin, stop in gathered)
    if gathered and gathered[-1][1] > done:
        yield gathered[0][0], gathered[-1][1]


def _whole_words(text: str, body: int, tokens: Sequence[int], most: int) -> Iterator[Span]:
    """What stands between white space; longer than `most`, in pieces that are not."""
    breaks = Breaks(text, tokens, most)
    for match in re.compile(r"\S+").finditer(text, body):
        at, end = match.span()
        while end - at > most:
            stop = breaks.last("word", at, at + most)
            if stop is None:
                token = bisect_right(tokens, at + most) - 1
                stop = tokens[token] if token >= 0 and tokens[token] > at else at + most
            yield at, stop
            at = stop
        yield at, end
