"""Contradictions in a home: listed with both sides, and settled by a person or an agent."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, Refused
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent, add_vault
from tests.memories.facts.test_facts import NOW, Clock, later


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
    [contradiction] = djinn.contradictions.list().contradictions
    assert contradiction.difference == "value" and contradiction.id.startswith("con_")
    assert (contradiction.a.vault, contradiction.a.text) == ("me", "Bergen")
    assert (contradiction.b.vault, contradiction.b.text) == ("shared", "Oslo")
    assert contradiction.b.evidence == ("[[Letter]]",)
    assert djinn.contradictions.list().contradictions[0].id == contradiction.id
    with pytest.raises(Refused, match="visible to all agents"):
        djinn.contradictions.settle(contradiction.id, "A")
    clock.time = later(1)
    done = djinn.contradictions.settle(contradiction.id, "B", note="She wrote it.")
    assert done.closed and done.closed.text == "Bergen"
    assert djinn.facts.get("anna", "city").value == "Oslo"
    assert not djinn.contradictions.list().contradictions
    text = Path(contradiction.a.file).read_text()
    assert "status: superseded" in text and "valid_to" in text and "superseded_by" not in text
    assert "Bergen" in text
    with pytest.raises(NotFound, match="no open contradiction"):
        djinn.contradictions.settle(contradiction.id, "B")
    why = djinn.memories.show(contradiction.a.id or "", why=True).why
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
    found = djinn.contradictions.list().contradictions
    assert [(each.difference, each.a.path, each.b.path) for each in found] == [
        ("number", "lamp.md", "light.md"), ("number", "other.md", "light.md"),
    ]  # fmt: skip
    assert found[0].a.text == "The lamp burns 40 litres of oil."
    djinn.contradictions.settle(found[0].id, "both")
    assert [each.id for each in djinn.contradictions.list().contradictions] == [found[1].id]
    lamp.write_text(lamp.read_text() + "\nMore words.\n")
    assert len(djinn.contradictions.list().contradictions) == 2
    djinn.contradictions.settle(found[1].id, "B")
    assert [each.id for each in djinn.contradictions.list().contradictions] == [found[0].id]


def test_a_side_that_says_something_else_since_is_not_settled(home: Home, djinn: Djinn) -> None:
    lamp = note(home, "me/lamp.md", "The lamp burns 40 litres of oil.", type="lesson")
    note(home, "me/light.md", "The lamp burns 45 litres of oil.", type="lesson")
    [before] = djinn.contradictions.list().contradictions
    lamp.write_text(lamp.read_text().replace("40", "90"))
    with pytest.raises(NotFound, match="no open contradiction"):
        djinn.contradictions.settle(before.id, "A")
    [now] = djinn.contradictions.list().contradictions
    assert djinn.contradictions.settle(now.id, "A").closed == now.b
    with pytest.raises(NotFound):
        djinn.contradictions.settle(now.id, "A")


def test_two_that_settle_at_once_close_one_side(home: Home, djinn: Djinn) -> None:
    note(home, "me/lamp.md", "The lamp burns 40 litres of oil.", type="lesson")
    note(home, "me/light.md", "The lamp burns 45 litres of oil.", type="lesson")
    [contradiction] = djinn.contradictions.list().contradictions

    def settle(keep: Literal["A", "B"]) -> bool:
        with Djinn(home) as other:
            try:
                return bool(other.contradictions.settle(contradiction.id, keep).closed)
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
    [contradiction] = djinn.contradictions.list().contradictions
    assert contradiction.a.vault == "notes"
    with pytest.raises(Refused, match="read-only vault"):
        djinn.contradictions.settle(contradiction.id, "B")
    assert theirs.read_text() == "The lamp burns 40 litres of oil.\n"
    assert djinn.contradictions.settle(contradiction.id, "both").closed is None


def test_nothing_of_a_hidden_vault_is_compared(home: Home, djinn: Djinn) -> None:
    add_agent(home, "ada")
    djinn = Djinn(Home(home.root))
    djinn.facts.set("anna", "city", "Oslo", agent="ada")
    djinn.facts.set("anna", "city", "Bergen", agent="me")
    note(home, "ada/lamp.md", "The lamp burns 40 litres of oil.")
    note(home, "me/lamp.md", "The lamp burns 45 litres of oil.")
    assert not djinn.contradictions.list(agent="me").contradictions
    assert not djinn.contradictions.list(agent="ada").contradictions


def test_forms_and_episodes_contradict_nothing(home: Home, djinn: Djinn) -> None:
    for number in range(20):
        note(home, f"me/form{number}.md", f"The size of the boat is {number} metres.")
    djinn.episodes.record_observation("The lamp burns 40 litres of oil.")
    note(home, "me/lamp.md", "The lamp burns 45 litres of oil.")
    assert not djinn.contradictions.list().contradictions


def test_akin_words_are_compared_in_notes_that_are_near_in_meaning(
    home: Home, djinn: Djinn
) -> None:
    note(home, "me/a.md", "The deployment of the shop needs approval.", type="lesson")
    note(home, "me/b.md", "A deploy of the shop requires no approval.", type="lesson")
    note(home, "me/c.md", "The shop in the deployed tent needs no approval.", type="lesson")
    djinn.index()
    [found] = djinn.contradictions.list().contradictions
    assert (found.difference, found.a.path, found.b.path) == ("negation", "a.md", "b.md")


def test_a_contradiction_is_a_proposal(home: Home, djinn: Djinn) -> None:
    lamp = note(home, "me/lamp.md", "The lamp burns 40 litres of oil.", type="lesson")
    light = note(home, "me/light.md", "The lamp burns 45 litres of oil.", type="lesson")
    [action] = djinn.maintain(["contradictions"]).deeds
    [proposal] = djinn.proposals.list().proposals
    assert (proposal.kind, proposal.evidence) == ("contradiction", ("number",))
    assert f"({proposal.id})" in action.what
    assert djinn.proposals.accept(all=True).proposals == ()
    [problem] = djinn.proposals.accept([proposal.id]).problems
    assert problem.what == proposal.id and "contradictions.settle" in problem.why
    before = light.read_bytes()
    djinn.contradictions.settle(proposal.id, "A")
    assert djinn.proposals.show(proposal.id).proposal.status == "accepted"
    [change] = djinn.changes.list().changes
    assert change.command == "review accept"
    djinn.changes.undo()
    assert light.read_bytes() == before
    assert djinn.proposals.show(proposal.id).proposal.status == "open"
    assert any("1 contradiction" in line for line in djinn.wake().suggestions)
    djinn.proposals.dismiss([proposal.id])
    assert djinn.contradictions.list().total == 0
    lamp.write_text(lamp.read_text() + "\nMore words.\n")
    assert djinn.contradictions.list().contradictions[0].id == proposal.id
    assert len(djinn.maintain(["contradictions"]).deeds) == 1
