"""Builds the text that is embedded for a window: its title, headings and date, and its words."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from operator import itemgetter

from djinn_memory.chunking.chunks import WINDOW_TOKENS
from djinn_memory.chunking.tokens import token_starts
from djinn_memory.notes.markdown.plain_text import plain

PREFIX_TOKENS = 60
"""Maximum size of a prefix: a title may be a paragraph, but the text needs two thirds."""


@lru_cache(maxsize=4096)
def prefix(title: str, headings: tuple[str, ...], date: str | None) -> str:
    """The title, headings and day put before a window's text to give its context."""
    trail = [title, *(heading for heading in headings if heading != title)]
    line = " > ".join(trail) + (f" ({date[:10]})" if date else "")
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
    """The text that is embedded. It has no prefix when the text begins with the same words."""
    words = plain(text).strip()
    return words if words.startswith(line[:40]) else f"{line}\n{words}".strip()
