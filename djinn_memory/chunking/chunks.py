"""Cuts a note into chunks at its headings, and chunks into windows with the text to embed."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import date
from functools import lru_cache
from operator import itemgetter

from djinn_memory.chunking.tokens import most_tokens, token_starts
from djinn_memory.models import Chunk, Section, plane_of
from djinn_memory.notes.dates import local_day
from djinn_memory.notes.markdown import code_blocks, headings, inline, plain
from djinn_memory.system.expressions import expression


class Lines:
    """Counts lines from the last position asked for, so that nearby positions cost little.

    A list of all line ends would take more memory than the text.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1

    def of(self, place: int) -> int:
        """The line of a position, from 1."""
        if place >= self._at:
            self._line += self._text.count("\n", self._at, place)
        else:
            self._line -= self._text.count("\n", place, self._at)
        self._at = place
        return self._line


Span = tuple[int, int]

_SPACE = expression(r"\s*")
_VISIBLE = expression(r"(?s).*\S")
_TABLE = expression(r"(?:\n[ \t]*+\|[^\n]*+)++")


def size(span: Span, tokens: Sequence[int]) -> int:
    """The number of tokens that begin in a span."""
    return bisect_left(tokens, span[1]) - bisect_left(tokens, span[0])


def _span_at(spans: Sequence[Span], place: int) -> Span | None:
    """The span that holds the character at `place`; `spans` are in order and do not overlap."""
    at = bisect_right(spans, place, key=itemgetter(0)) - 1
    return spans[at] if at >= 0 and place < spans[at][1] else None


def span_across(spans: Sequence[Span], place: int) -> Span | None:
    """The span that a cut at `place` would split; `spans` are in order and do not overlap."""
    span = _span_at(spans, place)
    return span if span and span[0] < place else None


def skip(text: str, start: int, end: int) -> int:
    """The first position from `start` on that is not white space, or `end` if there is none."""
    space = _SPACE.match(text, start, end)
    return space.end() if space else start


def trim(text: str, start: int, end: int) -> int:
    """The end of a span's text, without trailing white space."""
    visible = _VISIBLE.match(text, start, end)
    return visible.end() if visible else start


def blocks(text: str, fences: Sequence[Span], list_items: Sequence[Span] = ()) -> list[Span]:
    """Code fences, tables and list items in order. Each stays whole if it fits into a chunk."""
    # With the newline in front, the first line matches as every other does.
    tables = [(match.start(), match.end() - 1) for match in _TABLE.finditer("\n" + text)]
    result: list[Span] = []
    for start, end in sorted([*fences, *tables, *list_items]):
        if not result or start >= result[-1][1]:
            result.append((start, end))
    return result


_ITEM = expression(r"(?m)^([ \t]*+)[-*+](?:[ \t]|$)")
_TAB = 4


def _fitting_items(
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
        if _span_at(fences, start):
            continue
        while nest and nest[-1][0] >= indent:
            ends[nest.pop()[1]] = start
        nest.append((indent, len(starts)))
        starts.append(start)
        ends.append(section.end)
    return list(zip(starts, ends, strict=True))


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
        if _span_at(fences, heading.opens):
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


VERSION = 6
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
    expression(r"\n[ \t]*\n+"),
    expression(r"\n"),
    expression(r"[.!?…。！？][\"')\]]*\s|[。！？]"),
    expression(r"\s"),
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

    def fits(span: Span) -> bool:
        return size(span, tokens) <= limit

    listed = parts if outline else ()
    list_items = [span for part in listed for span in _fitting_items(text, part, fences, fits)]
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
    start = _past_newlines(text, section.start, section.end)
    end = trim(text, section.start, section.end)
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


PREFIX_TOKENS = 60
"""Maximum size of a prefix: a title may be a paragraph, but the text needs two thirds."""

LEAST_ROOM = WINDOW_TOKENS - PREFIX_TOKENS
"""Number of tokens of text that fit into a window whatever its prefix."""

_DAY_IN_WORDS = expression(r" \(\w+day \d{1,2} \w+ \d{4}\)\Z")


@lru_cache(maxsize=4096)
def prefix(title: str, headings: tuple[str, ...], day: str | None, kind: str | None = None) -> str:
    """The title, headings and day put before a window's text to give its context.

    The day of a time is that in the time zone of this machine.
    The day of an episode is in words. In a made year, hybrid then finds .391 of the sessions that
    questions with dates ask for, and .270 with `2026-05-12`. Other types keep the short form, with
    which the thresholds of similarity were measured.
    """
    trail = [title, *(heading for heading in headings if heading != title)]
    line = " > ".join(trail) + (f" ({_shown(local_day(day), kind)})" if day else "")
    if most_tokens(line) <= PREFIX_TOKENS:
        return line
    starts = _starts(line)
    return line[: starts[PREFIX_TOKENS]] if len(starts) > PREFIX_TOKENS else line


def path_at(
    headings: Sequence[str], parts: Sequence[tuple[int, int | None, Sequence[str]]], offset: int
) -> tuple[str, ...]:
    """The headings above an offset in a chunk's text.

    `headings` are those at the chunk's start; `parts` are the positions of later headings, as
    `models.Part`.
    """
    at = bisect_right(parts, offset, key=itemgetter(0)) - 1
    return tuple(parts[at][2] if at >= 0 else headings)


@lru_cache(maxsize=4096)
def room(line: str) -> int:
    """The number of tokens of text that fit into a window with a prefix."""
    return WINDOW_TOKENS - len(_starts(line))


@lru_cache(maxsize=256)
def _starts(line: str) -> Sequence[int]:
    return token_starts(line)


def window_text(line: str, text: str) -> str:
    """The text that is embedded. It has no prefix when the text begins with the same words.

    An episode begins with its title. Of its prefix, the day remains.
    """
    words = plain(text).strip()
    match = _DAY_IN_WORDS.search(line)
    if match and words.startswith(line[: match.start()][:40]):
        return f"{match[0].strip()}\n{words}"
    return words if words.startswith(line[:40]) else f"{line}\n{words}".strip()


def _shown(day: str, kind: str | None) -> str:
    if plane_of(kind) == "episodic":
        with suppress(ValueError):
            when = date.fromisoformat(day)
            return f"{when:%A} {when.day} {when:%B %Y}"
    return day
