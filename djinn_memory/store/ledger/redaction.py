"""Takes a text out of what events say. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

BLANK = "(purged)"
"""What stands in the place of a text that was taken out."""

CONTAINED = 8
"""Characters from which on a phrase is looked for inside texts; a shorter one is in too many."""

LINE = 12
"""Characters of a line that tells something by itself."""

SAID = "arguments"
"""Where an event keeps what a client said, in names of the client's."""

_NAMES = frozenset(
    {"memory", "agent", "session", "run", "request", "hash", "vault", "document", "by", "source"}
)
"""What an event says in names of djinn's own, which stay: by them the tables are made."""


def phrases(texts: Iterable[str]) -> list[str]:
    """What is to be looked for of these texts: each whole, and every line of some length."""
    found: dict[str, None] = {}
    for text in texts:
        lines = (line.strip() for line in text.splitlines())
        found.update(dict.fromkeys((text.strip(), *(line for line in lines if len(line) >= LINE))))
    return [one for one in found if one]


def redacted(
    data: Any,
    wanted: Iterable[str],
    names: frozenset[str] = _NAMES,
    *,
    contained: int = CONTAINED,
) -> Any:
    """`data` of an event with every text blank that holds one of `wanted`.

    One shorter than `contained` characters must be all of the text. What stands under one of
    `names` stays; in what a client said nothing has such a name.
    """
    equal = set(wanted)
    inside = [one for one in equal if len(one) >= contained]

    def walk(value: Any, names: frozenset[str]) -> Any:
        if isinstance(value, str):
            hit = value.strip() in equal or any(one in value for one in inside)
            return BLANK if hit else value
        if isinstance(value, list):
            return [walk(one, names) for one in value]
        if isinstance(value, dict):
            found = {}
            for key, one in value.items():
                inner = names if key != SAID else frozenset()
                found[key if names else walk(key, names)] = (
                    one if key in names else walk(one, inner)
                )
            return found
        return value

    return walk(data, names)
