"""Keys that mean the same name one fact."""

from __future__ import annotations

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound
from djinn_memory.home.home import Home
from djinn_memory.languages.word_lists import meaning_of
from tests.memories.facts.test_facts import NOW, Clock, later


@pytest.fixture
def clock() -> Clock:
    clock = Clock()
    clock.time = NOW
    return clock


@pytest.fixture
def djinn(home: Home, clock: Clock) -> Djinn:
    return Djinn(home, clock=clock)


@pytest.mark.parametrize(
    ("first", "second"),
    [("lives in", "City"), ("works at", "employer"), ("Phone number", "mobile"),
     ("e-mail", "email address"), ("time zone", "timezone"), ("lives_in", "residence")],
)  # fmt: skip
def test_a_value_under_one_key_closes_the_value_under_the_other(
    djinn: Djinn, clock: Clock, first: str, second: str
) -> None:
    djinn.facts.set("anna", first, "One")
    clock.time = later(5)
    done = djinn.facts.set("anna", second, "Two")
    assert (done.action, done.before, done.fact.key) == ("changed", "One", first)
    for key in (first, second):
        fact = djinn.facts.get("anna", key)
        assert (fact.value, [past.value for past in fact.history]) == ("Two", ["One"])
    assert djinn.facts.list().total == 1
    # Another person is another fact.
    assert djinn.facts.set("ben", second, "Three").action == "created"
    assert djinn.review.list(kind="contradiction").total == 0


@pytest.mark.parametrize(
    ("first", "second"),
    [("job", "employer"), ("city", "home town"), ("phone", "email"), ("work", "works at")],
)
def test_other_keys_are_other_facts(djinn: Djinn, first: str, second: str) -> None:
    assert meaning_of(first) != meaning_of(second)
    djinn.facts.set("anna", first, "One")
    djinn.facts.set("anna", second, "Two")
    assert djinn.facts.get("anna", first).value == "One"


def test_a_fact_with_exactly_the_key_comes_before_one_that_means_the_same(djinn: Djinn) -> None:
    djinn.facts.set("anna", "lives in", "Oslo")
    djinn.facts.set("anna", "city", "Bergen", shared=True)
    assert djinn.facts.get("anna", "city").value == "Bergen"
    assert djinn.facts.get("anna", "lives in").value == "Oslo"
    [pair] = djinn.review.list(kind="contradiction").items
    assert {*pair.evidence[1:]} == {"A: Oslo", "B: Bergen"}
    with pytest.raises(NotFound):
        djinn.facts.get("anna", "town")
