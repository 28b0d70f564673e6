"""Contradictions in a home: listed with both sides, and settled by a person or an agent."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent, add_vault
from djinn_memory.upkeep.review.requests import ReviewItem
from tests.memories.facts.test_facts import NOW, Clock, later
from tests.memories.proposals.test_proposals import statuses


@pytest.fixture
def clock() -> Clock:
    clock = Clock()
    clock.time = NOW
    return clock


@pytest.fixture
def djinn(home: Home, clock: Clock) -> Djinn:
    return Djinn(home, clock=clock)


def note(home: Home, path: str, text: str, **fields: str) -> Path:
    place = home.root / "vaults" / path
    place.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"{key}: {value}\n" for key, value in fields.items())
    place.write_text(f"---\n{lines}---\n{text}\n")
    return place


def found(djinn: Djinn, agent: str | None = None) -> tuple[ReviewItem, ...]:
    """The contradictions that wait."""
    return djinn.review.list(kind="contradiction", agent=agent).items


def sides(item: ReviewItem) -> tuple[str | None, ...]:
    """In what the sides of a contradiction differ, and their paths."""
    return item.evidence[0], *(side.path for side in item.subjects)


def test_the_inbox_lists_what_one_agent_sees_of_both_sides(home: Home, djinn: Djinn) -> None:
    add_agent(home, "kim")
    add_agent(home, "lee")
    for vault, minutes in (("shared", 10), ("kim", 20), ("lee", 30)):
        note(home, f"{vault}/tide-{vault}.md", f"The tide gate opening lasts {minutes} minutes.")
    djinn.index()
    items = djinn.review.list(kind="contradiction").items
    found = {(item.agent, *(side.vault for side in item.subjects)) for item in items}
    assert found == {("kim", "kim", "shared"), ("lee", "lee", "shared")}


def test_facts_of_two_vaults_are_listed_and_one_is_closed(djinn: Djinn, clock: Clock) -> None:
    djinn.facts.set("anna", "city", "Oslo", shared=True, evidence=["Letter"])
    djinn.facts.set("anna", "city", "Bergen", source="conversation")
    djinn.facts.set("ben", "city", "Rome", shared=True)
    djinn.facts.set("ben", "city", "rome ")
    [contradiction] = found(djinn)
    assert contradiction.id.startswith("con_")
    assert contradiction.evidence == ("value", "A: Bergen", "B: Oslo")
    assert [side.vault for side in contradiction.subjects] == ["me", "shared"]
    assert found(djinn) == (contradiction,)
    [problem] = djinn.review.accept([contradiction.id], keep="A").problems
    assert "visible to all agents" in problem.why
    clock.time = later(1)
    assert djinn.review.accept([contradiction.id], keep="B", note="She wrote it.").items
    assert djinn.facts.get("anna", "city").value == "Oslo"
    assert not found(djinn)
    [side, _] = contradiction.subjects
    text = (djinn.home.personal("me").root / str(side.path)).read_text()
    assert "status: superseded" in text and "valid_to" in text and "superseded_by" not in text
    assert "Bergen" in text
    with pytest.raises(NotFound, match="waits"):
        djinn.review.accept([contradiction.id], keep="B")
    why = djinn.memories.show(side.name, why=True).why
    assert why and "contradiction settled" in [event.what for event in why.history]


def test_sentences_are_compared_and_both_may_hold(home: Home, djinn: Djinn) -> None:
    lamp = note(
        home, "me/lamp.md", "Some words.\n\nThe lamp burns 40 litres of oil.", type="lesson"
    )
    note(home, "shared/light.md", "The lamp burns 45 litres of oil.", type="lesson")
    note(home, "me/other.md", "The lamp burns 40 litres of oil.", type="lesson")
    note(
        home, "me/old.md", "The lamp burns 90 litres of oil.", type="lesson", valid_to="2020-01-01"
    )
    note(home, "me/done.md", "The lamp burns 80 litres of oil.", status="superseded")
    first, second = found(djinn)
    assert [sides(each) for each in (first, second)] == [
        ("number", "lamp.md", "light.md"), ("number", "other.md", "light.md"),
    ]  # fmt: skip
    assert first.evidence[1] == "A: The lamp burns 40 litres of oil."
    djinn.review.accept([first.id], keep="both")
    assert [each.id for each in found(djinn)] == [second.id]
    lamp.write_text(lamp.read_text() + "\nMore words.\n")
    assert len(found(djinn)) == 2
    djinn.review.accept([second.id], keep="B")
    assert [each.id for each in found(djinn)] == [first.id]


def test_a_side_that_says_something_else_since_is_not_settled(home: Home, djinn: Djinn) -> None:
    lamp = note(home, "me/lamp.md", "The lamp burns 40 litres of oil.", type="lesson")
    note(home, "me/light.md", "The lamp burns 45 litres of oil.", type="lesson")
    [before] = found(djinn)
    lamp.write_text(lamp.read_text().replace("40", "90"))
    with pytest.raises(NotFound, match="waits"):
        djinn.review.accept([before.id], keep="A")
    [now] = found(djinn)
    assert djinn.review.accept([now.id], keep="A").items == (now,)
    with pytest.raises(NotFound):
        djinn.review.accept([now.id], keep="A")


def test_two_that_settle_at_once_close_one_side(home: Home, djinn: Djinn) -> None:
    note(home, "me/lamp.md", "The lamp burns 40 litres of oil.", type="lesson")
    note(home, "me/light.md", "The lamp burns 45 litres of oil.", type="lesson")
    [contradiction] = found(djinn)

    def settle(keep: Literal["A", "B"]) -> bool:
        with Djinn(home) as other:
            try:
                return bool(other.review.accept([contradiction.id], keep=keep).items)
            except NotFound:
                return False

    with ThreadPoolExecutor() as pool:
        assert sorted(pool.map(settle, ("A", "B"))) == [False, True]
    texts = [path.read_text() for path in (home.root / "vaults" / "me").glob("*.md")]
    assert sum("status: superseded" in text for text in texts) == 1


def test_a_vault_that_djinn_only_reads_is_not_changed(
    home: Home, djinn: Djinn, tmp_path: Path
) -> None:
    theirs = tmp_path / "notes" / "lamp.md"
    theirs.parent.mkdir()
    theirs.write_text("The lamp burns 40 litres of oil.\n")
    add_vault(home, "notes", theirs.parent)
    djinn = Djinn(Home(home.root))
    note(home, "shared/light.md", "The lamp burns 45 litres of oil.", type="lesson")
    [contradiction] = found(djinn)
    assert contradiction.subjects[0].vault == "notes"
    [problem] = djinn.review.accept([contradiction.id], keep="B").problems
    assert "read-only vault" in problem.why
    assert theirs.read_text() == "The lamp burns 40 litres of oil.\n"
    assert djinn.review.accept([contradiction.id], keep="both").changes == ()


def test_nothing_of_a_hidden_vault_is_compared(home: Home, djinn: Djinn) -> None:
    add_agent(home, "ada")
    djinn = Djinn(Home(home.root))
    djinn.facts.set("anna", "city", "Oslo", agent="ada")
    djinn.facts.set("anna", "city", "Bergen", agent="me")
    note(home, "ada/lamp.md", "The lamp burns 40 litres of oil.")
    note(home, "me/lamp.md", "The lamp burns 45 litres of oil.")
    assert not found(djinn, "me") and not found(djinn, "ada") and not found(djinn)


def test_forms_and_episodes_contradict_nothing(home: Home, djinn: Djinn) -> None:
    for number in range(20):
        note(home, f"me/form{number}.md", f"The size of the boat is {number} metres.")
    djinn.episodes.record_observation("The lamp burns 40 litres of oil.")
    note(home, "me/lamp.md", "The lamp burns 45 litres of oil.")
    assert not found(djinn)


def test_akin_words_are_compared_in_notes_that_are_near_in_meaning(
    home: Home, djinn: Djinn
) -> None:
    note(home, "me/a.md", "The deployment of the shop needs approval.", type="lesson")
    note(home, "me/b.md", "A deploy of the shop requires no approval.", type="lesson")
    note(home, "me/c.md", "The shop in the deployed tent needs no approval.", type="lesson")
    djinn.index()
    [contradiction] = found(djinn)
    assert sides(contradiction) == ("negation", "a.md", "b.md")


def test_a_contradiction_is_a_proposal(home: Home, djinn: Djinn) -> None:
    lamp = note(home, "me/lamp.md", "The lamp burns 40 litres of oil.", type="lesson")
    light = note(home, "me/light.md", "The lamp burns 45 litres of oil.", type="lesson")
    [action] = djinn.maintain(["contradictions"]).deeds
    [proposal] = found(djinn)
    assert f"({proposal.id})" in action.what
    [problem] = djinn.review.accept([proposal.id]).problems
    assert problem.what == proposal.id and "pass `keep=...`" in problem.why
    before = light.read_bytes()
    djinn.review.accept([proposal.id], keep="A")
    assert statuses(djinn) == ["accepted"]
    [change] = djinn.changes.list().changes
    assert change.command == "review accept"
    djinn.changes.undo()
    assert light.read_bytes() == before
    assert statuses(djinn) == ["open"]
    assert any("1 contradiction" in line for line in djinn.wake().suggestions)
    djinn.review.dismiss([proposal.id])
    assert not found(djinn)
    lamp.write_text(lamp.read_text() + "\nMore words.\n")
    assert found(djinn)[0].id == proposal.id
    assert len(djinn.maintain(["contradictions"]).deeds) == 1


def test_a_process_that_lists_again_follows_notes_and_the_clock(
    home: Home, djinn: Djinn, clock: Clock
) -> None:
    note(home, "me/gate.md", "The tide gate opening lasts 10 minutes.", valid_to="2026-06-01")
    other = note(home, "me/opening.md", "The tide gate opening lasts 20 minutes.")
    djinn.index()
    clock.time = datetime(2026, 5, 1, tzinfo=UTC)
    assert len(found(djinn)) == 1
    other.write_text("The tide gate opening lasts 10 minutes.\n")
    assert not found(djinn)
    other.write_text("The tide gate opening lasts 30 minutes.\n")
    assert len(found(djinn)) == 1
    clock.time = datetime(2026, 7, 1, tzinfo=UTC)
    assert not found(djinn)
    clock.time = datetime(2026, 5, 2, tzinfo=UTC)
    assert len(found(djinn)) == 1
