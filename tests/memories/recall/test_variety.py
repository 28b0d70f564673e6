"""Memories that say nearly the same do not crowd out what else helps."""

from __future__ import annotations

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home

LESSON = "Of the login: when the clock of the server is ahead, tokens of the login expire at once."


@pytest.fixture(params=["hashing", "none"])
def repetitive(request: pytest.FixtureRequest, home: Home) -> Djinn:
    """Eight checkpoints that say nearly the same, and a lesson; with vectors and without."""
    home.edit((("embedding", "provider"), request.param))
    own = home.root / "vaults" / "me"
    for number in range(8):
        (own / f"checkpoint-{number}.md").write_text(
            f"---\ntype: checkpoint\ntitle: Checkpoint {number}\n---\n"
            f"working on the login of the shop, refresh of login tokens fails in test {number}\n"
        )
    (own / "lesson.md").write_text(f"---\ntype: lesson\ntitle: Clocks\n---\n{LESSON}\n")
    djinn = Djinn(Home(home.root))
    djinn.index()
    return djinn


def test_the_best_of_those_that_say_nearly_the_same_is_followed_by_others(
    repetitive: Djinn,
) -> None:
    question = "working on the login tokens refresh"
    assert repetitive.search(question, limit=20).hits[-1].title == "Clocks"
    recalled = repetitive.recall(question, limit=3).memories
    assert "Clocks" in [memory.title for memory in recalled]
    best, *_ = recalled
    assert (best.type, best.why.weight.variety) == ("checkpoint", 1)
    others = [memory for memory in recalled[1:] if memory.type == "checkpoint"]
    assert [memory.why.weight.variety for memory in others] == [1 / 2, 1 / 3][: len(others)]


@pytest.mark.parametrize("budget", [300, 1000, 2000])
def test_wake_has_room_for_each_kind(repetitive: Djinn, budget: int) -> None:
    context = repetitive.wake(task="working on the login tokens refresh", budget=budget)
    assert [lesson.title for lesson in context.patterns] == ["Clocks"]
    assert context.patterns[0].text or budget < 1000


def test_many_of_one_kind_leave_room_for_the_others(home: Home) -> None:
    own = home.root / "vaults" / "me"
    for number in range(12):
        text = "Send the offer to Ada. " * 60
        (own / f"offer-{number}.md").write_text(f"---\ntype: commitment\n---\n{text}\n")
    (own / "tea.md").write_text("---\ntype: preference\n---\nEarl Grey, never with milk.\n")
    (own / "shop.md").write_text("---\ntype: project\n---\nA web shop for kettles.\n")
    context = Djinn(home).wake(budget=1000)
    assert [excerpt.text for excerpt in context.preferences] == ["Earl Grey, never with milk."]
    assert [excerpt.text for excerpt in context.projects] == ["A web shop for kettles."]
    assert len(context.commitments) > 1
