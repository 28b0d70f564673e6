"""Correlations are relative to the rhythm of activity."""

from __future__ import annotations

from msgspec.structs import replace

from djinn_memory.memories.patterns.correlations import find_correlations
from djinn_memory.memories.patterns.detection.history import History
from tests.memories.patterns.years import noise, weekly


def test_a_domain_with_a_weekday_and_an_entity_with_a_domain() -> None:
    runs = [
        replace(occasion, domain="health", entities=("Ilse",))
        for occasion in weekly("Run with Ilse", 2, 18)
    ]
    others = [replace(occasion, domain="work") for occasion in noise(1)]
    listed = find_correlations(History([*others, *runs])).correlations
    pairs = {(each.first, each.second): each for each in listed}
    assert pairs["domain: health", "weekday: wednesday"].strength == 1.0
    assert pairs["entity: Ilse", "domain: health"].support == 40
    assert pairs["action: run", "hour: 18"].q_value < 1e-9
    assert not any(first == "domain: work" for first, _ in pairs)


def test_noise_correlates_with_nothing() -> None:
    listed = find_correlations(History(noise(2)))
    assert (listed.correlations, listed.tests > 100) == ((), True)
    assert find_correlations(History([])).tests == 0
