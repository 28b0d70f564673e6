"""All commands that say what is known agree, and say the less the less is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.memories.briefing.markdown import markdown
from djinn_memory.models import CLOSEST, FLOOR, NEAR

NOTES = {
    "export": "The invoice export for Brightstone stops at line 400. Split the file by month.",
    "kettle": "Descale the kettle with vinegar every month, and rinse it twice.",
    "ferry": "The ferry to the island leaves from the second pier at nine.",
    "tide": "The gauge at the pier counts from the wrong zero, so add two metres.",
}

TASKS = (
    "continue the invoice export for Brightstone",
    "resume the work on the ferry, where were we with the pier?",
    "what did we decide about the kettle's vinegar?",
    "plan a week with my uncle and his month of island music",
    'the "second pier" -gauge',
    "quantum chromodynamics of gluons",
    "which metres of the file leave twice from the line of zero to nine in the wrong work",
)


@pytest.fixture
def djinn(djinn: Djinn, shared: Path) -> Djinn:
    for name, text in NOTES.items():
        (shared / f"{name}.md").write_text(
            f"---\ntype: lesson\ncreated: 2020-01-01\n---\n# {name}\n\n{text}\n"
        )
    djinn.index()
    return djinn


@pytest.mark.parametrize("task", TASKS)
def test_recall_context_and_wake_agree(djinn: Djinn, task: str) -> None:
    recalled, bundle, woken = djinn.recall(task), djinn.context(task), djinn.wake(task=task)
    if '"' not in task:
        assert recalled.verdict == bundle.verdict
        assert djinn.search(task).verdict == recalled.verdict
    assert bundle.verdict == woken.verdict
    assert recalled.confident == (recalled.verdict == "sure")
    texts = [memory.text for memory in recalled.memories]
    if recalled.verdict != "sure":
        assert len(texts) <= CLOSEST
    if recalled.verdict in ("near", "nothing"):
        assert not any(texts) and recalled.tokens == 0
    assert bool(texts) == (recalled.verdict != "nothing")
    assert ("Nothing is known" in markdown(bundle)) == (bundle.verdict == "nothing")


def test_a_task_of_long_ago_that_continues_is_known(djinn: Djinn) -> None:
    assert djinn.wake(task=TASKS[0]).verdict == "sure"
    assert "Brightstone" in markdown(djinn.context(TASKS[0]))
    assert djinn.context("quantum chromodynamics of gluons").verdict == "nothing"
    assert djinn.context().verdict is None


def test_what_is_given_is_near(djinn: Djinn) -> None:
    for task in TASKS:
        shown, recalled = djinn.search(task).shown, djinn.recall(task)
        raw = [memory.why.weight.raw for memory in recalled.memories]
        assert all(score >= NEAR for score in raw)
        if recalled.verdict != "sure":
            least = FLOOR if recalled.verdict == "weak" else NEAR
            assert all(hit.score >= least for hit in shown)
            assert bool(shown) == bool(raw)
