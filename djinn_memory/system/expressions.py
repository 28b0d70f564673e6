"""Regular expressions that are compiled on first use, because a command needs few of them."""

from __future__ import annotations

import re
from typing import Any, AnyStr, Generic, cast


class _Expression(Generic[AnyStr]):
    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self._source: tuple[AnyStr, int] = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        # Python asks only for what is not there: the next use of the method finds it.
        self.__dict__[name] = method = getattr(re.compile(*self._source), name)
        return method


def expression(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`, which runs when a method of the expression is called for the first time."""
    return cast(re.Pattern[AnyStr], _Expression(pattern, flags))
