"""Every plane, and all of them together, in searches, recalls and lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.models import PLANES, Hit

OWN = {
    "semantic": {"Descaling", "Tea in the morning"},
    "episodic": {"The kettle at the harbour leaks.", "The kettle boils."},
    "knowledge": {"Ada", "kettle/volume"},
    "documents": {"manual"},
}
"""The titles of the memories about a kettle, by plane."""

PLAIN = "Shed"
"""A note without a type. It has no plane."""


@pytest.fixture
def djinn(home: Home, tmp_path: Path) -> Djinn:
    own = home.root / "vaults" / "me"
    (own / "shed.md").write_text("# Shed\n\nThe kettle stands in the shed.\n")
    (own / "tea.md").write_text(
        "---\ntitle: Tea in the morning\ntype: pattern\nsource: consolidation\nstatus: active\n"
        "---\nMakes tea with the kettle.\n"
    )
    manual = tmp_path / "manual.txt"
    manual.write_text("Fill the kettle with water. Descale the kettle once a month.\n")
    djinn = Djinn(home)
    djinn.remember("decision", "Descaling", "We descale the kettle with vinegar.")
    djinn.entities.add("Ada", "person", "She repairs every kettle.")
    djinn.facts.set("kettle", "volume", "The kettle holds two litres.")
    djinn.episodes.record_interaction(
        message="The kettle at the harbour leaks.", response="Ask Ada about the kettle."
    )
    djinn.episodes.record_observation(text="The kettle boils.")
    djinn.documents.ingest([manual])
    djinn.index()
    return djinn


@pytest.mark.parametrize("plane", PLANES)
def test_a_search_of_one_plane(djinn: Djinn, plane: str) -> None:
    for mode in ("hybrid", "words", "meaning"):
        hits = djinn.search("kettle", planes=[plane], mode=mode).hits
        assert {hit.title for hit in hits} == OWN[plane], mode
        assert {hit.plane for hit in hits} == {plane}
    recalled = djinn.recall("kettle", planes=[plane]).memories
    assert {memory.title for memory in recalled} == OWN[plane]
    assert {memory.plane for memory in recalled} == {plane}
    listed = djinn.memories.list(planes=[plane]).memories
    assert {memory.title for memory in listed} == OWN[plane]


def test_a_search_of_all_planes(djinn: Djinn) -> None:
    everything = set().union(*OWN.values())
    hits = djinn.search("kettle", planes=[*PLANES], limit=50).hits
    assert {hit.title for hit in hits} == everything
    assert {hit.title for hit in djinn.search("kettle", limit=50).hits} == {*everything, PLAIN}
    recalled = djinn.recall("kettle", planes=[*PLANES], limit=50).memories
    assert {memory.title for memory in recalled} == everything
    listed = djinn.memories.list(planes=[*PLANES]).memories
    assert {memory.title for memory in listed} == everything


def test_the_scores_of_a_plane_are_those_of_all(djinn: Djinn) -> None:
    """BM25 and cosines do not depend on the filters, so scores can be compared."""
    scores = {hit.title: hit.legs for hit in djinn.search("kettle harbour", limit=50).hits}
    for plane in PLANES:
        for hit in djinn.search("kettle harbour", planes=[plane], limit=50).hits:
            for name, leg in hit.legs.items():
                assert leg.raw == pytest.approx(scores[hit.title][name].raw), (hit.title, name)


def test_a_rebuild_brings_all_planes_back(djinn: Djinn) -> None:
    def answers() -> list[list[Hit]]:
        questions = ("kettle", "who repairs the kettle", "descale", "what leaks at the harbour")
        return [
            [*djinn.search(question, planes=[plane], limit=50).hits]
            for question in questions
            for plane in PLANES
        ]

    before, bundle = answers(), djinn.context("descale the kettle")
    djinn.close()
    djinn.home.index_path.unlink()
    djinn.index()
    assert answers() == before
    rebuilt = djinn.context("descale the kettle")
    for part in ("episodes", "patterns", "entities", "documents"):
        assert getattr(rebuilt, part) == getattr(bundle, part)
        assert getattr(bundle, part)
