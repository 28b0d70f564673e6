"""Lists of words: stop words of English, and given names with their short forms."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path


@cache
def stop_words() -> frozenset[str]:
    """English words that do not affect the meaning of a question, in lower case."""
    return frozenset(Path(__file__).with_name("english.txt").read_text().split())


@cache
def _full_names(written: Callable[[str], str]) -> dict[str, frozenset[str]]:
    """The full names of each name in the form of `written`. A full name is one of itself."""
    table: dict[str, set[str]] = {}
    for line in Path(__file__).with_name("nicknames.txt").read_text("utf-8").splitlines():
        full, _, short = line.partition(":")
        for name in (full, *short.split()):
            table.setdefault(written(name), set()).add(written(full))
    return {name: frozenset(names) for name, names in table.items()}


def is_short_form(name: str, other: str, written: Callable[[str], str]) -> bool:
    """Whether one of two names is a short form of the other, as Bob is of Robert.

    `written` makes the form in which names are compared; both names have it.
    """
    table = _full_names(written)
    return name != other and (
        other in table.get(name, frozenset()) or name in table.get(other, frozenset())
    )
