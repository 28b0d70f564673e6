"""Names that are said again and again become proposed entities."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.memories.episodes.recorder import Turn, record_turns
from djinn_memory.memories.sessions.extraction import run as extraction
from djinn_memory.memories.sessions.extraction.claims import Claim
from djinn_memory.memories.sessions.extraction.named import SESSIONS, kind_of
from djinn_memory.memories.sessions.extraction.talk import Told

NOW = datetime(2026, 3, 4, 10, 0, tzinfo=UTC)


@pytest.fixture
def djinn(home: Home) -> Iterator[Djinn]:
    with Djinn(home, clock=lambda: NOW) as djinn:
        yield djinn


def say(djinn: Djinn, message: str, *sessions: int) -> None:
    """Record a message in some sessions, and extract them."""
    for number in sessions:
        at = NOW - timedelta(days=20 - number)
        turn = Turn("interaction", message, "Yes.", at, f"s{number}", "cli")
        record_turns(djinn.runtime, "me", [turn])
        djinn.sessions.extract()


def waiting(djinn: Djinn) -> list[tuple[str, str]]:
    return [
        (proposal.evidence[0].partition(" ")[0], str(proposal.subjects[0].title))
        for proposal in djinn.review.list(kind="statement").items
    ]


def test_a_name_of_several_sessions_is_proposed_and_becomes_an_entity(djinn: Djinn) -> None:
    say(djinn, "Yesterday we had lunch with Hannah at the pier.", *range(1, SESSIONS))
    assert waiting(djinn) == []
    say(djinn, "It was good to talk with Hannah again.", SESSIONS)
    assert waiting(djinn) == [("person", "Hannah")]
    assert djinn.entities.list().total == 0
    djinn.review.accept(all="statement")
    entity = djinn.entities.show("Hannah").entity
    assert entity is not None and entity.type == "person"
    say(djinn, "I will meet with Hannah.", SESSIONS + 1)
    assert waiting(djinn) == []


def test_a_dismissed_name_is_not_proposed_again(djinn: Djinn) -> None:
    say(djinn, "We went to Gdynia, then stayed in Gdynia.", *range(SESSIONS))
    assert waiting(djinn) == [("place", "Gdynia")]
    djinn.review.dismiss(all="statement")
    say(djinn, "We are back in Gdynia.", SESSIONS)
    assert waiting(djinn) == []


def test_an_entity_of_the_name_is_not_proposed_and_not_doubled(djinn: Djinn) -> None:
    djinn.entities.add("Gdynia", kind="place")
    say(djinn, "We stayed in Gdynia with Hannah.", *range(SESSIONS))
    assert waiting(djinn) == [("person", "Hannah")]
    djinn.entities.add("Hannah", kind="person")
    report = djinn.review.accept(all="statement")
    assert report.items == () and "is an entity of this name" in report.problems[0].why


def test_a_fact_about_somebody_is_one_of_the_entity(
    djinn: Djinn, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = Claim("person", "fact", "Hannah/does", "the frontend", "Hannah", "does")
    monkeypatch.setattr(extraction, "told_in", lambda *_, **__: [Told(claim)])
    djinn.entities.add("Hannah Berg", kind="person", aliases=["Hannah"])
    say(djinn, "Then Hannah does the frontend.", 1)
    [fact] = djinn.facts.list().facts
    assert (fact.category, fact.key, fact.value) == ("Hannah Berg", "does", "the frontend")
    entity = djinn.entities.show("Hannah").entity
    assert entity is not None
    assert "facts/hannah-berg-does.md" in {mention.path for mention in entity.mentions}
    # Who of two is meant is not known.
    djinn.entities.add("Hannah Lund", kind="person", aliases=["Hannah"], force=True)
    claim = replace(claim, key="likes", title="Hannah/likes", text="tea")
    say(djinn, "And Hannah likes tea.", 2)
    assert {fact.category for fact in djinn.facts.list().facts} == {"Hannah Berg", "Hannah"}


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("Ola", "I had tea with Ola.", "person"), ("Ola", "So Ola said no.", "person"),
        ("Hel", "We are in Hel now.", "place"), ("Hel", "The trip to Hel was long.", "place"),
        ("Mole", "Work on the Mole project goes on.", "project"),
        ("Mole", "Our project Mole is late.", "project"),
        ("Redis", "We put Redis there.", None), ("Ola", "Nothing.", None),
    ],
)  # fmt: skip
def test_the_words_around_a_name_tell_its_kind(name: str, text: str, kind: str | None) -> None:
    assert kind_of(name, [text]) == kind


def test_a_name_in_a_long_text_is_read_from_the_words_near_it() -> None:
    assert kind_of("Oslo", ["We went to Oslo. " * 20_000]) == "place"
    assert kind_of("Oslo", [f"We went to {'the ' * 20}Oslo"]) is None


def test_a_name_at_the_end_of_a_text_is_no_place_for_that() -> None:
    assert kind_of("Anna", ["I had lunch with Anna"]) == "person"
    assert kind_of("Anna", ["Look at Anna"]) is None
