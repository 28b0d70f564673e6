"""Patterns made of what detection finds."""

from __future__ import annotations

from datetime import date

import pytest
from msgspec.structs import replace

from djinn_memory.home.settings import PatternsConfig
from djinn_memory.memories.patterns.detection.history import History
from djinn_memory.memories.patterns.detection.learn import learn
from djinn_memory.memories.patterns.notes import fields_of
from tests.memories.patterns.years import noise, weekly


@pytest.mark.parametrize(
    ("domains", "domain", "written"),
    [
        ((None,), None, None),
        (("work",), "work", "work"),
        (("work", None), "work", "work"),
        (("work", "money"), None, ["money", "work"]),
    ],
)
def test_a_pattern_has_the_domains_of_its_episodes(
    domains: tuple[str | None, ...], domain: str | None, written: object
) -> None:
    habit = weekly("Plan the week", 0, 9)
    named = [
        replace(occasion, domain=domains[number % len(domains)])
        for number, occasion in enumerate(habit)
    ]
    occasions = sorted((*noise(1, a_day=2), *named), key=lambda occasion: occasion.at)
    patterns = learn(History(occasions), date(2025, 10, 10), PatternsConfig())
    [pattern] = [pattern for pattern in patterns if pattern.action == "Plan the week"]
    assert pattern.domain == domain
    assert fields_of(pattern, "me").get("domain") == written
    assert set(pattern.domains) == {name for name in domains if name}
