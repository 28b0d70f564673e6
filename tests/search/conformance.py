"""What every index answers, whatever database it is in."""

from __future__ import annotations

import numpy as np
import pytest

from djinn_memory.embedding.calibration import HashingEmbedder
from djinn_memory.models import Filters
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import FieldGroup, Selection, WordMatch
from tests.search.memory_index import Sample

SAMPLES = [
    Sample("kettle.md", "Kettle", "the kettle sings when the tide comes", "lesson",
           ("kitchen",), "2026-03-01", "active", ("tide|the Ebb",)),
    Sample("tide.md", "Tide", "the tide comes twice a day and the harbour waits", "decision",
           ("sea", "kitchen"), "2026-02-01", "superseded", ("nowhere",)),
    Sample("lamp.md", "Lamp", "a lamp burns oil in the harbour", "fact", ("sea",), "2026-01-01"),
    Sample("secret.md", "Secret", "the tide of a hidden harbour", "fact", ("sea",),
           "2026-05-01", vault="me"),
]  # fmt: skip
"""The last is in a vault that the index under test is not opened for."""

TIDE = WordMatch(((("tide",),),))


def find(index: Index, **filters: tuple[object, ...]) -> list[str]:
    selection = Selection(Filters(**filters))  # type: ignore[arg-type]
    return [memory.path for memory in index.memories(selection)]


def number(index: Index, path: str) -> int:
    [memory] = index.resolve(f"shared:{path}")
    return memory.memory_id


class IndexConformance:
    """Subclass it with a fixture `index` that holds SAMPLES, opened for the vault `shared`."""

    def test_memories_come_in_order_and_by_pages(self, index: Index) -> None:
        assert find(index) == ["kettle.md", "tide.md", "lamp.md"]
        titles = [memory.title for memory in index.memories(order="title")]
        assert titles == ["Kettle", "Lamp", "Tide"]
        assert [memory.path for memory in index.memories(limit=1, skip=1)] == ["tide.md"]

    def test_filters_narrow(self, index: Index) -> None:
        assert find(index, types=("lesson", "fact")) == ["kettle.md", "lamp.md"]
        assert find(index, tags=("sea", "kitchen")) == ["tide.md"]
        assert find(index, planes=("knowledge",)) == ["lamp.md"]
        assert find(index, where=(("status", "active"),)) == ["kettle.md"]
        assert find(index, excluded=(("tag", "sea"),)) == ["kettle.md"]
        assert find(index, excluded=(("status", "superseded"),)) == ["kettle.md", "lamp.md"]
        assert find(index, vaults=("me",)) == []
        selection = Selection(Filters(since="2026-02-01", until="2026-02-28"))
        assert [memory.path for memory in index.memories(selection)] == ["tide.md"]

    def test_a_time_leaves_out_what_came_later(self, index: Index) -> None:
        selection = Selection(Filters(as_of="2026-02-15T23:59:59Z"))
        assert [memory.path for memory in index.memories(selection)] == ["tide.md", "lamp.md"]

    def test_memories_by_what_identifies_them(self, index: Index) -> None:
        for selection in (
            Selection(ids=(SAMPLES[2].id, SAMPLES[3].id)),
            Selection(places=(("shared", "lamp.md"), ("me", "secret.md"))),
        ):
            [memory] = index.memories(selection)
            assert (memory.id, memory.path) == (SAMPLES[2].id, "lamp.md")
        assert index.lookup([memory.memory_id]) == {memory.memory_id: memory}
        assert memory.field("status") is None

    def test_words_are_found_and_scored_alike(self, index: Index) -> None:
        refs = index.words.search(TIDE, Selection(), 10)
        assert {index.lookup([ref.memory_id])[ref.memory_id].path for ref in refs} == {
            "tide.md", "kettle.md",
        }  # fmt: skip
        scores = index.words.score(TIDE, [ref.chunk_id for ref in refs])
        assert [ref.chunk_id for ref in refs] == sorted(scores, key=lambda key: -scores[key])
        assert min(scores.values()) > 0
        assert len(index.words.search(TIDE, Selection(), 1)) == 1

    def test_every_word_and_phrases(self, index: Index) -> None:
        both = (("tide",),), (("harbour",),)
        assert len(index.words.search(WordMatch(both), Selection(), 10)) == 3
        [ref] = index.words.search(WordMatch(both, every=True), Selection(), 10)
        assert ref.memory_id == number(index, "tide.md")
        phrase = ((("the", "tide"),),)
        kept = Selection(phrases=phrase, without=((("twice",),),))
        assert [ref.memory_id for ref in index.words.search(TIDE, kept, 10)] == [
            number(index, "kettle.md")
        ]

    def test_the_nearest_chunks_and_their_cosines(self, index: Index) -> None:
        [vector] = HashingEmbedder().embed(["Tide"])
        assert index.vectors.space
        assert index.vectors.space.identity == HashingEmbedder.identity
        refs = index.vectors.nearest(vector, Selection(Filters(tags=("kitchen",))), 10)
        assert {ref.memory_id for ref in refs} == {
            number(index, "kettle.md"), number(index, "tide.md"),
        }  # fmt: skip
        measured = index.vectors.measure(vector, [ref.chunk_id for ref in refs])
        assert measured.keys() == {ref.chunk_id for ref in refs}
        for each in measured.values():
            assert each.cosine == pytest.approx(float(np.asarray(each.vector) @ vector), abs=1e-5)

        # Answers are read in any order, and after others.
        ask_near = index.vectors.ask_nearest(vector, Selection(), 2)
        ask_measured = index.vectors.ask_measure(vector, [ref.chunk_id for ref in refs])
        assert index.words.search(TIDE, Selection(), 10)
        assert ask_measured().keys() == measured.keys()
        assert ask_near() == index.vectors.nearest(vector, Selection(), 2)

        # The samples are embedded by a model that knows no tokens.
        assert index.vectors.token_signs({ref.chunk_id: 0 for ref in refs}) == {}

    def test_chunks(self, index: Index) -> None:
        lamp = number(index, "lamp.md")
        [chunk] = index.chunks_of([lamp])[lamp]
        assert (chunk.memory_id, chunk.ordinal) == (lamp, 0)
        assert chunk.text.strip() == SAMPLES[2].text
        assert index.chunks([chunk.chunk_id]) == {chunk.chunk_id: chunk}

    def test_names(self, index: Index) -> None:
        for name in ("lamp.md", "Lamp", "shared:lamp.md", SAMPLES[2].id):
            assert [memory.path for memory in index.resolve(name)] == ["lamp.md"]
        assert index.resolve("Secret") == index.resolve("me:secret.md") == []

    def test_loose_names(self, index: Index) -> None:
        for name in ("LAMP", " lamp ", "[[Lamp]]", "/lamp", "lamp.MD", SAMPLES[2].id.upper()):
            assert [memory.path for memory in index.resolve(name)] == ["lamp.md"], name
        for name in ("lam", "lamps", "x/lamp", "../lamp", "the lamp", "lamp#^x", "", ".md", "%"):
            assert index.resolve(name) == [], name

    def test_memories_by_their_whole_name(self, index: Index) -> None:
        for name in ("lamp", "LAMP", "lamp.md", ' "lamp" '):
            [memory] = index.memories(Selection(name=name))
            assert memory.path == "lamp.md"
        for name in ("lam", "the lamp", "secret", "", "lamp%"):
            assert not list(index.memories(Selection(name=name)))
        assert not list(index.memories(Selection(Filters(types=("lesson",)), name="lamp")))

    def test_names_of_a_selection(self, index: Index) -> None:
        names = index.names(Selection(Filters(planes=("knowledge",))))
        assert [(each.title, each.type, each.aliases) for each in names] == [("Lamp", "fact", ())]

    def test_chunks_with_a_phrase(self, index: Index) -> None:
        phrases = (("tide", "comes"), ("a", "lamp"))
        refs = index.words.containing(phrases, Selection())
        assert [ref.place[1] for ref in refs] == ["kettle.md", "lamp.md", "tide.md"]
        refs = index.words.containing(phrases, Selection(Filters(types=("fact",))))
        assert [ref.place[1] for ref in refs] == ["lamp.md"]
        assert index.words.containing((), Selection()) == []

    def test_texts_with_a_phrase(self, index: Index) -> None:
        phrases = (("tide", "comes"), ("a", "lamp"))
        refs = index.words.containing(phrases, Selection())
        chunk_ids = index.words.chunks_with(phrases)
        assert chunk_ids == sorted(ref.chunk_id for ref in refs)
        assert index.words.chunks_with(()) == []
        for ids in (chunk_ids, chunk_ids[::-1]):
            texts = [*index.texts(ids)]
            chunks, memories = index.chunks(ids), index.lookup([text.memory_id for text in texts])
            assert [text.chunk_id for text in texts] == ids
            for text in texts:
                chunk, memory = chunks[text.chunk_id], memories[text.memory_id]
                assert (text.memory_id, text.ordinal) == (chunk.memory_id, chunk.ordinal)
                assert (text.lines, text.text) == (chunk.lines, chunk.text)
                assert (text.title, text.date) == (memory.title, memory.date)

    def test_backlinks(self, index: Index) -> None:
        kettle, tide = number(index, "kettle.md"), number(index, "tide.md")
        [link] = index.backlinks([tide])
        [chunk] = index.chunks_of([kettle])[kettle]
        assert (link.target, link.source, link.text) == (tide, kettle, "tide")
        assert link.chunk_id == chunk.chunk_id
        assert link.date == index.lookup([kettle])[kettle].date

    def test_links_both_ways(self, index: Index) -> None:
        kettle, tide = number(index, "kettle.md"), number(index, "tide.md")
        links = {(link.source, link.target, link.text) for link in index.links([tide])}
        assert links == {(kettle, tide, "tide"), (tide, None, "nowhere")}

    def test_edges(self, index: Index) -> None:
        kettle, tide = number(index, "kettle.md"), number(index, "tide.md")
        [edge] = index.edges()
        assert (edge.source, edge.target, edge.text, edge.field) == (kettle, tide, "the Ebb", None)
        assert index.edges(["nothing", "ebb"]) == [edge]
        assert index.edges(["tide"]) == index.edges([]) == []
        assert index.shown(["ebb"])["the Ebb"] == {tide}
        [link] = [link for link in index.links([kettle]) if link.target == tide]
        assert edge.line == link.line
        assert index.ends().tolist() == [[kettle, tide, link.line]]

    def test_counts_and_values(self, index: Index) -> None:
        counts = index.counts()
        assert (counts.notes, counts.links, counts.unresolved) == (3, 2, 1)
        assert index.count() == 3
        assert index.count(Selection(Filters(tags=("sea",)))) == 2
        assert counts.tags == {"kitchen": 2, "sea": 2}
        assert counts.vaults == {"shared": 3}
        assert index.values("tag") == ["kitchen", "sea"]
        assert index.values("type", Selection(Filters(tags=("sea",)))) == ["decision", "fact"]
        assert [each.path for each in index.titles()] == sorted(
            each.path for each in index.titles()
        )
        assert index.groups("status") == [
            FieldGroup("superseded", 1, "2026-02-01", "2026-02-01"),
            FieldGroup("active", 1, "2026-03-01", "2026-03-01"),
        ]  # fmt: skip
        assert index.vectors.waiting() == 0
        tide = number(index, "tide.md")
        assert index.sizes([tide])[tide] == (1, 0)

    def test_the_vocabulary(self, index: Index) -> None:
        vocabulary = index.words
        assert vocabulary.split("The Tides!") == ["the", "tides"]
        [stem] = vocabulary.stems("tides")
        assert vocabulary.frequency(stem) == vocabulary.holding(["tides"]) >= 2
        assert stem in vocabulary.near(stem, 10)
        assert all("tide" in text.lower() for text in index.words.texts_with(stem, 3))
