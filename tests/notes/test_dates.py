from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.notes.dates import coming_date, iso_date, spoken_date

NOW = datetime(2026, 3, 4, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2026-03-04", "2026-03-04"),
        (" 2026/3/4 ", "2026-03-04"),
        ("2026.03.04", "2026-03-04"),
        ("2026-03-04T10:00", "2026-03-04T10:00:00Z"),
        ("2026-03-04 9:05:06", "2026-03-04T09:05:06Z"),
        ("2026-03-04T10:00:00.123456789Z", "2026-03-04T10:00:00Z"),
        ("2026-03-04T00:30:00+02:00", "2026-03-03T22:30:00Z"),
        ("2026-03-04 00:30 -0530", "2026-03-04T06:00:00Z"),
        ("0999-01-01T00:00", "0999-01-01T00:00:00Z"),
        ("0001-01-01T00:00+01:00", None),
        ("9999-12-31T23:59-01:00", None),
        ("0000-01-01", None),
        ("2026-02-30", None),
        ("2026-13-01", None),
        ("26-01-01", None),
        ("soon", None),
        ("", None),
        (None, None),
        ("9" * 6000, None),
    ],
)
def test_iso(text: str | None, wanted: str | None) -> None:
    assert iso_date(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("today", "2026-03-04"),
        ("Yesterday", "2026-03-03"),
        ("0d", "2026-03-04"),
        ("30d", "2026-02-02"),
        ("2 weeks ago", "2026-02-18"),
        ("1 year", "2025-03-04"),
        ("99999y", None),
        ("2026", "2026"),
        ("2026-03", "2026-03"),
        ("2026-13", None),
        ("٢٠٢٦", None),
        ("2026-3-4", "2026-03-04"),
        ("2026-03-01banana", None),
        ("2026-03-01 10", None),
        ("2026-03-01t10:00z", "2026-03-01T10:00:00Z"),
        ("last week", None),
        ("", None),
    ],
)
def test_spoken(text: str, wanted: str | None) -> None:
    assert spoken_date(text, NOW) == wanted


@given(st.datetimes(timezones=st.just(UTC)))
def test_times_read_back_and_sort(moment: datetime) -> None:
    found = iso_date(moment.isoformat())
    assert found == moment.replace(microsecond=0, tzinfo=None).isoformat() + "Z"
    assert iso_date(found) == found


@given(st.text(st.sampled_from("0123456789-/.:TZ+ dwmyaginoh٣")))
def test_nothing_raises(text: str) -> None:
    iso_date(text)
    spoken_date(text, NOW)
    coming_date(text, NOW)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("30d", "2026-04-03"), ("2 weeks", "2026-03-18"), ("tomorrow", "2026-03-05"),
        ("today", "2026-03-04"), ("in 1 year", "2027-03-04"), ("2026-12-31", "2026-12-31"),
        ("12h", "2026-03-04T22:00:00Z"), ("soon", None), ("99999y", None), ("-3d", None),
        ("45m", None), ("45min", "2026-03-04T10:45:00Z"), ("in 90 minutes", "2026-03-04T11:30:00Z"),
        ("2 months", "2026-05-03"), ("1h", "2026-03-04T11:00:00Z"), ("2 weeks ago", None),
        ("yesterday", "2026-03-03"), ("2020-01-01", "2020-01-01"),
    ],
)  # fmt: skip
def test_days_to_come(text: str, day: str | None) -> None:
    assert coming_date(text, datetime(2026, 3, 4, 10, tzinfo=UTC)) == day
