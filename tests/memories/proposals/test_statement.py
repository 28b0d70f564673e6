"""What extraction is not sure of waits as a proposal, and is kept or dropped, once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.memories.episodes.recorder import Turn, record_turns
from djinn_memory.memories.sessions.extraction import run as extraction
from djinn_memory.memories.sessions.extraction.claims import Claim
from djinn_memory.memories.sessions.extraction.talk import Told
from djinn_memory.upkeep.review.requests import ReviewItem
from tests.memories.proposals.test_proposals import statuses

NOW = datetime(2026, 3, 4, 10, 0, tzinfo=UTC)
FERRY = Claim("said", "preference", "Likes the early ferry", "I like the early ferry to Hel")
PLAN = Claim("said", "decision", "Paint the boat red", "The boat is to be painted red in spring")
CITY = Claim("said", "fact", "user/city", "Gdynia", "user", "city")


@pytest.fixture
def djinn(home: Home) -> Iterator[Djinn]:
    with Djinn(home, clock=lambda: NOW) as djinn:
        yield djinn


@pytest.fixture
def unsure(monkeypatch: pytest.MonkeyPatch) -> list[Claim]:
    """The claims that extraction finds in any turn of a tool, and so is not sure of."""
    claims = [FERRY, PLAN, CITY]
    monkeypatch.setattr(extraction, "told_in", lambda *_, **__: map(Told, claims))
    return claims


def extract(djinn: Djinn, day: int = 0) -> list[ReviewItem]:
    """Record a turn, extract it, and list the statements that wait."""
    at = NOW - timedelta(days=10 - day)
    turn = Turn("observation", f"A page that was read on day {day}.", "", at, f"s{day}", "cli")
    record_turns(djinn.runtime, "me", [turn])
    djinn.sessions.extract()
    return [*djinn.review.list(kind="statement").items]


def notes(djinn: Djinn) -> dict[str, bytes]:
    root = djinn.home.root / "vaults" / "me"
    kinds = ("facts", "preferences", "decisions")
    return {path.name: path.read_bytes() for kind in kinds for path in (root / kind).glob("*.md")}


def test_all_statements_are_kept_in_one_step(djinn: Djinn, unsure: list[Claim]) -> None:
    waiting = extract(djinn)
    titles = [proposal.subjects[0].title for proposal in waiting]
    assert sorted(map(str, titles)) == [
        "Likes the early ferry", "Paint the boat red", "User/city: Gdynia",
    ]  # fmt: skip
    assert {proposal.evidence for proposal in waiting} == {
        (f"{kind} of 2026-02-22", "session s0") for kind in ("preference", "decision", "fact")
    }
    before = notes(djinn)
    assert djinn.facts.list().facts == ()
    report = djinn.review.accept(all="statement")
    assert len(report.items) == 3 and report.problems == ()
    fact = djinn.facts.get("user", "city")
    assert (fact.value, fact.rule, fact.session) == ("Gdynia", "extract.said", "s0")
    assert fact.valid_from == "2026-02-22T10:00:00Z" and len(fact.evidence) == 1
    assert not any(b"proposed" in data for data in notes(djinn).values())
    assert djinn.search("boat painted red in spring", types=("decision",)).hits
    assert extract(djinn, 1) == []
    djinn.changes.undo(*report.changes)
    assert notes(djinn) == before
    assert len(djinn.review.list(kind="statement").items) == 3


def test_a_fact_whose_note_has_the_path_of_its_proposal_is_kept(
    djinn: Djinn, unsure: list[Claim]
) -> None:
    text, key = "Marta gets seasick on ferries", "gets seasick on ferries"
    unsure[:] = [Claim("said", "fact", f"Marta/{key}", text, "Marta", key, whole=True)]
    extract(djinn)
    before = notes(djinn)
    report = djinn.review.accept(all="statement")
    assert report.problems == () and djinn.facts.get("Marta", key).value == text
    assert [*notes(djinn)] == [*before] and djinn.review.list(kind="statement").items == ()
    djinn.changes.undo(*report.changes)
    assert notes(djinn) == before


def test_a_dismissed_statement_leaves_no_note_and_never_returns(
    djinn: Djinn, unsure: list[Claim]
) -> None:
    waiting, before = extract(djinn), notes(djinn)
    assert len(djinn.review.dismiss([waiting[0].id]).items) == 1
    report = djinn.review.dismiss(all="statement")
    assert len(report.items) == 2 and notes(djinn) == {}
    assert extract(djinn, 1) == [] and notes(djinn) == {}
    assert {*statuses(djinn)} == {"dismissed"}
    djinn.changes.undo(*report.changes)
    assert len(notes(djinn)) == 2 and notes(djinn).items() <= before.items()
    assert {each.id for each in djinn.review.list().items} == {each.id for each in waiting[1:]}
    assert len(extract(djinn, 2)) == 2


def test_what_is_known_meanwhile_is_refused(djinn: Djinn, unsure: list[Claim]) -> None:
    extract(djinn)
    djinn.remember("preference", "The ferry", FERRY.text)
    djinn.facts.set("user", "city", "Gdynia")
    report = djinn.review.accept(all="statement")
    assert [each.subjects[0].title for each in report.items] == [PLAN.title]
    assert all("says the same" in problem.why for problem in report.problems)
    assert len(report.problems) == 2


def test_an_older_value_goes_into_the_history_of_a_fact(djinn: Djinn, unsure: list[Claim]) -> None:
    djinn.facts.set("user", "city", "Sopot")
    extract(djinn)
    unsure[:] = [Claim("said", "fact", "user/city", "Hel", "user", "city")]
    extract(djinn, 1)
    djinn.review.accept(all="statement")
    fact = djinn.facts.get("user", "city")
    assert (fact.value, [past.value for past in fact.history]) == ("Sopot", ["Hel", "Gdynia"])
    [path] = (djinn.home.root / "vaults" / "me" / "facts").glob("*.md")
    assert path.name == "user-city.md"


def test_a_proposed_note_of_a_person_is_no_statement(djinn: Djinn, unsure: list[Claim]) -> None:
    unsure.clear()
    djinn.remember("decision", "Use sails", "We might use sails only.", status="proposed")
    assert extract(djinn) == []


def test_a_statement_that_a_person_accepts_by_hand_is_withdrawn(
    djinn: Djinn, unsure: list[Claim]
) -> None:
    unsure[:] = [PLAN]
    extract(djinn)
    [path] = (Path(djinn.home.root) / "vaults" / "me" / "decisions").glob("*.md")
    path.write_text(path.read_text().replace("status: proposed\n", ""))
    assert djinn.review.list().items == () and extract(djinn, 1) == []
