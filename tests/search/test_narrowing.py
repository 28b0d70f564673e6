"""The fields that narrow a request."""

from __future__ import annotations

import time

import pytest

from djinn_memory.runtime import utc_now
from djinn_memory.search.narrowing import Narrowing


@pytest.mark.parametrize("text", ["today", "yesterday", "30d"])
def test_a_day_is_the_users_own(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    days = []
    # 26 hours apart: never on one day. These names count westward.
    for zone in ("Etc/GMT+12", "Etc/GMT-14"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        days.append(Narrowing(since=text).filters(utc_now()).since or "")
    monkeypatch.undo()
    time.tzset()
    assert days[0] < days[1]
