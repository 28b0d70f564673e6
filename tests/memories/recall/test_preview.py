"""The preview of other parameters of scoring: it orders the last queries as a recall would."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import UsageError
from djinn_memory.home.access import limited_by
from djinn_memory.home.keys import Key
from djinn_memory.home.setup import add_agent


@pytest.fixture
def kettles(djinn: Djinn, shared: Path) -> Djinn:
    for number, name in enumerate("ABC"):
        text = f"kettle water{' of the pier' * number}"
        (shared / f"{name}.md").write_text(f"# {name}\n\n{text}\n")
    djinn.index()
    return djinn


def test_a_preview_is_what_recall_would_answer(kettles: Djinn) -> None:
    for _ in range(3):
        answer = kettles.recall("kettle water").memories
        kettles.rate(useful=[each.title for each in answer if each.title == "C"])
    kettles.recall("water kettle")
    before = [memory.title for memory in kettles.recall("kettle water").memories]
    events = kettles.runtime.state.ledger.rows("select count(*) from event")
    shown = kettles.scores.preview({"blend_boost_factor": 100}).recalls
    assert [recall.query for recall in shown] == ["kettle water", "water kettle"]
    memories = shown[0].memories
    assert [each.title for each in sorted(memories, key=lambda each: each.before or 9)] == before
    assert shown[0].moved == sum(each.before != each.after for each in memories) > 0
    assert kettles.runtime.state.ledger.rows("select count(*) from event") == events
    kettles.home.edit((("scoring", "blend_boost_factor"), 100))
    after = [memory.title for memory in kettles.recall("kettle water").memories]
    assert [each.title for each in memories] == after != before


def test_without_changes_nothing_moves(kettles: Djinn) -> None:
    kettles.recall("kettle water")
    add_agent(kettles.home, "grace")
    [recall] = kettles.scores.preview().recalls
    assert recall.memories and all(each.before == each.after for each in recall.memories)
    assert kettles.scores.preview(agent="grace").recalls == []


@pytest.mark.parametrize("given", [{"recency_floor": 2}, {"blend_recency_weight": 1}, {"x": 1}])
def test_invalid_parameters_are_named(kettles: Djinn, given: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=r"sum to 1|to below 1|unknown key"):
        kettles.scores.preview(given)


def test_a_key_that_hides_a_part_is_shown_no_query(kettles: Djinn) -> None:
    kettles.recall("kettle water")
    assert [recall.query for recall in kettles.scores.recalls().recalls] == ["kettle water"]
    with limited_by(Key(name="k", vaults=["shared"], agents=["me"], created="", digest="k")):
        assert not kettles.scores.preview({"blend_boost_factor": 2}).recalls
        assert not kettles.scores.recalls().recalls


def test_the_last_recalls_are_listed_with_their_ratings(kettles: Djinn) -> None:
    first = kettles.recall("kettle water")
    kettles.recall("water of the pier")
    kettles.rate(first.request_id, useful=[1], not_useful=[2, 3])
    newest, earlier = kettles.scores.recalls().recalls
    assert newest.query == "water of the pier" and newest.useful == newest.not_useful == 0
    assert earlier.request_id == first.request_id and earlier.memories == len(first.memories)
    assert (earlier.useful, earlier.not_useful) == (1, 2)
    add_agent(kettles.home, "kim")
    assert not kettles.scores.recalls(agent="kim").recalls
