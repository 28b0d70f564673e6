"""The days and times that a request may give, checked the same for every front end."""

from __future__ import annotations

from datetime import datetime

from djinn_memory.errors import UsageError
from djinn_memory.notes.dates import coming_date, moment


def day(field: str, text: str | None, now: datetime, *, past: bool = False) -> str | None:
    """The day or time that a text means, such as `2026-12-31`, or `30d`, which is from `now` on.

    Raises `UsageError` for a text that means none, and for a day that is over unless `past` is set.
    """
    if not text:
        return None
    when = coming_date(text, now.astimezone())
    if not when:
        raise UsageError(
            f"{text}: no date; write 2026-12-31, tomorrow, or how long from now: "
            "90min, 12h, 30d, 2w, 6months, 1y",
            argument=field,
        )
    if not past and when < moment(now)[: len(when)]:
        raise UsageError(f"{text}: that is past; give a day to come", argument=field)
    return when
