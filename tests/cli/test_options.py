"""The options that every command shares."""

from __future__ import annotations

import time

import pytest

from djinn_memory.cli import options


@pytest.mark.parametrize("text", ["today", "yesterday", "30d"])
def test_a_day_is_the_users_own(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    days = []
    # 26 hours apart: never on one day. These names count westward.
    for zone in ("Etc/GMT+12", "Etc/GMT-14"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        days.append(options.filters(since=text).since or "")
    monkeypatch.undo()
    time.tzset()
    assert days[0] < days[1]
