"""How a document is to be cut, from what a user says, a setting or its front matter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import get_args

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
"""Tokens that a model reads at once; the setting `documents.model_contexts` adds to them."""

_LARGEST = 9
"""Digits of a number that is worth reading."""


def context_window(name: str, more: Mapping[str, int]) -> int:
    """The tokens that the model `name` reads at once, or the number that `name` is.

    `UsageError` lists the models that are known.
    """
    known = {**CONTEXTS, **more}
    if name in known:
        return known[name]
    if name.isdecimal() and len(name) <= _LARGEST and int(name):
        return int(name)
    raise UsageError(
        f"no context window is known for {name!r}; known: {', '.join(known)}. "
        "Give its tokens as a number, or add it to documents.model_contexts"
    )


def written_plan(fields: Iterable[tuple[str, str]]) -> Plan | None:
    """How a note's front matter says that it is to be cut; None where it does not.

    A strategy that is none is the default one, so that pages can be cited still; a size that is
    out of range is that of the strategy.
    """
    said = dict(fields)
    name = said.get("chunk_strategy")
    if name is None:
        return None
    strategy: Strategy = next((one for one in get_args(Strategy) if one == name), "adaptive")
    size, overlap = (_number(said.get(key)) for key in ("chunk_size", "chunk_overlap"))
    for some in ((size, overlap), (size, None), (None, None)):
        try:
            return plan(strategy, window=CONTEXTS["default"], size=some[0], overlap=some[1])
        except UsageError:
            continue
    return None


def count(text: str, plan: Plan) -> int:
    """How many chunks a document's text, without front matter, is cut into."""
    searched = hide(text)
    return len(cut(searched, 0, token_starts(searched), pages(text, 0), plan))


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and len(text) <= _LARGEST else None
