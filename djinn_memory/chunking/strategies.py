"""Cuts the text of a document into chunks, by the strategy that the user chose."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Literal, cast, get_args

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.chunking.chunks import (
    Lines,
    Span,
    blocks,
    sections,
    size,
    skip,
    span_across,
    trim,
)
from djinn_memory.chunking.tokens import token_starts
from djinn_memory.errors import UsageError
from djinn_memory.languages.scripts import UNSPACED
from djinn_memory.models import Chunk, Part, Section, Strategy
from djinn_memory.notes.markdown import code_blocks
from djinn_memory.notes.pages import MarkedPage, hide, pages

Break = Literal["heading", "paragraph", "line", "sentence", "word"]

_HANGUL = "\u1100-\u11ff\uac00-\ud7af"
_ENDS = "。！？、，；：．」』）】》〉"
_TRAILS = f"{_ENDS}…”’"
"""Characters that must not follow a break."""
_CLINGS = (
    "\u0e31\u0e33-\u0e3a\u0e45\u0e47-\u0e4e"  # Thai
    "\u0eb1\u0eb3-\u0ebc\u0ec8-\u0ece"  # Lao
    "\u102b-\u103e\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d"
    "\u17b4-\u17d3\u17dd"  # Khmer
    "\u3099\u309a"  # kana
)
"""Signs that belong to the previous letter. No break may come before them."""
_LEANS = "\u0e40-\u0e44\u0ec0-\u0ec4\u1039\u17d2"
"""Vowels written before their letter, and signs that stack the next letter. No break may follow."""

_WORD = rf"""(?:
    (?<=\s) | (?=\s)
  | (?<=[{UNSPACED}])(?<![{_HANGUL}{_LEANS}]) (?=[{UNSPACED}])(?![{_HANGUL}{_CLINGS}])
  | (?<=[{_ENDS}])(?![{_TRAILS}])
)"""
_PATTERNS = {
    "paragraph": r"\n[ \t\r]*\n",
    "line": r"\n",
    # At most 3 quotes in a row: a longer run would be tried again from each of its characters.
    "sentence": rf"(?: [.!?…][\"'”’)\]]{{0,3}}\s | [。！？][{_ENDS}]{{0,3}}(?![{_TRAILS}]) )",
    "word": _WORD,
}
_LAST = {kind: re.compile(rf"(?sx) .* {pattern} (?=.)") for kind, pattern in _PATTERNS.items()}
"""The last break of each kind. Matching backwards reads no more text than necessary."""
_OPENINGS = [
    re.compile(rf"(?x) (?: {pattern} ) \s*")
    for pattern in (
        f"{_PATTERNS['paragraph']} | {_PATTERNS['sentence']}",
        _PATTERNS["line"],
        _PATTERNS["word"],
    )
]
"""Where the text that a chunk repeats from the previous chunk may begin, best first."""


def _leads(text: str, sections: Sequence[Section]) -> list[Span]:
    """Runs of headings, each with the first character of the text below. No cut may split them."""
    result: list[Span] = []
    opens: int | None = None
    for section in sections:
        if opens is None and section.opens < section.start:
            opens = section.opens
        first = skip(text, section.start, section.end)
        if first < section.end and opens is not None:
            result.append((opens, first + 1))
            opens = None
    return result if opens is None else [*result, (opens, len(text))]


class _Breaks(Struct, frozen=True):
    """Finds positions where a text may be cut into chunks of at most `limit` tokens."""

    text: str
    tokens: Sequence[int]
    limit: int
    blocks: Sequence[Span] = ()
    leads: Sequence[Span] = ()

    def parted(self, place: int) -> Span | None:
        """The block or lead that a cut at `place` would split although it fits into a chunk."""
        for spans in (self.blocks, self.leads):
            span = span_across(spans, place)
            if span and size(span, self.tokens) <= self.limit:
                return span
        return None

    def last(self, kind: Break, low: int, high: int) -> int | None:
        """The last break after `low` and up to `high` that splits no block or lead that fits."""
        if kind == "heading":
            at = bisect_left(self.leads, (high + 1, 0)) - 1
            return self.leads[at][0] if at >= 0 and self.leads[at][0] > low else None
        while high > low:
            # With one more character, the pattern sees the text after the break.
            match = _LAST[kind].match(self.text, low, high + 1)
            if not match or match.end() <= low:
                return None
            span = self.parted(match.end())
            if not span:
                return match.end()
            high = span[0]
        return None

    def opening(self, low: int, high: int) -> int:
        """The start, at `low` or later, of the text that the chunk at `high` repeats.

        Prefers the start of a sentence, then of a line, then of a word. Returns `high` if there is
        none.
        """
        for pattern in _OPENINGS:
            # The stop that ends a sentence may be just before `low`.
            for match in pattern.finditer(self.text, max(low - 2, 0), high):
                if low <= match.end() < high and not self.parted(match.end()):
                    return match.end()
        return high


_SHARE = 20
"""An adaptive chunk is one 20th of the context window, so that twenty fit into a prompt."""
_LEAST, _MOST = 256, 4096

_SIZES: dict[Strategy, int] = {"semantic": 512, "fixed": 1000, "words": 1000}
"""Default size, in characters for `words`, else in tokens. Other strategies use the adaptive
one."""
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
"""Strategies that fill a chunk. They look for a good break only near the size limit."""


class Plan(Struct, frozen=True):
    """How to cut a document: `size` and `overlap` in tokens, or in characters for `words`."""

    strategy: Strategy
    size: int
    overlap: int


def plan(
    strategy: Strategy, *, window: int, size: int | None = None, overlap: int | None = None
) -> Plan:
    """The plan of a strategy, with the strategy's default size and overlap unless they are given.

    `window` is the context window of the model in tokens. Raises UsageError for a number out of
    range.
    """
    low, high = _CHARACTERS if strategy == "words" else _TOKENS
    unit = "characters" if strategy == "words" else "tokens"
    if size is None:
        size = _SIZES.get(strategy, min(max(window // _SHARE, _LEAST), _MOST))
    if not low <= size <= high:
        why = f"{size}: give {low:,} to {high:,} {unit} for {strategy}"
        raise UsageError(why, argument="chunk_size")
    if overlap is None:
        overlap = size // 10 if strategy in _OVERLAPPING else 0
    if not 0 <= overlap <= size // 2:
        raise UsageError(
            f"{overlap}: give 0 to {size // 2:,} {unit} for {strategy} with chunks of {size:,}",
            argument="chunk_overlap",
        )
    return Plan(strategy, size, overlap)


def cut(
    text: str, body: int, tokens: Sequence[int], pages: Sequence[MarkedPage], plan: Plan
) -> list[Chunk]:
    """The chunks of a document in order, at least one. Together they hold all text after `body`.

    `text` is the note's text after `hide`, `pages` are the note's pages, and `tokens` are the
    character offsets at which tokens begin. Neighbours share at most the overlap. Only a word
    larger than a chunk is cut.
    """
    fences = code_blocks(text)
    parts = sections(text, body, fences)
    if plan.strategy == "words":
        spans = _words(text, body, tokens, plan)
    else:
        breaks = _Breaks(text, tokens, plan.size)
        if plan.strategy != "fixed":
            breaks = replace(breaks, blocks=blocks(text, fences), leads=_leads(text, parts))
        areas = [(body, len(text))]
        if plan.strategy == "page_based" and pages:
            areas = [(body, pages[0].start), *((page.start, page.end) for page in pages)]
        spans = (span for area in areas for span in _spans(breaks, *area, plan))
    result = list(_chunks(text, spans, parts, pages))
    return result or [Chunk((), body, body, 1, 1)]


def _chunks(
    text: str, spans: Iterable[Span], parts: Sequence[Section], pages: Sequence[MarkedPage]
) -> Iterator[Chunk]:
    """The spans with their lines, headings and pages."""
    lines = Lines(text)
    opens = [section.opens for section in parts]
    starts = [page.start for page in pages]

    def part(place: int, chunk: int) -> Part:
        page = bisect_right(starts, place) - 1
        path = parts[bisect_right(opens, place) - 1].path
        return Part(place - chunk, pages[page].number if page >= 0 else None, path)

    for start, end in spans:
        first = part(start, start)
        inner = {
            place
            for places in (starts, opens)
            for place in places[bisect_right(places, start) : bisect_left(places, end)]
        }
        top, bottom = lines.of(start), lines.of(end - 1)
        later = tuple(part(place, start) for place in sorted(inner))
        yield Chunk(first.headings, start, end, top, bottom, first.page, later)


def _spans(breaks: _Breaks, low: int, high: int, plan: Plan) -> Iterator[Span]:
    """The spans of the chunks of low..high; each begins and ends with text."""
    text = breaks.text
    loose = replace(breaks, leads=())
    start = done = skip(text, low, high)
    while done < high:
        # The next block may fit only without the overlap, or without its heading.
        for trial, begin in ((breaks, start), (breaks, done), (loose, done)):
            stop = _stop(trial, begin, done, high, plan.strategy)
            if stop is not None:
                start = begin
                break
        else:
            # A single word that is larger than a chunk.
            start = done
            stop = breaks.tokens[bisect_left(breaks.tokens, done) + plan.size]
        end = trim(text, done, stop)
        yield start, end
        done = skip(text, stop, high)
        if done < high:
            start = _repeat_from(breaks, start, done, plan.overlap)


def _repeat_from(breaks: _Breaks, before: int, done: int, overlap: int) -> int:
    """The start of the chunk whose new text begins at `done`, after the previous chunk's start.

    Text above a heading is not repeated below the heading, because the chunk would get the heading
    path of that text.
    """
    at = bisect_left(breaks.tokens, done)
    if not overlap or not at:
        return done
    above = bisect_right(breaks.leads, (done, len(breaks.text))) - 1
    heading = breaks.leads[above][0] if above >= 0 else 0
    low = max(breaks.tokens[max(0, at - overlap)], before + 1, heading)
    return breaks.opening(low, done)


def _stop(breaks: _Breaks, start: int, done: int, high: int, strategy: Strategy) -> int | None:
    """The end of the chunk from `start`, after `done`: the best break that splits no block or lead.

    None when there is no such break.
    """
    tokens, limit = breaks.tokens, breaks.limit
    first = bisect_left(tokens, start)
    count = bisect_left(tokens, high) - first
    if count <= limit:
        return high
    filling = strategy in _FILLING
    if filling and count < 2 * limit:
        # The last two chunks are about even: a last chunk of three tokens would answer nothing.
        half = -(-count // 2)
        limit = min(limit, half + half // 5)
    latest = tokens[first + limit]
    span = breaks.parted(latest)
    if span and size((start, span[1]), tokens) <= breaks.limit:
        # The block would be parted only to make the chunks even.
        latest = tokens[first + breaks.limit]
        span = breaks.parted(latest)
    while span and span[0] > done:
        latest = span[0]
        span = breaks.parted(latest)
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
    """Runs of words that reach the size. Each word counts with one following space."""
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
    """The words between white space. A word longer than `most` is split."""
    breaks = _Breaks(text, tokens, most)
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


CONTEXTS = {
    "claude-3-5-sonnet": 200_000,
    "claude-3-opus": 200_000,
    "gpt-4-turbo": 128_000,
    "llama-3.1-70b": 128_000,
    "gpt-4": 8192,
    "default": 8192,
}
"""Context windows of models in tokens; the setting `documents.model_contexts` adds to them."""

_MAX_DIGITS = 9
"""Numbers of more digits are ignored."""


def context_window(name: str, more: Mapping[str, int]) -> int:
    """The context window of the model `name` in tokens. `name` may be a number of tokens instead.

    `UsageError` lists the known models.
    """
    known = {**CONTEXTS, **more}
    if name in known:
        return known[name]
    if name.isdecimal() and len(name) <= _MAX_DIGITS and int(name):
        return int(name)
    raise UsageError(
        f"no context window is known for {name!r}; known: {', '.join(known)}. "
        "Give its tokens as a number, or add it to documents.model_contexts"
    )


def written_plan(fields: Iterable[tuple[str, str]]) -> Plan | None:
    """The plan in a note's front matter, or None when it has none.

    An unknown strategy becomes the default strategy, so that pages can still be cited. A size out
    of range becomes the strategy's default size.
    """
    values = dict(fields)
    name = values.get("chunk_strategy")
    if name is None:
        return None
    strategy: Strategy = cast(Strategy, name) if name in get_args(Strategy) else "adaptive"
    size, overlap = (_number(values.get(key)) for key in ("chunk_size", "chunk_overlap"))
    for sizes in ((size, overlap), (size, None)):
        with suppress(UsageError):
            return plan(strategy, window=CONTEXTS["default"], size=sizes[0], overlap=sizes[1])
    return plan(strategy, window=CONTEXTS["default"])


def count(text: str, plan: Plan) -> int:
    """The number of chunks that a document's text, without front matter, is cut into."""
    visible = hide(text)
    return len(cut(visible, 0, token_starts(visible), pages(text, 0), plan))


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and len(text) <= _MAX_DIGITS else None
