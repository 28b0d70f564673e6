"""Excerpts of memories for an agent, and the token budget that they must fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.chunking.tokens import token_counts, token_starts
from djinn_memory.memories.catalog.requests import MemoryExcerpt

EXCERPT_TOKENS = 400
"""Maximum tokens of an excerpt, so that a long memory leaves room for others. `djinn show` shows
all."""

LONGEST = 40
"""Maximum characters for each token of an excerpt. Longer text need not be counted."""

SCRAP = 20
"""Minimum tokens of an excerpt. With fewer, only the title is shown."""

FRAME = 14
"""Tokens of markup around the title and the text of a memory."""


E = TypeVar("E", bound=MemoryExcerpt)


class TokenBudget(Struct):
    """The remaining part of a token budget."""

    budget: int
    left: int = 0
    left_out: int = 0
    """The number of memories that did not fit."""

    def __post_init__(self) -> None:
        self.left = self.budget

    def take(self, excerpt: E | None, *, share: float = 1 / 4, reserved: int = 0) -> E | None:
        """As much of a memory as fits, in at most a `share` of the budget.

        Its text leaves `reserved` tokens free. If the text does not fit, only the title is
        returned. If the title does not fit, returns None and counts the memory as left out.
        """
        if excerpt is None:
            return None
        title = _title_tokens(excerpt)
        room = min(self.left - title - reserved, int(self.budget * share), EXCERPT_TOKENS)
        if self.left < title:
            self.left_out += 1
            return None
        text = excerpt.text[: LONGEST * EXCERPT_TOKENS]
        starts = token_starts(text)
        if len(starts) > room or len(text) < len(excerpt.text):
            room = room if room >= SCRAP else 0
            end = starts[room] if room < len(starts) else None
            shortened = f"{text[:end].rstrip()} ..." if room else ""
            excerpt = replace(excerpt, text=shortened, cut=True)
        self.left -= title + min(len(starts), room)
        return excerpt

    def take_in_turn(
        self, kinds: Sequence[Iterable[MemoryExcerpt]], *, most: int | None = None
    ) -> list[tuple[MemoryExcerpt, ...]]:
        """The memories of several kinds that fit, taken from each kind in turn.

        The first memory of each kind comes first, then the second, so that no kind uses the room of
        another. With `most` they use at most that many tokens. Titles may use half of these first.
        """
        kept_back = 0 if most is None else max(0, self.left - most)
        self.left -= kept_back
        turns = [
            (kind, excerpt)
            for turn in zip_longest(*kinds)
            for kind, excerpt in enumerate(turn)
            if excerpt
        ]
        titles = 0 if most is None else sum(_title_tokens(excerpt) for _, excerpt in turns)
        taken: list[list[MemoryExcerpt]] = [[] for _ in kinds]
        for kind, excerpt in turns:
            titles -= _title_tokens(excerpt)
            reserved = max(0, min(titles, (most or 0) // 2))
            if shown := self.take(excerpt, share=1 / 8, reserved=reserved):
                taken[kind].append(shown)
        self.left += kept_back
        return [tuple(excerpts) for excerpts in taken]


def _title_tokens(excerpt: MemoryExcerpt) -> int:
    """The number of tokens of a memory without its text."""
    name = excerpt.id or excerpt.path
    [title] = token_counts([f"{excerpt.title} {excerpt.type} {name} {excerpt.due or ''}"])
    return title + FRAME
