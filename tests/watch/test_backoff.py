"""What fails is tried again more and more seldom, and at once after it worked."""

from __future__ import annotations

from djinn_memory.watch.catchup import FIRST_SECONDS, LONGEST_SECONDS, Backoff


def test_the_pauses_double_up_to_a_bound() -> None:
    backoff, now = Backoff(), 100.0
    pauses = []
    for _ in range(12):
        backoff.failed(now)
        pauses.append(backoff.left(now))
        now += pauses[-1]
        assert backoff.left(now) == 0
    assert pauses[:3] == [FIRST_SECONDS, 2 * FIRST_SECONDS, 4 * FIRST_SECONDS]
    assert pauses[-1] == LONGEST_SECONDS
    backoff.worked()
    assert backoff.left(now) == 0
    backoff.failed(now)
    assert backoff.left(now) == FIRST_SECONDS


def test_who_is_busy_is_asked_again_soon() -> None:
    backoff = Backoff()
    for _ in range(5):
        backoff.busy(1.0)
        assert backoff.left(1.0) == FIRST_SECONDS
