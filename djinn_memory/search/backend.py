"""The protocol of a search backend. `SqliteIndex` is the first implementation.

An index is opened for the vaults that a caller may see, and only reads. All answers of an opened
index come from the same state. Selections go in and records come out; no SQL and no connection
crosses this boundary. Results that are otherwise equal are sorted by vault, path and line, so that
the order does not depend on when they were indexed. `tests/search/conformance.py` checks an
implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from djinn_memory.models import Vault, Vectors
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
    MemoryOpening,
    MemorySize,
    Order,
    Selection,
    TitledRef,
    WordMatch,
)
from djinn_memory.store.index.vectors import VectorSpace

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Vocabulary(Protocol):
    """The vocabulary of the vaults of an index. Its counts cover only these vaults."""

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages, other than English, whose stemmers were applied to words."""

    @property
    def total(self) -> int:
        """The number of chunks in the vaults."""

    def split(self, text: str) -> list[str]:
        """The words of a text before they are stemmed."""

    def stems(self, word: str, spoken: Sequence[str] | None = None) -> list[str]:
        """The terms that the index may store for a word of `split`.

        `spoken` are the possible languages; None stands for all languages of the index.
        """

    def stemmed(self, text: str) -> list[str]:
        """The words of a text, each as its English stem."""

    def frequency(self, stem: str) -> int:
        """The number of chunks that contain a stem."""

    def holding(self, forms: Iterable[str]) -> int:
        """The number of chunks that contain a word, given as its possible forms in the index.

        The most frequent form counts.
        """

    def rarity(self, forms: Iterable[str]) -> float:
        """BM25's idf of a word, given as its possible forms in the index."""

    def compounds(self, stem: str) -> list[str]:
        """Stems that contain a stem or are contained in it, in languages with compounds."""

    def near(self, stem: str, limit: int) -> list[str]:
        """Stems with the same first letter and about the same length, at most `limit`."""


class WordIndex(Vocabulary, Protocol):
    """Finds chunks by keywords."""

    def search(
        self, match: WordMatch, selection: Selection, limit: int, per_memory: int = 1
    ) -> list[ChunkRef]:
        """Chunks that contain the words, best first by BM25, at most `per_memory` per memory."""

    def score(self, match: WordMatch, chunk_ids: Collection[int]) -> dict[int, float]:
        """The BM25 scores of those chunks that contain at least one of the words."""

    def containing(self, phrases: Forms, selection: Selection) -> list[ChunkRef]:
        """The chunks with one of these phrases in the title or the text, sorted by place.

        Phrases match as in a search, so a stem stands for all its forms.
        """

    def chunks_with(self, phrases: Forms) -> list[int]:
        """The same chunks of all memories sorted by number. It takes a fifth of the time."""

    def texts_with(self, stem: str, limit: int) -> list[str]:
        """Titles and texts of some chunks that contain a word with a stem."""


class VectorIndex(Protocol):
    """Finds chunks by the vectors of their windows."""

    @property
    def space(self) -> VectorSpace | None:
        """The vector space in use; None while no window of the vaults is embedded."""

    def waiting(self) -> int:
        """The number of windows that are not embedded yet."""

    def nearest(
        self, vector: Vectors, selection: Selection, limit: int, memories: int = 1
    ) -> list[ChunkRef]:
        """The chunks of the `limit` windows nearest to a vector, from each vault.

        More windows are read until they belong to at least `memories` memories of the vault.
        """

    def ask_nearest(
        self, vector: Vectors, selection: Selection, limit: int, memories: int = 1
    ) -> Callable[[], list[ChunkRef]]:
        """Start `nearest`; call the result for the answer. A server works on it meanwhile."""

    def measure(self, vector: Vectors, chunk_ids: Collection[int]) -> dict[int, Measurement]:
        """The exact cosine of the best window of each chunk that has a vector."""

    def ask_measure(
        self, vector: Vectors, chunk_ids: Collection[int]
    ) -> Callable[[], dict[int, Measurement]]:
        """Start `measure`; call the result for the answer. A server works on it meanwhile."""

    def token_signs(self, starts: Mapping[int, int]) -> dict[int, bytes]:
        """The token signs of windows.

        A window is identified by its chunk and its start in the chunk. Returned by chunk, packed as
        `Embedder.embed_documents` returns them. Windows whose tokens are unknown are left out.
        """


class Index(Protocol):
    """Reads memories and their links. `words` and `vectors` read the rest of the index."""

    @property
    def vaults(self) -> tuple[Vault, ...]:
        """The vaults of this view that the index contains."""

    @property
    def words(self) -> WordIndex:
        """The words of the vaults."""

    @property
    def vectors(self) -> VectorIndex:
        """The vectors of the vaults."""

    def chunks(self, chunk_ids: Collection[int]) -> dict[int, IndexedChunk]:
        """The chunks with these row numbers."""

    def chunks_of(
        self, memory_ids: Collection[int], first: int | None = None
    ) -> dict[int, list[IndexedChunk]]:
        """The chunks of each memory in order; with `first` only that many of each."""

    def texts(self, chunk_ids: Collection[int]) -> Iterable[ChunkText]:
        """The texts of chunks in the order of `chunk_ids`, with titles and dates.

        It takes a tenth of the time of `chunks` and `lookup`.
        """

    def memories(
        self,
        selection: Selection = ...,
        *,
        order: Order = "newest",
        limit: int | None = None,
        skip: int = 0,
        fields: Collection[str] | None = None,
    ) -> Iterable[IndexedMemory]:
        """Yield the memories of a selection while they are read.

        `fields` are the front matter keys to load; None loads all.
        """

    def openings(
        self, selection: Selection, *, characters: int, fields: Collection[str], limit: int
    ) -> Iterable[MemoryOpening]:
        """Yield the beginnings of the newest memories of a selection, newest first.

        `characters` limits their texts, `fields` are the front matter keys to load. It takes a
        tenth of the time of `memories` with their chunks.
        """

    def lookup(
        self, memory_ids: Collection[int], *, fields: Collection[str] | None = None
    ) -> dict[int, IndexedMemory]:
        """Memories by row number. Those in other vaults are left out."""

    def count(self, selection: Selection = ...) -> int:
        """The number of memories in a selection."""

    def titles(self, selection: Selection = ...) -> Sequence[TitledRef]:
        """The location and title of each memory of a selection, sorted by path."""

    def names(self, selection: Selection = ...) -> Sequence[MemoryNames]:
        """The memories of a selection with all their names, sorted by path."""

    def resolve(self, name: str) -> list[IndexedMemory]:
        """The memories that a name could mean: one, none, or several that share the name.

        A name is an id, a path, `vault/path`, `vault:path`, or any link target: a title, an alias,
        a file name. `vault:path` is never ambiguous.
        """

    def named(self, names: Collection[str], selection: Selection = ...) -> dict[str, str]:
        """The titles of memories of a selection by their names, titles and aliases."""

    def links(self, memory_ids: Collection[int]) -> Sequence[IndexedLink]:
        """The links from and to these memories, without links from or to hidden vaults."""

    def backlinks(self, memory_ids: Collection[int]) -> Sequence[Backlink]:
        """The links in texts of other memories to these, without links from hidden vaults.

        They are sorted by source, line and position.
        """

    def edges(self, shown: Sequence[str] | None = None) -> Sequence[Edge]:
        """The links between different memories, without links from or to hidden vaults.

        With `shown`, only links with a shown text of their own that contains one of these parts of
        words, ignoring case, and perhaps others.

        It takes a third of the time of `links` for all memories. Sorted by source.
        """

    def shown(self, parts: Sequence[str]) -> Mapping[str, Collection[int]]:
        """The memories to which `edges` with these parts in their shown texts lead, by the text."""

    def ends(self) -> npt.NDArray[np.int64]:
        """Source, target and line of each of all `edges`, a row each, in a third of their time."""

    def counts(self, selection: Selection = ...) -> CatalogStats:
        """Counts of notes, chunks, windows and links in a selection."""

    def sizes(self, memory_ids: Collection[int]) -> dict[int, MemorySize]:
        """The number of chunks of each memory, and of its windows that are not embedded yet."""

    def values(self, name: str, selection: Selection = ...) -> list[str]:
        """All values of `tag`, `type`, `title` or a front matter field, in alphabetical order."""

    def groups(self, field: str, selection: Selection = ...) -> Sequence[FieldGroup]:
        """The memories of a selection by the value of a field, ignoring case, newest group last."""
