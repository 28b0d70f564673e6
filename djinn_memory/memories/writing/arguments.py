"""What a verb may be asked, checked the same for the command line, for Python and for agents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime

from djinn_memory.errors import UsageError
from djinn_memory.notes.dates import coming_date, moment


def between(field: str, value: float | None, least: float, most: float = math.inf) -> None:
    """Raise `UsageError` for a number out of bounds; None is one that was not given."""
    if value is not None and not least <= value <= most:
        bounds = (
            f"{least:,} at least" if most == math.inf else f"a number from {least:,} to {most:,}"
        )
        raise UsageError(f"{value}: give {bounds}", argument=_bare(field))


def one_of(field: str, value: str, known: Sequence[str]) -> None:
    """Raise `UsageError` for a word that is none of those `known`."""
    if value not in known:
        raise UsageError(f"{value!r}: give one of {', '.join(known)}", argument=_bare(field))


def day(field: str, text: str | None, now: datetime, *, past: bool = False) -> str | None:
    """The day or time that a text means; `UsageError` for none, and one that is over if not `past`.

    Such as `2026-12-31` or `30d`, which is so long from `now`.
    """
    found = coming_date(text, now.astimezone()) if text else None
    if text and not found:
        raise UsageError(
            f"{text}: no date; write 2026-12-31, tomorrow, or how long from now: "
            "90min, 12h, 30d, 2w, 6months, 1y",
            argument=_bare(field),
        )
    if found and not past and found < moment(now)[: len(found)]:
        raise UsageError(f"{text}: that is past; give a day to come", argument=_bare(field))
    return found


def _bare(field: str) -> str:
    return field.removeprefix("--")
