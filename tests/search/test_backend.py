"""Two backends conform, and a search asks either; a leg is added by registration alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from djinn_memory.cli.hits import print_hits
from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.models import Vault
from djinn_memory.runtime import Runtime
from djinn_memory.search.backend import Index
from djinn_memory.search.candidate import Candidate, Scored
from djinn_memory.search.legs import LEGS
from djinn_memory.search.state import Leg, Search
from djinn_memory.store.index.records import ChunkRef, Selection
from tests.search.conformance import SAMPLES, IndexConformance
from tests.search.memory_index import MemoryIndex


@pytest.fixture
def filled(home: Home, shared: Path) -> Home:
    """The samples, indexed."""
    for sample in SAMPLES:
        path = home.root / "vaults" / sample.vault / sample.path
        path.write_text(sample.write())
    Djinn(home).index()
    return home


class TestSqliteIndex(IndexConformance):
    @pytest.fixture
    def index(self, filled: Home) -> Iterator[Index]:
        with Djinn(filled).runtime.index(filled.named(("shared",))) as index:
            yield index


class TestMemoryIndex(IndexConformance):
    @pytest.fixture
    def index(self, home: Home) -> Index:
        return MemoryIndex(SAMPLES, tuple(home.named(("shared",))))


class MemoryRuntime(Runtime):
    """A home whose index is in dictionaries."""

    def index(self, vaults: Sequence[Vault]) -> AbstractContextManager[Index]:  # type: ignore[override]
        return nullcontext(MemoryIndex(SAMPLES, tuple(vaults)))


@pytest.mark.parametrize(
    "query", ["tide", "harbour oil", '"the tide" -twice', "tag:sea", "harbuor"]
)
def test_a_search_asks_any_backend(filled: Home, query: str) -> None:
    djinn, other = Djinn(filled), Djinn(filled)
    other.runtime = MemoryRuntime(filled)
    expected, result = djinn.search(query), other.search(query)
    assert {hit.path for hit in result.hits} == {hit.path for hit in expected.hits}
    assert (result.mode, result.suggestions) == (expected.mode, expected.suggestions)
    assert [hit.legs.keys() for hit in result.hits] == [hit.legs.keys() for hit in expected.hits]


class TitleLeg(Leg):
    """Proposes the memory with the shortest title."""

    name = "title"
    label = "shortest title"
    unit = "length"
    weight = 0.5

    def propose(
        self, search: Search, selection: Selection, seeds: Sequence[Candidate] | None = None
    ) -> Callable[[], list[ChunkRef]] | None:
        if seeds is not None:
            return None
        memories = sorted(search.index.memories(selection), key=lambda each: len(each.title))
        refs = [
            ChunkRef(memory.first_chunk, memory.memory_id, (memory.vault, memory.path, 1, 0))
            for memory in memories[:1]
            if memory.first_chunk is not None
        ]
        return lambda: refs

    def score(
        self, search: Search, chunk_ids: Sequence[int], own: Sequence[int]
    ) -> Callable[[], dict[int, Scored]]:
        return lambda: {chunk: Scored(4.0, 1.0, 1) for chunk in own if chunk in chunk_ids}


def test_a_leg_is_added_by_registration(
    filled: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    djinn = Djinn(filled)
    assert [hit.path for hit in djinn.search("kettle sings").hits][:1] == ["kettle.md"]
    monkeypatch.setattr("djinn_memory.search.legs.LEGS", [*LEGS, f"{__name__}:TitleLeg"])
    result = djinn.search("kettle sings")
    hits = {hit.path: hit for hit in result.hits}
    assert all(hit.legs.keys() == {"words", "meaning", "title"} for hit in hits.values())
    shortest = [path for path, hit in hits.items() if hit.legs["title"].rank == 1]
    assert shortest in (["tide.md"], ["lamp.md"])
    leg = hits[shortest[0]].legs["title"]
    assert leg.raw == 4.0
    assert leg.part == pytest.approx(1 / 3)
    print_hits(result, "table", explain=True)
    assert "shortest title length 4.000 (rank 1) contributes 0.333" in capsys.readouterr().out
    print_hits(result, "csv", explain=True)
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.endswith(",words,meaning,graph,title")
    assert sum(row.endswith(",4.0000") for row in rows) == 1
    for hit in hits.values():
        parts = sum(each.part for each in hit.legs.values())
        assert hit.score == pytest.approx(min(1, max(0, parts + hit.feedback)), abs=1e-4)
    assert "title" not in djinn.search("kettle sings", mode="words").hits[0].legs


class EchoLeg(Leg):
    """Finds nothing in the first round, and in the second the memories after the best seed."""

    name = "echo"
    label = "echo"
    unit = "steps"
    weight = 0.5

    def propose(
        self, search: Search, selection: Selection, seeds: Sequence[Candidate] | None = None
    ) -> Callable[[], list[ChunkRef]] | None:
        if not seeds:
            return None
        known = {seed.memory_id for seed in seeds}
        refs = [
            ChunkRef(memory.first_chunk, memory.memory_id, (memory.vault, memory.path, 1, 0))
            for memory in search.index.memories(selection)
            if memory.first_chunk is not None and memory.memory_id not in known
        ]
        return lambda: refs

    def score(
        self, search: Search, chunk_ids: Sequence[int], own: Sequence[int]
    ) -> Callable[[], dict[int, Scored]]:
        return lambda: {chunk: Scored(1.0, 1.0, rank) for rank, chunk in enumerate(own, 1)}


def test_a_leg_finds_more_from_the_candidates_of_the_first_round(
    filled: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    djinn = Djinn(filled)
    before = {hit.path for hit in djinn.search("kettle sings", limit=20).hits}
    monkeypatch.setattr("djinn_memory.search.legs.LEGS", [*LEGS, f"{__name__}:EchoLeg"])
    result = djinn.search("kettle sings", limit=20)
    added = {hit.path for hit in result.hits if hit.legs["echo"].rank}
    assert added
    assert not added & before
    assert djinn.search("zebra", limit=20).confident is False
