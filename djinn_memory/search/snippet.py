"""Builds the few lines of a chunk that show why it matched, and tells content from filler.

Filler is text that consists only of links and references.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from djinn_memory.languages.word_lists import stop_words
from djinn_memory.notes.markdown import plain

_DEFINED = re.compile(r" {0,3}\[\^([^\[\]\n]+)\]:")
_CITED = re.compile(r"\[\^([^\[\]\n]+)\](?!:)")
_BLOCK = re.compile(r" {0,3}(?:#{1,6}[ \t]|[-*+>][ \t]|\d+[.)][ \t]|!?\[\[|```|~~~)")
"""The start of a block. It is not a continuation of a footnote."""

_HEADING = re.compile(r" {0,3}#{1,6}[ \t]")
_BULLET = re.compile(r"[\s>]*(?:(?:[-*+]|\d+[.)])\s+)?(?:\[[ xX]\](?:\s+|$))?")
_BLANKS = re.compile(
    r"\{\{[^{}\n]*\}\}|<%[^\n]*?%>"
    r"|^[ \t]*\|[^\n]*\n[ \t]*\|[ \t]*:?-[\s:|-]*(?![\s:|-]|[^\n]*\|)",
    re.MULTILINE,
)
"""Placeholders of templates, and tables of which only the head is filled."""

_CITATION = re.compile(
    r"(?:\[\d+\]\s*)?[^\W\d_][\w'’-]+,?\s(?:[^\W\d_]\.[\s-]?)+(?=[,(&\d]|and\b|et\b)"
    r".*\b(?:1[5-9]|20)\d\d\b"
)
"""The beginning of a reference in most styles: surname, initials, punctuation and a year."""

_LINK = re.compile(
    r"!?\[\[[^\[\]\n]*\]\]"
    r"|!?\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*+\](?:\((?:[^\s()]|\([^\s()]*\))*+(?:\s+\"[^\"\n]*\")?\)"
    r"|\[[^\[\]\n]*\]|:\s+\S+.*)"
    r"|\[\^[^\[\]\n]+\]|<[a-zA-Z/!][^<>\n]*>|(?:https?://|www\.)\S+"
    r"|(?<!\S)#[^\W\d][\w/-]*|\s\^[\w-]+\s*$"
)
"""Links, embeds, addresses, references to footnotes, HTML, tags and block ids."""

_LABEL = re.compile(r"[^:\n]{1,40}::?(?:\s|$)")
"""Words that label a link, such as `Source:`."""

_LETTERS = re.compile(r"[^\W_]+")


def is_filler(text: str) -> bool:
    """Whether a text is empty, or consists only of links, footnotes, references, headings and
    blanks to fill in.
    """
    footnote = blank = False
    for line in _BLANKS.sub("", text).splitlines():
        if not line.strip():
            blank = True
            continue
        if _DEFINED.match(line):
            footnote = True
        elif footnote and _continues(line, after_blank=blank):
            pass
        elif _says_something(line):
            return False
        else:
            footnote = False
        blank = False
    return True


def footnotes(text: str) -> set[str]:
    """The labels of the footnotes that a text defines."""
    return {match[1] for line in text.splitlines() if (match := _DEFINED.match(line))}


def cited(text: str) -> set[str]:
    """The labels of the footnotes that a text refers to."""
    return set(_CITED.findall(text))


def _continues(line: str, *, after_blank: bool) -> bool:
    """Whether a line continues the footnote above it."""
    return line[0] in " \t" or not (after_blank or _BLOCK.match(line))


def _says_something(line: str) -> bool:
    line = line[_BULLET.match(line).end() :]  # type: ignore[union-attr]
    if not _LETTERS.search(line) or _HEADING.match(line) or _CITATION.match(line):
        return False
    rest = _LINK.sub(" ", line)
    if rest == line and not line.rstrip().endswith(":"):
        return True
    if label := _LABEL.match(rest.lstrip(" *_")):
        rest = rest.lstrip(" *_")[label.end() :]
    return not stop_words().issuperset(_LETTERS.findall(rest.lower()))


LENGTH = 240
"""Characters of a snippet: three lines in a terminal."""

WINDOW_WORTH = 0.45
"""The weight of the nearest window. A query word has the weight 1 if only one page contains it, and
0.5 if two pages do."""

MAX_MARK = 200
"""Maximum characters by which an excerpt is extended to show a whole link or word."""

_MARK = re.compile(
    r"!?\[\[[^\[\]\n]*\]\]|\[\^[^\[\]\n]+\]:?"
    r"|!?\[(?:[^\[\]\n]|\[\[?[^\[\]\n]*\]\]?)*+\]\((?:[^()\n]|\([^()\n]*\))*+\)"
    r"|<[a-zA-Z/!][^<>\n]*>|`[^`\n]+`|[^\s\[<`]+"
)
"""Elements that are shown whole or not at all: a link, a footnote mark, a tag, code, a word."""

_FOOTNOTE = re.compile(r"\[\^[^\[\]\s]+\]:?")

_WORD = re.compile(
    "[\\w\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u0670\u0e31-\u0e4e\u3099\u309a]+"
)
"""A word, including its separate accents and vowel signs."""


def snippet(
    text: str, window: tuple[int, int], matches: Callable[[str], bool]
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A plain excerpt of `text` around the densest matches in `window`, and the matches' spans.

    `matches` tests whether a word matches the query. An ellipsis replaces text that is left out.
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
    """The index of the page in `parts` that answers best, and the best span in that page.

    The best part contains most words of the query. Each word counts once, and less if other parts
    contain it too. The share of the nearest `window` in a part counts as well, but less than a
    word. The span is in `window` if possible.
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
    """The plain text around `window`, cut at words, with line breaks.

    The result has at most `characters` characters, including ellipses. From a longer window it
    shows the text around the densest matches.
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
    """The offset in `text` of the densest matches in `window`, or its middle without matches."""
    start, end = window
    spans = _matching(text[start:end], matches)
    return start + spans[_densest(spans)][0] if spans else (start + end) // 2


def _matching(text: str, matches: Callable[[str], bool]) -> list[tuple[int, int]]:
    """The spans of matching words in `text`; in a script without spaces, of matching pieces."""
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
    """Extend the window to whole words and links. An empty window stays empty."""
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
    """The start of an excerpt with most matches, a little before the first of them."""
    start = spans[_densest(spans)][0] if spans else 0
    return max(0, min(start - LENGTH // 4, length - LENGTH))


def _densest(spans: list[tuple[int, int]]) -> int:
    """The index of the match that is followed by most others within a snippet's length."""
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
    """Shorten the span to whole words, where they end within `reach`."""
    if start > 0 and not text[start - 1].isspace():
        space = next((at for at in range(start, start + reach) if text[at].isspace()), None)
        start = start if space is None else space + 1
    if end < len(text) and not text[end].isspace():
        low = max(start, end - reach)
        space = next((at for at in range(end - 1, low, -1) if text[at].isspace()), None)
        end = end if space is None else space
    return start, end
