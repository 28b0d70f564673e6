"""An index in dictionaries: all that a second backend has to bring."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from djinn_memory.embedding.calibration import HashingEmbedder
from djinn_memory.models import Calibration, Vault, plane_of
from djinn_memory.notes.link_resolution import LinkTarget, Resolver
from djinn_memory.notes.slugs import name_key
from djinn_memory.store.index.records import (
    Backlink,
    CatalogStats,
    ChunkRef,
    ChunkText,
    Edge,
    FieldGroup,
    Forms,
    IndexedChunk,
    IndexedLink,
    IndexedMemory,
    Measurement,
    MemoryNames,
    MemorySize,
    Order,
    Selection,
    TitledRef,
    WordMatch,
)
from djinn_memory.store.index.stored_links import exact
from djinn_memory.store.index.vectors import VectorSpace
from djinn_memory.store.index.words import idf

if TYPE_CHECKING:
    from djinn_memory.models import Vectors

ALL = Selection()


class Sample(Struct, frozen=True):
    """A note of one chunk, as every backend is given it."""

    path: str
    title: str
    text: str
    type: str | None = None
    tags: tuple[str, ...] = ()
    date: str = "2026-01-01"
    status: str | None = None
    links: tuple[str, ...] = ()
    vault: str = "shared"

    @property
    def id(self) -> str:
        return f"mem_{hashlib.sha256(self.path.encode()).hexdigest()[:16]}"

    def write(self) -> str:
        """The note as a file."""
        front = {
            "id": self.id, "title": self.title, "type": self.type, "date": self.date,
            "status": self.status, "tags": f"[{', '.join(self.tags)}]",
        }  # fmt: skip
        lines = [f"{key}: {value}" for key, value in front.items() if value]
        text = " ".join([self.text, *(f"[[{link}]]" for link in self.links)])
        return "\n".join(["---", *lines, "---", "", text, ""])


class MemoryWords:
    languages = ()

    def __init__(self, index: MemoryIndex, texts: Mapping[int, str]) -> None:
        self._index = index
        self._texts = texts
        self._stems = {key: self.stemmed(text) for key, text in texts.items()}
        self.total = len(texts)
        self._frequencies = Counter(stem for stems in self._stems.values() for stem in set(stems))

    def split(self, text: str) -> list[str]:
        return re.findall(r"\w+", text.lower())

    def stems(self, word: str, spoken: Sequence[str] | None = None) -> list[str]:
        return self.stemmed(word)

    def stemmed(self, text: str) -> list[str]:
        return [word.removesuffix("s") for word in self.split(text)]

    def frequency(self, stem: str) -> int:
        return self._frequencies[stem]

    def holding(self, forms: Iterable[str]) -> int:
        stems = (stem for form in forms for stem in self.stemmed(form))
        return max(map(self.frequency, stems), default=0)

    def rarity(self, forms: Iterable[str]) -> float:
        return idf(self.total, self.holding(forms))

    def compounds(self, stem: str) -> list[str]:
        return []

    def near(self, stem: str, limit: int) -> list[str]:
        return [term for term in sorted(self._frequencies) if term[0] == stem[0]][:limit]

    def search(
        self, match: WordMatch, selection: Selection, limit: int, per_memory: int = 1
    ) -> list[ChunkRef]:
        scores = self.score(match, self._index.selected(selection))
        best = sorted(scores, key=lambda key: (-scores[key], key))
        return [self._index.ref(key) for key in best][:limit]

    def score(self, match: WordMatch, chunk_ids: Collection[int]) -> dict[int, float]:
        scores = {}
        for key in chunk_ids:
            counts = [self.times(forms, key) for forms in match.terms]
            if all(counts) if match.every else any(counts):
                scores[key] = float(sum(counts))
        return scores

    def containing(self, phrases: Forms, selection: Selection) -> list[ChunkRef]:
        kept = [key for key in self._index.selected(selection) if self.times(phrases, key)]
        return sorted((self._index.ref(key) for key in kept), key=lambda ref: ref.place)

    def chunks_with(self, phrases: Forms) -> list[int]:
        return [ref.chunk_id for ref in sorted(self.containing(phrases, ALL))]

    def texts_with(self, stem: str, limit: int) -> list[str]:
        texts = [text for key, text in self._texts.items() if stem in self._stems[key]]
        return texts[:limit]

    def times(self, forms: Forms, key: int) -> int:
        stems = self._stems[key]
        phrases = [[word.removesuffix("s") for word in form] for form in forms]
        return sum(
            stems[at : at + len(phrase)] == phrase for phrase in phrases for at in range(len(stems))
        )


class MemoryVectors:
    space = VectorSpace(1, HashingEmbedder.identity, HashingEmbedder.dimensions, "{}",
                        Calibration(), True)  # fmt: skip

    def __init__(self, index: MemoryIndex, texts: Mapping[int, str]) -> None:
        self._index = index
        self._vectors = {key: HashingEmbedder().embed([text])[0] for key, text in texts.items()}

    def waiting(self) -> int:
        return 0

    def nearest(
        self, vector: Vectors, selection: Selection, limit: int, memories: int = 1
    ) -> list[ChunkRef]:
        cosines = {
            key: float(self._vectors[key] @ vector) for key in self._index.selected(selection)
        }
        best = sorted(cosines, key=lambda key: -cosines[key])
        return [self._index.ref(key) for key in best][:limit]

    def ask_nearest(
        self, vector: Vectors, selection: Selection, limit: int, memories: int = 1
    ) -> Callable[[], list[ChunkRef]]:
        return lambda: self.nearest(vector, selection, limit, memories)

    def measure(self, vector: Vectors, chunk_ids: Collection[int]) -> dict[int, Measurement]:
        return {
            key: Measurement(float(self._vectors[key] @ vector), (0, 0), self._vectors[key])
            for key in chunk_ids
        }

    def ask_measure(
        self, vector: Vectors, chunk_ids: Collection[int]
    ) -> Callable[[], dict[int, Measurement]]:
        return lambda: self.measure(vector, chunk_ids)

    def token_signs(self, starts: Mapping[int, int]) -> dict[int, bytes]:
        return {}


class MemoryIndex:
    """The number of a memory is that of its one chunk: its place in the samples, from 1."""

    def __init__(self, samples: Sequence[Sample], vaults: tuple[Vault, ...]) -> None:
        names = {vault.name for vault in vaults}
        self.vaults = vaults
        self._samples = {
            number: sample for number, sample in enumerate(samples, 1) if sample.vault in names
        }
        self._numbers = {each.path.removesuffix(".md"): key for key, each in self._samples.items()}
        texts = {key: f"{each.title} {each.text}" for key, each in self._samples.items()}
        self.words = MemoryWords(self, texts)
        self.vectors = MemoryVectors(self, texts)

    def ref(self, key: int) -> ChunkRef:
        sample = self._samples[key]
        return ChunkRef(key, key, (sample.vault, sample.path, 1, 0))

    def chunks(self, chunk_ids: Collection[int]) -> dict[int, IndexedChunk]:
        return {
            key: IndexedChunk(key, key, 0, (), (1, 1), None, (), self._samples[key].text)
            for key in chunk_ids
        }

    def chunks_of(
        self, memory_ids: Collection[int], first: int | None = None
    ) -> dict[int, list[IndexedChunk]]:
        return {key: [chunk] for key, chunk in self.chunks(memory_ids).items()}

    def texts(self, chunk_ids: Collection[int]) -> list[ChunkText]:
        known = ((key, self._samples[key]) for key in chunk_ids)
        return [
            ChunkText(key, key, 0, (1, 1), each.text, each.title, each.date) for key, each in known
        ]

    def memories(
        self,
        selection: Selection = ALL,
        *,
        order: Order = "newest",
        limit: int | None = None,
        skip: int = 0,
        fields: Collection[str] | None = None,
    ) -> Iterator[IndexedMemory]:
        known = self.lookup(self.selected(selection), fields=fields)
        keys = sorted(known, key=lambda key: known[key].path)
        if order == "title":
            keys.sort(key=lambda key: known[key].title)
        else:
            keys.sort(key=lambda key: known[key].date, reverse=True)
        return iter([known[key] for key in keys][skip:][:limit])

    def lookup(
        self, memory_ids: Collection[int], *, fields: Collection[str] | None = None
    ) -> dict[int, IndexedMemory]:
        return {
            key: IndexedMemory(
                id=each.id, vault=each.vault, path=each.path, type=each.type,
                plane=plane_of(each.type), title=each.title, tags=each.tags, created=None,
                updated=None, date=each.date, memory_id=key, dated=True, hash="", owns_id=True,
                first_chunk=key, problem=None, aliases=(),
                fields=(("status", each.status),) if each.status else (),
            )
            for key, each in self._samples.items()
            if key in memory_ids
        }  # fmt: skip

    def count(self, selection: Selection = ALL) -> int:
        return len(self.selected(selection))

    def titles(self, selection: Selection = ALL) -> list[TitledRef]:
        refs = [
            TitledRef(id=each.id, vault=each.vault, path=each.path, title=each.title)
            for key in self.selected(selection)
            for each in [self._samples[key]]
        ]
        return sorted(refs, key=lambda ref: ref.path)

    def names(self, selection: Selection = ALL) -> list[MemoryNames]:
        return [
            MemoryNames(
                id=memory.id,
                vault=memory.vault,
                path=memory.path,
                file=memory.file,
                memory_id=memory.memory_id,
                type=memory.type,
                title=memory.title,
                aliases=memory.aliases,
            )
            for memory in self.memories(selection, order="title")
        ]

    def resolve(self, name: str) -> list[IndexedMemory]:
        memories = self.lookup(list(self._samples))
        targets = [
            LinkTarget(key, each.vault, each.path, each.id, each.title, ())
            for key, each in memories.items()
        ]
        written = name.strip().removeprefix("[[").removesuffix("]]").removesuffix(".md")
        keys = exact(name, targets)
        if not keys and written:
            meant = Resolver(targets).resolve(written, source_vault="shared", source_path="")
            keys = [] if meant.key is None else [meant.key]
        return [memories[key] for key in keys]

    def links(self, memory_ids: Collection[int]) -> list[IndexedLink]:
        links = [
            IndexedLink(key, self._numbers.get(text), text, 1, 0, None, False,
                        "name" if text in self._numbers else None, False, label=label or None)
            for key, each in self._samples.items()
            for text, _, label in (link.partition("|") for link in each.links)
        ]  # fmt: skip
        return [each for each in links if {each.source, each.target} & set(memory_ids)]

    def backlinks(self, memory_ids: Collection[int]) -> list[Backlink]:
        return [
            Backlink(each.target, each.source, each.text, each.line, each.source,
                     self._samples[each.source].date)
            for each in self.links(memory_ids)
            if each.target in memory_ids and each.target != each.source
        ]  # fmt: skip

    def edges(self, shown: Sequence[str] | None = None) -> list[Edge]:
        return [
            Edge(each.source, each.target, each.line, each.label or each.text, each.field)
            for each in self.links([*self._samples])
            if each.target not in (None, each.source)
            if shown is None or any(part in (each.label or "").lower() for part in shown)
        ]

    def shown(self, parts: Sequence[str]) -> dict[str, set[int]]:
        edges = self.edges(parts)
        return {
            edge.text: {each.target for each in edges if each.text == edge.text} for edge in edges
        }

    def ends(self) -> npt.NDArray[np.int64]:
        return np.array([edge[:3] for edge in self.edges()], np.int64).reshape(-1, 3)

    def counts(self, selection: Selection = ALL) -> CatalogStats:
        samples = [self._samples[key] for key in self.selected(selection)]
        number = len(samples)
        return CatalogStats(
            notes=number, memories=number, chunks=number, windows=number, pending=0,
            links=sum(len(each.links) for each in samples),
            unresolved=sum(
                link.partition("|")[0] not in self._numbers
                for each in samples
                for link in each.links
            ),
            broken=0,
            types=dict(Counter(each.type for each in samples if each.type)),
            planes=dict(Counter(plane_of(each.type) or "" for each in samples if each.type)),
            tags=dict(Counter(tag for each in samples for tag in each.tags)),
            vaults=dict(Counter(each.vault for each in samples)),
            documents={},
        )  # fmt: skip

    def sizes(self, memory_ids: Collection[int]) -> dict[int, MemorySize]:
        return {key: MemorySize(1, 0) for key in memory_ids}

    def values(self, name: str, selection: Selection = ALL) -> list[str]:
        samples = [self._samples[key] for key in self.selected(selection)]
        if name == "tag":
            return sorted({tag for each in samples for tag in each.tags})
        return sorted({getattr(each, name) for each in samples if getattr(each, name)})

    def groups(self, field: str, selection: Selection = ALL) -> list[FieldGroup]:
        samples = [self._samples[key] for key in self.selected(selection)]
        values = {value for each in samples if (value := getattr(each, field, None))}
        groups = [
            FieldGroup(value, len(dates), min(dates), max(dates))
            for value in values
            if (dates := [each.date for each in samples if getattr(each, field) == value])
        ]
        return sorted(groups, key=lambda group: (group.last, group.value))

    def selected(self, selection: Selection) -> list[int]:
        return [key for key, each in self._samples.items() if self._fits(key, each, selection)]

    def _fits(self, key: int, each: Sample, selection: Selection) -> bool:
        filters = selection.filters
        return all(self._conditions(key, each, selection)) and (
            not filters.vaults or each.vault in filters.vaults
        )

    def _conditions(self, key: int, each: Sample, selection: Selection) -> Iterable[bool]:
        filters = selection.filters
        yield not filters.types or each.type in filters.types
        yield not filters.planes or plane_of(each.type) in filters.planes
        yield all(tag in each.tags for tag in filters.tags)
        yield not filters.paths or any(part in each.path for part in filters.paths)
        yield not filters.since or each.date >= filters.since
        yield not filters.until or each.date <= filters.until
        yield not filters.as_of or each.date <= filters.as_of
        yield all(getattr(each, name) == value for name, value in filters.where)
        for name, value in filters.excluded:
            yield value not in each.tags if name == "tag" else getattr(each, name, None) != value
        yield all(self.words.times(phrase, key) for phrase in selection.phrases)
        yield not any(self.words.times(phrase, key) for phrase in selection.without)
        yield selection.name is None or name_key(selection.name) in (
            name_key(each.title), name_key(each.path)
        )  # fmt: skip
        yield selection.ids is None or each.id in selection.ids
        yield selection.places is None or (each.vault, each.path) in selection.places
