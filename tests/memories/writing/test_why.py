"""Why a memory is known: what it was derived from, by whom and by which rule."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent
from djinn_memory.memories.facts.requests import SetFact
from djinn_memory.memories.facts.writer import set_fact
from djinn_memory.memories.writing.provenance import Provenance, evidence_link
from djinn_memory.memories.writing.why import EvidenceItem
from tests.memories.facts.test_facts import NOW, Clock, later


@pytest.fixture
def clock() -> Clock:
    clock = Clock()
    clock.time = NOW
    return clock


@pytest.fixture
def djinn(home: Home, clock: Clock) -> Djinn:
    return Djinn(home, clock=clock)


def test_a_derived_fact_shows_its_turns_its_rule_and_its_history(
    djinn: Djinn, clock: Clock
) -> None:
    turn = djinn.episodes.record_interaction("I live in Warsaw now.", "Noted.")
    origin = Provenance("extract.residence", (evidence_link(turn),), "me", "claude", "monday")
    set_fact(djinn.runtime, SetFact("anna", "city", "Warsaw", source="conversation"), origin)
    clock.time = later(1)
    djinn.facts.set("anna", "city", "Oslo", evidence=["A letter"], valid_from="2026-03-05")
    djinn.facts.verify("city")
    shown = djinn.memories.show("anna/city", why=True)
    why = shown.why
    assert why and (why.rule, why.author, why.client, why.session) == (None,) * 4
    assert why.source == "user_explicit"
    letter, said = why.evidence
    assert letter == EvidenceItem("[[A letter]]", False)
    assert said.exists and said.link == evidence_link(turn) and said.place == turn.address
    assert said.text and "I live in Warsaw now." in said.text
    assert [(event.what, event.source) for event in why.history] == [
        ("created", "note"), ("set to 'Warsaw'", "note"), ("verified", "note"),
        ("set to 'Oslo', from 2026-03-05", "note"),
    ]  # fmt: skip
    assert djinn.memories.show("anna/city").why is None
    assert "opened" in [
        event.what for event in (djinn.memories.show("anna/city", why=True).why or why).history
    ]


def test_evidence_of_a_hidden_vault_is_not_shown(home: Home, djinn: Djinn) -> None:
    add_agent(home, "ada")
    djinn = Djinn(Home(home.root))
    djinn.remember("lesson", "Secret lesson", "Ada keeps the lamp in the cellar.", agent="ada")
    djinn.facts.set("lamp", "place", "cellar", evidence=["Secret lesson"], shared=True)
    why = djinn.memories.show("lamp/place", why=True, agent="me").why
    assert why and [item.exists for item in why.evidence] == [False]


def test_a_promoted_note_and_a_summary_name_their_origin(djinn: Djinn, clock: Clock) -> None:
    clock.time = datetime.now(UTC)
    djinn.facts.set("anna", "city", "Warsaw")
    djinn.summary.build()
    why = djinn.memories.show("Summary", why=True).why
    assert why and (why.rule, why.author) == ("summary.build", "me")
    assert [item.title for item in why.evidence] == ["anna/city"]


def test_a_summary_that_was_rewritten_by_hand_has_no_rule(djinn: Djinn, clock: Clock) -> None:
    clock.time = datetime.now(UTC)
    djinn.facts.set("anna", "city", "Warsaw")
    path = Path(djinn.summary.build().summary.file or "")
    path.write_text(path.read_text().replace("Warsaw", "Gdynia"))
    why = djinn.memories.show("Summary", why=True).why
    assert why and (why.rule, why.author, why.evidence) == (None, None, ())
    djinn.summary.build(force=True)
    djinn.summary.set("Anna moved to Oslo.")
    why = djinn.memories.show("Summary", why=True).why
    assert why and (why.rule, why.author, why.evidence) == (None, None, ())
    assert "summary.build" not in path.read_text()
