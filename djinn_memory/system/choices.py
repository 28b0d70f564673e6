"""Tells which of some fixed values to give instead of a wrong one."""

from __future__ import annotations

from collections.abc import Iterable

LIKENESS = 0.8
"""Minimum similarity by `difflib`; `hybird` and `hybrid` have 0.83, `roam` and `foam` 0.75."""


def one_of(choices: Iterable[str], given: object) -> str:
    """The instruction to give one of `choices`, with the one that is spelled most like `given`."""
    from difflib import get_close_matches

    names = {each.lower(): each for each in choices}
    near = get_close_matches(str(given)[:60].lower(), [*names], 1, LIKENESS)
    meant = f"; did you mean {names[near[0]]}?" if near else ""
    return f"give one of {', '.join(names.values())}{meant}"
