"""The days of holidays that people date things by. Pure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta


def _easter(year: int) -> date:
    """Easter Sunday, by the anonymous Gregorian algorithm."""
    a, (b, c) = year % 19, divmod(year, 100)
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    m = (32 + 2 * e + 2 * i - h - k) % 7
    n = (a + 11 * h + 22 * m) // 451
    month, day = divmod(h + m - 7 * n + 114, 31)
    return date(year, month, day + 1)


def _thanksgiving(year: int) -> date:
    first = date(year, 11, 1)
    return first + timedelta(days=(3 - first.weekday()) % 7 + 21)


HOLIDAYS: dict[str, Callable[[int], tuple[date, date]]] = {
    "christmas eve": lambda year: (date(year, 12, 24), date(year, 12, 24)),
    "christmas": lambda year: (date(year, 12, 24), date(year, 12, 26)),
    "xmas": lambda year: (date(year, 12, 24), date(year, 12, 26)),
    "new year's eve": lambda year: (date(year, 12, 31), date(year, 12, 31)),
    "new year": lambda year: (date(year, 1, 1), date(year, 1, 1)),
    "halloween": lambda year: (date(year, 10, 31), date(year, 10, 31)),
    "valentine's": lambda year: (date(year, 2, 14), date(year, 2, 14)),
    "thanksgiving": lambda year: (_thanksgiving(year), _thanksgiving(year) + timedelta(days=3)),
    "easter": lambda year: (
        _easter(year) - timedelta(days=2),
        _easter(year) + timedelta(days=1),
    ),
}
"""By name: the first and the last day in a year."""
