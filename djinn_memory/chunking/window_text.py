"""What of a window goes to the model: where it stands, when, and its words."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from operator import itemgetter

from djinn_memory.chunking.chunks import WINDOW_TOKENS
from djinn_memory.chunking.tokens import token_starts
from djinn_memory.notes.markdown.plain_text import plain

PREFIX_TOKENS = 60
"""A title may be a paragraph; the text itself keeps two thirds of the window at least."""


@lru_cache(maxsize=4096)
def prefix(title: str, headings: tuple[str, ...], date: str | None) -> str:
    """Title, headings and day above a window's text: they say what the text takes for granted."""
    trail = [title, *(heading for heading in headings if heading != title)]
    line = " > ".join(trail) + (f" ({date[:10]})" if date else "")
    starts = token_starts(line)
    return line[: starts[PREFIX_TOKENS]] if len(starts) > PREFIX_TOKENS else line


def path_at(
    headings: Sequence[str], parts: Sequence[tuple[int, int | None, Sequence[str]]], offset: int
) -> tuple[str, ...]:
    """The headings above an offset in a chunk's text.

    `headings` are those at its beginning, `parts` as `models.Part` where others begin.
    """
    at = bisect_right(parts, offset, key=itemgetter(0)) - 1
    return tuple(parts[at][2] if at >= 0 else headings)


@lru_cache(maxsize=4096)
def room(line: str) -> int:
    """How many tokens of text fit under a prefix."""
    return WINDOW_TOKENS - len(token_starts(line))


def window_text(line: str, text: str) -> str:
    """The text that is embedded: the prefix is left out where the text begins with the same."""
    words = plain(text).strip()
    return words if words.startswith(line[:40]) else f"{line}\n{words}".strip()
