from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.memories.episodes.entities import find_entities
from tests.growth import assert_linear

NOW = datetime(2026, 11, 23, 10, tzinfo=UTC)
"""A Monday."""


def known(names: Collection[str]) -> Mapping[str, str]:
    titles = {"maren holt": "Maren Holt", "chart datum": "Chart datum", "datum": "Datum"}
    return {name: title for name, title in titles.items() if name in names}


def entities(text: str) -> list[tuple[str, str]]:
    return [(entity.kind, entity.text) for entity in find_entities(text, known, NOW)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ask maren holt about the chart datum.",
         [("known", "Maren Holt"), ("known", "Chart datum")]),
        ("I met Ilse Brandvold and Anna in Oslo.",
         [("name", "Ilse Brandvold"), ("name", "Anna"), ("name", "Oslo")]),
        ("Tides are high. However we sail.", []),
        ("Please ask Ludwig van der Rohe.", [("name", "Ludwig van der Rohe")]),
        ("It was at 14:30 on 12 May 2026.", [("time", "14:30"), ("date", "12 May 2026")]),
        ("On Friday at 7 pm, or tomorrow", [("date", "On Friday"), ("time", "7 pm"),
                                            ("date", "tomorrow")]),
        ("May I go in May? I may march.", [("date", "in May")]),
        ("It costs €45.50, or 1,200 USD: 15% off.",
         [("amount", "€45.50"), ("amount", "1,200 USD"), ("amount", "15%")]),
        ("The depth is 3.2 m here.", [("amount", "3.2 m")]),
        ("See https://x.org/a?b=1, and #project/harbour.",
         [("url", "https://x.org/a?b=1"), ("hashtag", "#project/harbour")]),
        ("Heading #1 is no tag, a#b neither.", []),
        ("Oslo, then oslo, and Oslo.", [("name", "Oslo")]),
        ("", []),
    ],
)  # fmt: skip
def test_what_a_text_names(text: str, expected: list[tuple[str, str]]) -> None:
    assert entities(text) == expected


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("on 2026-03-04", "2026-03-04"),
        ("next Tuesday", "2026-12-01"),
        ("Tuesday", "2026-11-24"),
        ("on Monday", "2026-11-30"),
        ("last Monday", "2026-11-16"),
        ("next week", "2026-11-30"),
        ("in May", "2027-05-01"),
        ("in Sept", "2027-09-01"),
        ("May 4", "2027-05-04"),
        ("31 April", None),
        ("999 years ago", "1028-07-23"),
        ("yesterday", "2026-11-22"),
        ("3 weeks ago", "2026-11-02"),
        ("in two days", "2026-11-25"),
        ("12 May 2026", "2026-05-12"),
        ("since March", "2026-03-01"),
    ],
)
def test_the_day_that_a_date_means(text: str, day: str | None) -> None:
    [entity] = find_entities(text, known, NOW)
    assert (entity.kind, entity.value) == ("date", day)


@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    named = find_entities(text, known, NOW)
    assert len({(entity.kind, entity.text.casefold()) for entity in named}) == len(named)


@pytest.mark.parametrize("unit", ["A", "Aa ", "Aa van ", "1,000", "#a", "in ", "https://", "€1 "])
def test_a_hostile_text_costs_no_more_than_its_length(unit: str) -> None:
    assert_linear(lambda size: find_entities(unit * size, known, NOW), 50_000)


def test_a_time_zone_is_no_name() -> None:
    named = find_entities("Plan the week\n2026-11-23 09:00 to 09:30 UTC", known, NOW)
    assert "UTC" not in [entity.text for entity in named]
