"""The few lines of a chunk that show why it came up."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from djinn_memory.notes.markdown.plain_text import plain

LENGTH = 240
"""Characters of a snippet: three lines of a terminal."""

WINDOW_WORTH = 0.45
"""Of a word of the query that no other page has: less than one that two pages have."""

MAX_MARK = 200
"""Characters of a link, or of a word, that an excerpt begins before its window to show whole."""

_MARK = re.compile(
    r"!?\[\[[^\[\]\n]*\]\]|\[\^[^\[\]\n]+\]:?"
    r"|!?\[(?:[^\[\]\n]|\[\[?[^\[\]\n]*\]\]?)*+\]\((?:[^()\n]|\([^()\n]*\))*+\)"
    r"|<[a-zA-Z/!][^<>\n]*>|`[^`\n]+`|[^\s\[<`]+"
)
"""What is shown whole or not at all: a link, a footnote's mark, a tag, code, a word."""

_FOOTNOTE = re.compile(r"\[\^[^\[\]\s]+\]:?")

_WORD = re.compile(
    "[\\w\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u0670\u0e31-\u0e4e\u3099\u309a]+"
)
"""With the accents and vowel signs that stand by themselves."""


def snippet(
    text: str, window: tuple[int, int], matches: Callable[[str], bool]
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A plain excerpt of `text` around the densest matches in `window`, and the matches' spans.

    `matches` tells whether a word answers the query. An ellipsis stands where text was left out.
    """
    window = _at_marks(text, window)
    whole = _flat(text[slice(*window)])
    if not whole:
        whole, before, after = _flat(text), False, False
    else:
        before, after = window[0] > 0, window[1] < len(text)
    spans = _matching(whole, matches)
    start = _best_start(spans, len(whole))
    end = min(len(whole), start + LENGTH)
    start = max(0, min(start, end - LENGTH))
    start, end = _at_words(whole, start, end)
    lead = "… " if start > 0 or before else ""
    tail = " …" if end < len(whole) or after else ""
    shift = len(lead) - start
    marks = tuple(
        (low + shift, high + shift) for low, high in spans if start <= low and high <= end
    )
    return f"{lead}{whole[start:end]}{tail}", marks


def answering(
    text: str,
    window: tuple[int, int],
    parts: Sequence[tuple[int, int]],
    matches: Callable[[str], bool],
) -> tuple[int, tuple[int, int]]:
    """Which of the `parts` of `text`, its pages, answers best, and where: in `window` if it can.

    That is the part with most of the query's words, each counted once and for less the more parts
    have it. To hold the window, which is nearest in meaning, counts too, but less than a word.
    """
    held = [
        [text[start + low : start + high].casefold() for low, high in spans]
        for start, end in parts
        for spans in [_matching(text[start:end], matches)]
    ]
    shared = Counter(word for words in held for word in set(words))

    length = window[1] - window[0]

    def rank(number: int) -> tuple[float, int, int]:
        start, end = parts[number]
        worth = sum(1 / shared[word] for word in sorted(set(held[number])))
        if 0 < length < len(text):
            within = max(0, min(end, window[1]) - max(start, window[0]))
            worth += WINDOW_WORTH * within / length
        return worth, len(held[number]), -number

    best = max(range(len(parts)), key=rank)
    low, high = parts[best]
    start, end = max(low, window[0]), min(high, window[1])
    if start < end and (not held[best] or _matching(text[start:end], matches)):
        return best, (start, end)
    return best, (low, high)


def excerpt(
    text: str, window: tuple[int, int], matches: Callable[[str], bool], characters: int
) -> str:
    """The plain text around `window`, cut at words, its line breaks kept.

    At most `characters` long, the marks that stand where text was left out included. Of a window
    that is longer, what is around its densest matches.
    """
    if not characters:
        return ""
    whole = plain(text)
    if len(whole.strip()) <= characters:
        return whole.strip()
    room = characters - 4
    if room < 1:
        return "…"[:characters]
    low, high = (min(len(plain(text[:offset])), len(whole)) for offset in window)
    if high - low <= room:
        start = (low + high - room) // 2
    else:
        start = min(len(plain(text[: _place(text, window, matches)])), len(whole)) - room // 4
    start = max(0, min(start, len(whole) - room))
    start, end = _whole_words(whole, start, start + room, room // 5)
    lead = "… " if start > 0 else ""
    tail = " …" if end < len(whole) else ""
    return f"{lead}{whole[start:end].strip()}{tail}"


def _place(text: str, window: tuple[int, int], matches: Callable[[str], bool]) -> int:
    """The offset in `text` of the densest matches in `window`; its middle where there are none."""
    start, end = window
    spans = _matching(text[start:end], matches)
    return start + spans[_densest(spans)][0] if spans else (start + end) // 2


def _matching(text: str, matches: Callable[[str], bool]) -> list[tuple[int, int]]:
    """Where the words of `text` that match stand; of a script without spaces, the pieces."""
    spans: list[tuple[int, int]] = []
    for word in _WORD.finditer(text):
        letters = word[0]
        parts = () if letters.isascii() else _pieces(letters)
        if not parts and matches(letters):
            spans.append(word.span())
        for low, high in parts:
            if matches(letters[low:high]):
                start = word.start() + low
                # Pairs that overlap or touch are one mark.
                if spans and spans[-1][1] >= start:
                    start = spans.pop()[0]
                spans.append((start, word.start() + high))
    return spans


def _pieces(word: str) -> list[tuple[int, int]]:
    # Not at the top: most snippets are plain English.
    from djinn_memory.languages.scripts import pieces

    return sorted(pieces(word))


def _flat(text: str) -> str:
    if "[^" in text:
        text = _FOOTNOTE.sub("", text)
    return " ".join(plain(text).split())


def _at_marks(text: str, window: tuple[int, int]) -> tuple[int, int]:
    """The window with the words and links whole that it cuts; an empty one stays empty."""
    start, end = window
    if start >= end:
        return window
    for mark in _MARK.finditer(text, text.rfind("\n", 0, start) + 1, start + MAX_MARK):
        if mark.start() < start < mark.end() and start - mark.start() < MAX_MARK:
            start = mark.start()
    for mark in _MARK.finditer(text, text.rfind("\n", 0, end) + 1, end + MAX_MARK):
        if mark.start() < end < mark.end() and mark.end() - end < MAX_MARK:
            end = mark.end()
    return start, end


def _best_start(spans: list[tuple[int, int]], length: int) -> int:
    """Where an excerpt begins that holds most matches, a little before the first of them."""
    start = spans[_densest(spans)][0] if spans else 0
    return max(0, min(start - LENGTH // 4, length - LENGTH))


def _densest(spans: list[tuple[int, int]]) -> int:
    """The match from which on most others stand within a snippet's length."""
    best = most = right = 0
    for left, (low, _) in enumerate(spans):
        right = max(right, left)
        while right < len(spans) and spans[right][1] <= low + LENGTH * 3 // 4:
            right += 1
        if right - left > most:
            most, best = right - left, left
    return best


def _at_words(text: str, start: int, end: int) -> tuple[int, int]:
    if start > 0:
        space = text.find(" ", start, start + 30)
        if space < 0:
            # A long word is shown from where it begins.
            before = text.rfind(" ", 0, start)
            space = before if start - before < MAX_MARK else start - 1
            end -= start - space - 1
        start = space + 1
    if end < len(text):
        space = text.rfind(" ", max(start, end - 30), end)
        end = space if space > start else end
    return start, end


def _whole_words(text: str, start: int, end: int, reach: int) -> tuple[int, int]:
    """The span without the words that it cuts, where they end within `reach`."""
    if start > 0 and not text[start - 1].isspace():
        space = next((at for at in range(start, start + reach) if text[at].isspace()), None)
        start = start if space is None else space + 1
    if end < len(text) and not text[end].isspace():
        low = max(start, end - reach)
        space = next((at for at in range(end - 1, low, -1) if text[at].isspace()), None)
        end = end if space is None else space
    return start, end
