"""Builds the text that is embedded for a window: its title, headings and date, and its words."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from functools import lru_cache
from operator import itemgetter

from djinn_memory.chunking.chunks import WINDOW_TOKENS
from djinn_memory.chunking.tokens import token_starts
from djinn_memory.models import plane_of
from djinn_memory.notes.dates import local_day
from djinn_memory.notes.markdown.plain_text import plain

PREFIX_TOKENS = 60
"""Maximum size of a prefix: a title may be a paragraph, but the text needs two thirds."""

LEAST_ROOM = WINDOW_TOKENS - PREFIX_TOKENS
"""Number of tokens of text that fit into a window whatever its prefix."""

_DAY_IN_WORDS = re.compile(r" \(\w+day \d{1,2} \w+ \d{4}\)\Z")


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
    if len(line) <= PREFIX_TOKENS:
        return line  # No token is shorter than a character.
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
