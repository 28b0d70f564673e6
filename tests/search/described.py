"""Everything that an index answers, with addresses instead of numbers, to compare two of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from djinn_memory.models import Filters
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import Selection, WordMatch

NOW = datetime(2026, 11, 23, tzinfo=UTC)

SELECTIONS = {
    "all": Selection(),
    "now": Selection(now=NOW),
    "tag": Selection(Filters(tags=("food",))),
    "nested tag": Selection(Filters(tags=("#food/bread/",))),
    "not tag": Selection(Filters(excluded=(("tag", "food"), ("path", "kettle")))),
    "not type": Selection(Filters(excluded=(("type", "fact"), ("status", "active")))),
    "types": Selection(Filters(types=("Fact", "episode"))),
    "plane": Selection(Filters(planes=("episodic", "knowledge"))),
    "domain": Selection(Filters(domains=("Work",))),
    "path": Selection(Filters(paths=("JOURNAL", "lamp"))),
    "days": Selection(Filters(since="2026-01-15", until="2026-02")),
    "as of": Selection(Filters(as_of="2026-02-15T00:00:00Z"), now=NOW),
    "where": Selection(Filters(where=(("Status", "Active"),))),
    "first chunk": Selection(first_chunk=True),
    "whole files": Selection(whole_files=True),
    "name": Selection(name="grosse mühle"),
    "file name": Selection(name="lamp.md"),
    "phrase": Selection(phrases=((("the", "tide"),),)),
    "without": Selection(without=((("twice",),), (("lamp",), ("kettle",)))),
    "places": Selection(places=(("shared", "lamp.md"), ("nowhere", "x.md"))),
    "ids": Selection(ids=("mem_unknown",)),
    "vault": Selection(Filters(vaults=("shared",))),
    "other vault": Selection(Filters(vaults=("unknown",))),
}

WORDS = {
    "one": WordMatch(((("tide",),),)),
    "several": WordMatch(((("lamp",),), (("harbour",),), (("the", "tide"),))),
    "every": WordMatch(((("tide",),), (("harbour",), ("lamp",))), every=True),
    "forms": WordMatch(((("mühlen",), ("muhl\ue000",)),)),
    "pair": WordMatch(((("日本",),), (("都",),))),
    "unknown": WordMatch(((("xylophone",),),)),
}

NAMES = ("lamp", "lamp.md", "shared:lamp.md", "shared/lamp.md", "Große Mühle", "[[tide]]",
         "capital", "東京", "nowhere", "", "work", "Work", "a\0b", "vault:none")  # fmt: skip


def described(index: Index, vector: Any) -> dict[str, Any]:
    """What an index answers to many questions."""
    memories = {memory.memory_id: memory.address for memory in index.memories()}
    chunks = {
        chunk.chunk_id: f"{memories[key]} {chunk.ordinal}"
        for key, listed in index.chunks_of(memories).items()
        for chunk in listed
    }
    answers: dict[str, Any] = {}
    for name, selection in SELECTIONS.items():
        selected = _selected(index, selection, memories)
        answers |= {f"{name}, {what}": answer for what, answer in selected.items()}
        for words, match in WORDS.items():
            refs = index.words.search(match, selection, 8, 2)
            answers[f"{name}, {words}"] = [(chunks[ref.chunk_id], ref.place) for ref in refs]
        for limit, most in ((2, 1), (2, 5), (50, 3)):
            refs = index.vectors.nearest(vector, selection, limit, most)
            answers[f"{name}, near {limit} {most}"] = [chunks[ref.chunk_id] for ref in refs]
    for words, match in WORDS.items():
        scores = index.words.score(match, list(chunks))
        answers[f"score {words}"] = {chunks[key]: round(score, 6) for key, score in scores.items()}
    answers |= _of_memories(index, memories, chunks)
    answers |= {f"resolve {name}": [each.address for each in index.resolve(name)] for name in NAMES}
    measured = index.vectors.measure(vector, list(chunks))
    answers["measured"] = {
        chunks[key]: (round(each.cosine, 5), each.window) for key, each in measured.items()
    }
    return answers | _vocabulary(index)


def _selected(index: Index, selection: Selection, memories: Mapping[int, str]) -> dict[str, Any]:
    orders = ("newest", "written", "title")
    answers: dict[str, Any] = {
        order: [memories[each.memory_id] for each in index.memories(selection, order=order)]
        for order in orders
    }
    page = index.memories(selection, order="title", limit=2, skip=1, fields=["status"])
    openings = index.openings(selection, characters=9, fields=["status"], limit=3)
    return answers | {
        "page": [(each.path, each.fields) for each in page],
        "openings": list(openings),
        "count": index.count(selection),
        "counts": index.counts(selection),
        "titles": index.titles(selection),
        "names": [_numberless(each) for each in index.names(selection)],
        "named": index.named(["lamp", "grosse mühle", "none"], selection),
        "tags": index.values("tag", selection),
        "types": index.values("type", selection),
        "values": index.values("status", selection),
        "groups": index.groups("status", selection),
        "containing": [
            ref.place for ref in index.words.containing((("the", "tide"), ("lamp",)), selection)
        ],
    }


def _of_memories(
    index: Index, memories: Mapping[int, str], chunks: Mapping[int, str]
) -> dict[str, Any]:
    def end(number: int | None) -> str | None:
        return None if number is None else memories.get(number, "hidden")

    known = index.lookup(memories)
    links = [
        (end(link.source), end(link.target), msgspec.structs.replace(link, source=0, target=0))
        for link in index.links(memories)
    ]
    backlinks = [
        (end(link.target), end(link.source), chunks.get(link.chunk_id or 0), link.line, link.text)
        for link in index.backlinks(memories)
    ]
    texts = index.texts(list(chunks)[::-1])
    return {
        "lookup": {memories[key]: _numberless(memory) for key, memory in known.items()},
        "first chunks": {
            memories[key]: chunks.get(memory.first_chunk or 0) for key, memory in known.items()
        },
        "chunks": {
            chunks[key]: msgspec.structs.replace(chunk, chunk_id=0, memory_id=0)
            for key, chunk in index.chunks(chunks).items()
        },
        "first": {
            memories[key]: [chunks[chunk.chunk_id] for chunk in listed]
            for key, listed in index.chunks_of(memories, 1).items()
        },
        "texts": [(chunks[text.chunk_id], memories[text.memory_id], *text[2:]) for text in texts],
        "sizes": {memories[key]: size for key, size in index.sizes(memories).items()},
        "links": sorted(links, key=repr),
        "backlinks": sorted(backlinks, key=repr),
        "with": sorted(chunks[key] for key in index.words.chunks_with((("lamp",), ("都",)))),
    }


def _vocabulary(index: Index) -> dict[str, Any]:
    words = index.words
    texts: Callable[[str], list[str]] = lambda stem: sorted(words.texts_with(stem, 50))  # noqa: E731
    return {
        "languages": words.languages,
        "total": words.total,
        "stems": words.stems("Mühlen"),
        "frequency": [words.frequency(stem) for stem in ("tide", "lamp", "none")],
        "rarity": [round(words.rarity([word]), 6) for word in ("tide", "harbours", "none")],
        "near": words.near("lamp", 20),
        "compounds": words.compounds("wassermuhl\ue000"),
        "texts": texts("lam"),
        "waiting": index.vectors.waiting(),
        "space": index.vectors.space and index.vectors.space.identity,
        "vaults": [vault.name for vault in index.vaults],
    }


def _numberless(record: Any) -> Any:
    """A record of a memory without its numbers."""
    names = {"memory_id", "first_chunk"} & set(record.__struct_fields__)
    return msgspec.structs.replace(record, **dict.fromkeys(names, 0))
