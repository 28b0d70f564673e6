"""The few lines of a chunk that show why it came up."""

from __future__ import annotations

import re
from collections.abc import Callable

from djinn_memory.notes.plain import plain

LENGTH = 240
"""Characters of a snippet: three lines of a terminal."""

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


def _matching(text: str, matches: Callable[[str], bool]) -> list[tuple[int, int]]:
    """Where the words of `text` that match stand; of a script without spaces, the pieces."""
    found: list[tuple[int, int]] = []
    for word in _WORD.finditer(text):
        parts = [] if word[0].isascii() else _pieces(word[0])
        if not parts and matches(word[0]):
            found.append(word.span())
        for low, high in parts:
            if matches(word[0][low:high]):
                start = word.start() + low
                # Pairs that overlap or touch are one mark.
                if found and found[-1][1] >= start:
                    start = found.pop()[0]
                found.append((start, word.start() + high))
    return found


def _pieces(word: str) -> list[tuple[int, int]]:
    # Not at the top: most snippets are plain English.
    from djinn_memory.notes.scripts import pieces

    return sorted(pieces(word))


def _flat(text: str) -> str:
    return " ".join(plain(text).split())


def _best_start(spans: list[tuple[int, int]], length: int) -> int:
    """Where an excerpt begins that holds most matches, a little before the first of them."""
    best, start = 0, 0
    right = 0
    for left, (low, _) in enumerate(spans):
        right = max(right, left)
        while right < len(spans) and spans[right][1] <= low + LENGTH * 3 // 4:
            right += 1
        if right - left > best:
            best, start = right - left, low
    return max(0, min(start - LENGTH // 4, length - LENGTH))


def _at_words(text: str, start: int, end: int) -> tuple[int, int]:
    if start > 0:
        space = text.find(" ", start, start + 30)
        start = space + 1 if space >= 0 else start
    if end < len(text):
        space = text.rfind(" ", max(start, end - 30), end)
        end = space if space > start else end
    return start, end
