"""Staleness, against values that were worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.memories.proposals.kinds.archive import NoteUse, half_life, staleness

BY_HAND = [
    # 180 days are one half-life: a half is left; after two a quarter; after none all of it.
    (NoteUse(180, 180), 180, 0.5),
    (NoteUse(360, 180), 180, 0.75),
    (NoteUse(0, 180), 180, 0.0),
    # 3.3219 half-lives leave a tenth: log2(10) = 3.3219, and 3.3219 * 180 = 597.95 days.
    (NoteUse(597.95, 180), 180, 0.9),
    (NoteUse(597.95, 365), 365, 0.67875),  # 2 ** -(597.95 / 365) = 0.32125
    # Three uses double the half-life, and so do three notes that link to it: sqrt(1 + 3) = 2.
    (NoteUse(360, 180, uses=3), 360, 0.5),
    (NoteUse(360, 180, links=3), 360, 0.5),
    (NoteUse(720, 180, uses=3, links=3), 720, 0.5),
    # Only useful ratings: 2 ** (2 * 1 - 1) = 2. None of them useful: 2 ** -1 = 1/2.
    (NoteUse(360, 180, usefulness=1.0), 360, 0.5),
    (NoteUse(90, 180, usefulness=0.0), 90, 0.5),
    # The same for importance; 0.75 gives 2 ** 0.5 = 1.41421.
    (NoteUse(360, 180, importance=1.0), 360, 0.5),
    (NoteUse(254.558, 180, importance=0.75), 254.558, 0.5),
    # A note that no longer holds: a quarter of the half-life.
    (NoteUse(45, 180, is_over=True), 45, 0.5),
    (NoteUse(180, 180, is_over=True), 45, 0.9375),
]


@pytest.mark.parametrize(("use", "days", "expected"), BY_HAND)
def test_staleness_by_hand(use: NoteUse, days: float, expected: float) -> None:
    assert half_life(use) == pytest.approx(days, rel=1e-5)
    assert staleness(use) == pytest.approx(expected, abs=1e-5)


USES = st.builds(
    NoteUse,
    idle_days=st.floats(-10, 100_000),
    half_life_days=st.floats(0.01, 100_000),
    uses=st.integers(0, 10**6),
    usefulness=st.floats(0, 1),
    links=st.integers(0, 10**6),
    importance=st.floats(0, 1),
    is_over=st.booleans(),
)


@given(USES)
def test_staleness_is_a_share(use: NoteUse) -> None:
    assert 0 <= staleness(use) <= 1
