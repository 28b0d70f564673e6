"""Chunking plans from an option, a setting or the front matter of a document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import cast, get_args

from djinn_memory.chunking.strategies import Plan, cut, plan
from djinn_memory.chunking.tokens import token_starts
from djinn_memory.errors import UsageError
from djinn_memory.models import Strategy
from djinn_memory.notes.pages import hide, pages

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
