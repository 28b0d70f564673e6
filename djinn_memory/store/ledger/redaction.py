"""Removes a text from the data of events. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

BLANK = "(purged)"
"""The replacement for a removed text."""

CONTAINED = 8
"""Minimum length of phrases that are searched for inside texts. Shorter ones occur too often."""

LINE = 12
"""Minimum length of a line that is searched for by itself."""

CLIENT_DATA = "arguments"
"""The key under which an event stores data from a client, with the client's own keys."""

_NAMES = frozenset(
    {"memory", "agent", "session", "run", "request", "hash", "vault", "document", "by", "source"}
)
"""djinn's own keys, whose values stay because the tables are derived from them."""


def phrases(texts: Iterable[str]) -> list[str]:
    """The phrases to remove: each text as a whole, and each of its long lines."""
    result: dict[str, None] = {}
    for text in texts:
        lines = (line.strip() for line in text.splitlines())
        result.update(dict.fromkeys((text.strip(), *(line for line in lines if len(line) >= LINE))))
    return list(filter(None, result))


def redacted(
    data: Any, wanted: Iterable[str], names: frozenset[str] = _NAMES, *, contained: int = CONTAINED
) -> Any:
    """The `data` of an event in which every text that contains one of `wanted` is replaced.

    A phrase shorter than `contained` characters must equal the whole text. Values under `names`
    stay, except in a client's own data.
    """
    equal = set(wanted)
    inside = [phrase for phrase in equal if len(phrase) >= contained]

    def walk(value: Any, names: frozenset[str]) -> Any:
        if isinstance(value, str):
            hit = value.strip() in equal or any(phrase in value for phrase in inside)
            return BLANK if hit else value
        if isinstance(value, list):
            return [walk(element, names) for element in value]
        if isinstance(value, dict):
            return {
                key if names else walk(key, names): inner
                if key in names
                else walk(inner, frozenset() if key == CLIENT_DATA else names)
                for key, inner in value.items()
            }
        return value

    return walk(data, names)


def joined(mine: Any, theirs: Any) -> Any:
    """The data of one event from two copies: the fields of both, without texts purged in either.

    One copy may have less than the other, because memories of vaults that do not go to a server are
    not named there.
    """
    if BLANK in (mine, theirs):
        return BLANK
    if mine is None or theirs is None:
        return theirs if mine is None else mine
    if isinstance(mine, dict) and isinstance(theirs, dict) and mine.keys() == theirs.keys():
        return {key: joined(value, theirs[key]) for key, value in mine.items()}
    if isinstance(mine, list) and isinstance(theirs, list):
        own, other = _by_rank(mine), _by_rank(theirs)
        if own is not None and other is not None:
            return [joined(own.get(rank), other.get(rank)) for rank in sorted({*own, *other})]
        if len(mine) == len(theirs):
            return [*map(joined, mine, theirs)]
    # The keys of a client's data are purged too.
    return theirs if blanks(theirs) > blanks(mine) else mine


def _by_rank(listed: list[Any]) -> dict[int, Any] | None:
    """The memories of a recall by their ranks. None for a list of anything else."""
    ranked = {
        each["rank"]: each
        for each in listed
        if isinstance(each, dict) and isinstance(each.get("rank"), int)
    }
    return ranked if len(ranked) == len(listed) else None


def blanks(data: Any) -> int:
    """The number of texts in the data of an event that were purged."""
    if isinstance(data, dict):
        return sum(map(blanks, (*data, *data.values())))
    if isinstance(data, list):
        return sum(map(blanks, data))
    return int(data == BLANK)
