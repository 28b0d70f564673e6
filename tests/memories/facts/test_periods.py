"""Facts in time: each value keeps when it held and when it was recorded."""

from __future__ import annotations

from contextlib import suppress

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, UsageError
from djinn_memory.home.home import Home
from djinn_memory.memories.facts.requests import SetFact
from djinn_memory.memories.facts.writer import set_fact
from djinn_memory.memories.writing.provenance import Provenance
from tests.memories.facts.test_facts import NOW, Clock, later

EVIDENCE = "[[journal/2026-03-04.home#^abc]]"


@pytest.fixture
def clock() -> Clock:
    clock = Clock()
    clock.time = NOW
    return clock


@pytest.fixture
def djinn(home: Home, clock: Clock) -> Djinn:
    return Djinn(home, clock=clock)


def held(djinn: Djinn, day: str) -> str | None:
    with suppress(NotFound):
        return djinn.facts.get("anna", "city", as_of=day).value
    return None


def test_a_value_of_the_past_takes_its_place(home: Home, djinn: Djinn, clock: Clock) -> None:
    facts = djinn.facts
    facts.set("anna", "city", "Warsaw", valid_from="2020-05")
    clock.time = later(1)
    assert facts.set("anna", "city", "Berlin", valid_from="2024-01-01").before == "Warsaw"
    clock.time = later(2)
    done = facts.set("anna", "city", "Oslo", valid_from="2022-01-01", valid_to="2022-06")
    assert (done.action, done.before, done.fact.value) == ("recorded", None, "Berlin")
    text = (home.root / "vaults/me" / done.fact.path).read_text()
    assert text.endswith(
        "---\nBerlin\n\n## History\n\n"
        "- 2022-06 (user_explicit, 0.9; from 2022-01-01; recorded 2026-03-06T10:00:00Z): Oslo\n"
        "- 2022-01-01 (user_explicit, 0.9; from 2020-05-01; recorded 2026-03-04T10:00:00Z): "
        "Warsaw\n"
    )
    days = {
        "2020-04-30": None, "2020-05-01": "Warsaw", "2021-12-31": "Warsaw", "2022-01-01": "Oslo",
        "2022-06-30": "Oslo", "2022-07-01": None, "2023-12-31": None, "2024-01-01": "Berlin",
        "2026-03-04": "Berlin",
    }  # fmt: skip
    assert {day: held(djinn, day) for day in days} == days
    again = facts.set("anna", "city", "Oslo", valid_from="2022-01-01", valid_to="2022-06")
    assert again.action == "verified"
    assert (home.root / "vaults/me" / done.fact.path).read_text() == text


def test_a_value_of_today_replaces_one_of_this_morning(djinn: Djinn, clock: Clock) -> None:
    djinn.facts.set("anna", "city", "Warsaw")
    clock.time = NOW.replace(hour=15)
    assert djinn.facts.set("anna", "city", "Oslo", valid_from="2026-03-04").action == "changed"
    assert held(djinn, "2026-03-04") == "Oslo" and held(djinn, "2026-03-03") is None


def test_a_value_ends_and_is_set_again(djinn: Djinn, clock: Clock) -> None:
    djinn.facts.set("anna", "city", "Warsaw", valid_from="2020-01-01")
    clock.time = later(1)
    closed = djinn.facts.set("anna", "city", "Warsaw", valid_to="2025-01-31")
    assert (closed.action, closed.before, closed.fact.valid_to) == ("changed", None, "2025-01-31")
    clock.time = later(2)
    again = djinn.facts.set("anna", "city", "Warsaw")
    assert (again.action, again.fact.valid_from) == ("changed", "2026-03-06T10:00:00Z")
    assert [held(djinn, day) for day in ("2025-01-31", "2025-02-01", "2026-03-06")] == [
        "Warsaw", None, "Warsaw",
    ]  # fmt: skip
    earlier = djinn.facts.set("anna", "city", "Warsaw", valid_from="2025-12-01")
    assert (earlier.action, earlier.fact.holds) == ("recorded", "since 1 December 2025")


def test_a_value_of_the_future_does_not_hold_yet(djinn: Djinn, clock: Clock) -> None:
    djinn.facts.set("anna", "city", "Warsaw")
    djinn.facts.set("anna", "city", "Oslo", valid_from="2026-06-01")
    assert held(djinn, "2026-05-31") == "Warsaw" and held(djinn, "2026-06-01") == "Oslo"
    clock.time = later(1)
    assert djinn.facts.set("anna", "city", "Rome").action == "recorded"
    assert djinn.facts.get("anna", "city").value == "Rome"
    assert [held(djinn, day) for day in ("2026-03-04", "2026-05-31", "2026-06-01")] == [
        "Warsaw", "Rome", "Oslo",
    ]  # fmt: skip


def test_a_clock_that_is_behind_loses_no_value(djinn: Djinn, clock: Clock) -> None:
    djinn.facts.set("anna", "city", "Warsaw")
    clock.time = later(-0.0001)
    assert djinn.facts.set("anna", "city", "Oslo").action == "changed"
    [past] = djinn.facts.get("anna", "city").history
    assert (past.value, past.valid_from, past.until) == ("Warsaw", *["2026-03-04T10:00:00Z"] * 2)
    assert held(djinn, "2026-03-04") == "Oslo"


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"valid_from": "2025-05-02", "valid_to": "2025-05-01"}, "would end before it begins"),
        ({"valid_to": "2025-05-01"}, "would end before it begins"),
        ({"valid_from": "soon"}, "valid_from soon: not a date"),
        ({"valid_to": "0000-00-00"}, "valid_to 0000-00-00: not a date"),
        ({"evidence": ["[[ ]]"]}, "evidence"),
    ],
)
@pytest.mark.parametrize("known", [False, True])
def test_what_is_no_period(djinn: Djinn, known: bool, given: dict[str, str], error: str) -> None:
    if known:
        djinn.facts.set("anna", "city", "Warsaw")
    with pytest.raises(UsageError, match=error):
        djinn.facts.set("anna", "city", "Oslo", **given)  # type: ignore[arg-type]
    assert djinn.facts.list().total == known


def test_a_derived_value_keeps_its_origin(home: Home, djinn: Djinn, clock: Clock) -> None:
    origin = Provenance("extract.residence", (EVIDENCE,), "me", "claude", 's 1; (b), "c"')
    set_fact(djinn.runtime, SetFact("anna", "city", "Warsaw", source="conversation"), origin)
    fact = djinn.facts.get("anna", "city")
    assert (fact.rule, fact.evidence, fact.author, fact.client, fact.session) == (
        "extract.residence", (EVIDENCE,), "me", "claude", origin.session,
    )  # fmt: skip
    more = Provenance("extract.residence", ("[[journal/2026-03-05.home#^abd]]",))
    set_fact(djinn.runtime, SetFact("anna", "city", "Warsaw", source="conversation"), more)
    assert djinn.facts.get("anna", "city").evidence == (EVIDENCE, *more.evidence)
    clock.time = later(1)
    djinn.facts.set("anna", "city", "Oslo", evidence=["Call, with (Anna)"])
    fact = djinn.facts.get("anna", "city")
    assert (fact.rule, fact.session, fact.evidence) == (None, None, ("[[Call, with (Anna)]]",))
    [past] = fact.history
    assert (past.rule, past.evidence, past.author, past.client, past.session) == (
        "extract.residence", (EVIDENCE, *more.evidence), "me", "claude", origin.session,
    )  # fmt: skip
    earlier = djinn.facts.get("anna", "city", as_of="2026-03-04")
    assert (earlier.value, earlier.evidence) == ("Warsaw", past.evidence)


def test_a_hit_shows_earlier_values_for_people(djinn: Djinn, clock: Clock) -> None:
    djinn.facts.set("anna", "city", "Gdynia", valid_from="2019", evidence=["Harbour lamp"])
    clock.time = later(1)
    djinn.facts.set("anna", "city", "Warsaw", valid_from="2023-06-01")
    [hit] = djinn.search("Gdynia", types=["fact"], limit=1).hits
    assert "Gdynia (from 2019-01-01 until 2023-06-01)" in hit.snippet
    assert "user_explicit" not in hit.snippet


def test_a_list_as_of_a_day_has_the_facts_that_had_a_value(djinn: Djinn, home: Home) -> None:
    for key, period in {
        "a": ("2020", None), "b": (None, None), "c": ("2021", "2022"), "d": ("2030", None),
    }.items():  # fmt: skip
        djinn.facts.set("x", key, "first", valid_from=period[0], valid_to=period[1])
    djinn.facts.set("x", "a", "second", valid_from="2023")
    djinn.facts.set("x", "e", "first", expires="30d")
    (home.root / "vaults/me/f.md").write_text(
        "---\ntype: fact\ncategory: x\nkey: f\nvalid_from: soon\n---\nValue.\n"
    )
    listed = {fact.key for fact in djinn.facts.list(expired=True).facts}
    assert listed == {*"abcdef"}
    for day in ("2019", "2020-06", "2021-06", "2022-06", "2024", "2026", "2027", "2031"):
        had = set()
        for key in listed:
            with suppress(NotFound):
                had.add((key, djinn.facts.get("x", key, as_of=day).value))
        page = djinn.facts.list(as_of=day)
        assert {(fact.key, fact.value) for fact in page.facts} == had, day
        assert page.total == len(had), day
