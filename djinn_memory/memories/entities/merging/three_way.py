"""Takes a change of a text back after other changes of it."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


def taken_back(before: bytes, after: bytes, now: bytes) -> bytes | None:
    """`now` without the change from `before` to `after`, line by line.

    None if a line that the change wrote, or a neighbour of one that it removed, was changed since.
    """
    if now == after:
        return before
    old, new, current = (_LINE.findall(data) for data in (before, after, now))
    places: dict[int, int] = {}
    for block in SequenceMatcher(None, new, current, autojunk=False).get_matching_blocks():
        places |= {block.a + step: block.b + step for step in range(block.size)}
    result = [*current]
    changes = SequenceMatcher(None, new, old, autojunk=False).get_opcodes()
    for kind, start, stop, old_start, old_stop in reversed(changes):
        if kind == "equal":
            continue
        at = _place(places, start, stop, len(new), len(current))
        if at is None:
            return None
        result[at : at + stop - start] = old[old_start:old_stop]
    return b"".join(result)


def _place(places: dict[int, int], start: int, stop: int, size: int, current: int) -> int | None:
    """Where lines of a text stand in a changed one; None if they no longer stand together."""
    if start < stop:
        at = places.get(start)
        whole = at is not None and all(
            places.get(start + step) == at + step for step in range(stop - start)
        )
        return at if whole else None
    above = places.get(start - 1) if start else -1
    below = places.get(start) if start < size else current
    if above is None or below is None or below - above != 1:
        return None
    return below
