"""A wide recall answers from the communities of notes around the best ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.memories.recall.wide import NONE_NEAR, SHARE
from tests.conftest import Run

DEPLOYMENT = {
    "Deployment": "A deployment of the server runs at noon. [[Rollback]] [[Canary]] [[Servers]]",
    "Rollback": "A rollback takes the last deployment back in a minute. [[Canary]]",
    "Canary": "The canary gets each deployment first, with a tenth of the load. [[Deployment]]",
    "Servers": "Three servers stand in the cellar of the house. [[Canary]] [[Rollback]]",
    "Alarm": "The alarm rings in the night. [[Servers]] [[Deployment]] [[Rollback]]",
}
OTHERS = {
    "Bread": "Bread needs flour, water, salt and an hour of patience. [[Oven]]",
    "Oven": "The oven must be hot before the bread goes in. [[Sourdough]]",
    "Sourdough": "Sourdough bread rises with flour and water alone. [[Bread]]",
}
QUESTION = "what do we know about the deployment of the server"


@pytest.fixture
def wide(djinn: Djinn, shared: Path) -> Djinn:
    for name, text in {**DEPLOYMENT, **OTHERS}.items():
        (shared / f"{name}.md").write_text(text)
    djinn.index()
    return djinn


def test_the_answer_has_the_communities_of_its_memories(wide: Djinn) -> None:
    recalled = wide.recall(QUESTION, wide=True)
    [community] = recalled.communities
    assert {memory.title for memory in community.central} == DEPLOYMENT.keys()
    assert any("deployment" in sentence.text for sentence in community.summary)
    titles = [memory.title for memory in recalled.memories]
    assert "Deployment" in titles
    assert community.ranks == tuple(
        rank for rank, title in enumerate(titles, 1) if title in DEPLOYMENT
    )
    texts = sum(memory.tokens for memory in recalled.memories)
    assert recalled.tokens == texts + community.tokens <= recalled.budget == 4_000
    assert wide.recall(QUESTION).communities == ()


def test_each_memory_can_be_rated(wide: Djinn) -> None:
    recalled = wide.recall(QUESTION, wide=True)
    ranks = [memory.rank for memory in recalled.memories]
    judged = wide.rate(recalled.request_id, useful=ranks).judged
    assert [rated.title for rated in judged] == [memory.title for memory in recalled.memories]


def test_summaries_have_a_share_of_the_budget(wide: Djinn) -> None:
    recalled = wide.recall(QUESTION, wide=True, budget=60)
    assert recalled.tokens <= 60
    assert sum(community.tokens for community in recalled.communities) <= SHARE * 60
    assert recalled.memories


def test_without_a_community_it_is_a_recall_that_says_so(djinn: Djinn, shared: Path) -> None:
    (shared / "deployment.md").write_text(DEPLOYMENT["Deployment"])
    djinn.index()
    recalled = djinn.recall(QUESTION, wide=True)
    assert (recalled.communities, NONE_NEAR in recalled.problems) == ((), True)
    assert [memory.title for memory in recalled.memories] == ["deployment"]
    assert djinn.recall("zebras", wide=True).memories == ()


def test_filters_also_limit_the_communities(wide: Djinn) -> None:
    recalled = wide.recall(QUESTION, wide=True, paths=["Deployment", "Servers"])
    assert recalled.communities == ()


def test_the_command_prints_communities_first(wide: Djinn, run: Run) -> None:
    shown = run("--home", str(wide.home.root), "recall", "--wide", QUESTION).stdout
    first, second, *_ = shown.splitlines()
    assert first.startswith("[1] ")
    assert "5 notes, " in second
