"""Finds existing memories with nearly the same content as a new one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from djinn_memory.embedding.embedder import Background, Embedder
from djinn_memory.errors import DjinnError
from djinn_memory.memories.catalog.catalog import body_of
from djinn_memory.memories.writing.provenance import PROPOSED, UNKNOWN
from djinn_memory.models import Filters, Vault, Vectors
from djinn_memory.notes.dates import local_day, moment
from djinn_memory.notes.slugs import fold
from djinn_memory.runtime import Runtime
from djinn_memory.search.backend import Index
from djinn_memory.search.legs import words_query
from djinn_memory.store.index.records import IndexedMemory, Selection
from djinn_memory.store.vector_cache import stored, text_hash

if TYPE_CHECKING:
    from djinn_memory.memories.writing.drafts import Draft

LOOKED_AT = 4
"""Number of windows of a text that are compared. A longer text with the same beginning is alike."""

NEIGHBOURS = 10
"""Number of nearest windows examined in each vault."""

DAY_ALLOWANCE = 0.1
"""The maximum loss of cosine from a different day in front of a window."""

SAME_WORDS = 0.9
"""Minimum share of common words (Dice) of two texts that say the same. With .8 the finder would
also match sentences that differ in the one important word."""

FEWEST_WORDS = 4
"""With fewer words, a text is a duplicate only if its title is too."""

BEGINNING = 20
"""Number of chunks of a memory that are compared."""

TERMS = 30
"""Number of words by which similar texts are looked up."""

_WORD = re.compile(r"\w+")

_SEE_ALSO = re.compile(r"\s*\bSee also [^\n]*\.\s*\Z")


class Duplicate(Struct, frozen=True):
    """A memory with nearly the same content."""

    likeness: float
    """A cosine on the scale of the packaged model, or by words a share of common words."""
    how: str
    """`meaning` or `words`."""
    memory: IndexedMemory
    """The memory."""
    text: str
    """The beginning of its text."""


class DuplicateFinder:
    """Finds a memory with nearly the same content as a draft.

    Documents and memories that are superseded or only proposed do not count. Memories without the
    numbers in the draft count only if the text is the same.
    """

    def __init__(
        self,
        runtime: Runtime,
        draft: Draft,
        vaults: Sequence[Vault],
        *,
        notes: bool = False,
        proposed: bool = False,
        meaning: bool = False,
    ) -> None:
        """With `notes`, episodes do not count. With `proposed`, what is proposed counts, too.

        It compares by words, with `meaning` also by vectors if the model is ready and local. The
        model then starts at once.
        """
        self._state = runtime.state
        self._draft = draft
        excluded = (("plane", "episodic"),) if notes else ()
        self._selection = Selection(Filters(excluded=excluded))
        self._left_out = UNKNOWN - ({PROPOSED} if proposed else set())
        left_out = (("plane", "documents"), *(("status", each) for each in sorted(self._left_out)))
        self._counted = Selection(Filters(excluded=(*left_out, *excluded)))
        self._vaults = vaults
        self._day = local_day(str(draft.fields.get("date") or moment(runtime.now())))
        self._embedder: Embedder | None = None
        self._mine: Background[dict[bytes, Vectors]] | None = None
        embedder = runtime.models.embedder if meaning else None
        if embedder and embedder.local and embedder.ready:
            with self._state.reading(vaults) as index:
                embedded = index.vectors.space is not None
            if embedded:
                self._embedder = embedder
                self._mine = Background(lambda: self._vectors(embedder, self._day))

    def find(self) -> Duplicate | None:
        """The most similar memory in the vaults, if any is similar enough."""
        mine = numbers(f"{self._draft.title} {self._draft.text}")
        by_name = {vault.name: vault for vault in self._vaults}
        with self._state.reading(self._vaults) as index:
            alike = [
                each
                for each in (*self._by_words(index), *self._by_meaning(index))
                if mine <= numbers(f"{each.memory.title} {each.text}")
                or self._is_verbatim(by_name[each.memory.vault], each.memory)
            ]
        best = sorted(alike, key=lambda each: (-each.likeness, each.memory.address))
        return next(iter(best), None)

    def _is_verbatim(self, vault: Vault, memory: IndexedMemory) -> bool:
        """Whether a memory has the text of the draft, ignoring case and white space."""
        mine = fold(self._draft.text).split()
        with suppress(OSError, DjinnError):
            theirs = body_of(vault, memory)
            return len(mine) >= FEWEST_WORDS and mine == fold(theirs).split()
        return False

    def _by_words(self, index: Index) -> Iterator[Duplicate]:
        draft = self._draft
        own = _without_links(draft.text)
        text = own if len(_WORD.findall(own)) >= FEWEST_WORDS else ""
        whole = f"{draft.title} {own}"
        terms = " ".join(_WORD.findall(text or whole)[:TERMS])
        query = words_query.compose(index.words, [terms])
        if query is None:
            return
        near = index.words.search(query.any, self._counted, NEIGHBOURS)
        for memory, theirs in self._read(index, [ref.memory_id for ref in near]):
            said = _without_links(theirs)
            same = likeness(text or whole, said if text else f"{memory.title} {said}")
            if same >= SAME_WORDS:
                yield Duplicate(same, "words", memory, theirs)

    def _by_meaning(self, index: Index) -> Iterator[Duplicate]:
        embedder, space = self._embedder, index.vectors.space
        if not (embedder and space and self._mine):
            return
        try:
            mine = self._mine.result()
        except DjinnError:
            return  # Without the model the words have to do.
        if not mine or space.identity != embedder.identity:
            return
        settings = self._state.home.config.thresholds
        threshold = settings.models.get(space.identity, settings).duplicate
        self._keep(embedder.identity, mine)
        near = _near(index, mine, self._selection)
        for memory, text in self._read(index, near):
            cosine = near[memory.memory_id]
            day = local_day(memory.date) if memory.dated else None
            if threshold - DAY_ALLOWANCE <= cosine < threshold and day != self._day:
                # As if it had been written on the same day.
                then = self._vectors(embedder, day)
                cosine = _near(index, then, self._selection).get(memory.memory_id, 0.0)
            if cosine >= threshold:
                yield Duplicate(cosine, "meaning", memory, text)

    def _read(self, index: Index, memory_ids: Iterable[int]) -> Iterator[tuple[IndexedMemory, str]]:
        """The memories that may be duplicates, each with the beginning of its text."""
        memories = index.lookup(list(memory_ids), fields=("status",))
        chunks = index.chunks_of(memories, BEGINNING)
        for key, memory in memories.items():
            known = fold(memory.field("status") or "") not in self._left_out
            if known and memory.plane != "documents":
                yield memory, " ".join(chunk.text for chunk in chunks.get(key, ()))

    def _vectors(self, embedder: Embedder, day: str | None) -> dict[bytes, Vectors]:
        """The vectors of the first windows of the draft's note by text hash, for a given day."""
        texts = list(_windows(self._draft, day))
        vectors = embedder.embed(texts) if texts else ()
        return {text_hash(text): row for text, row in zip(texts, vectors, strict=True)}

    def _keep(self, identity: str, mine: dict[bytes, Vectors]) -> None:
        """Cache the vectors, so that the note need not be embedded again after it is written."""
        with suppress(DjinnError):
            self._state.cache.put(identity, stored(mine, mine.values()))


def _near(index: Index, vectors: Mapping[bytes, Vectors], selection: Selection) -> dict[int, float]:
    """Similarity to the draft by memory. A query for all memories is the fastest."""
    from djinn_memory.search.legs import meaning

    return meaning.likeness(index, list(vectors.values()), selection, NEIGHBOURS)


def _without_links(text: str) -> str:
    """A text without the last line that `remember` writes for links, which says nothing new."""
    return _SEE_ALSO.sub("", text)


def likeness(first: str, second: str) -> float:
    """The share of words that two texts have in common, in any order (Dice)."""
    left, right = (Counter(_WORD.findall(fold(text))) for text in (first, second))
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if total else 0.0


def numbers(text: str) -> set[str]:
    """The words of a text that contain a digit. Texts with different numbers differ in content."""
    return {word for word in _WORD.findall(fold(text)) if any(map(str.isdigit, word))}


def _windows(draft: Draft, day: str | None) -> Iterator[str]:
    """The texts of the first windows of the draft's note, for a note of that day."""
    from djinn_memory.chunking.chunks import prefix, window_text
    from djinn_memory.indexing.indexer import cut
    from djinn_memory.notes.frontmatter import compose
    from djinn_memory.notes.note import parse

    text = compose({"title": draft.title, "type": draft.type, "date": day}, draft.text)
    note = parse("draft.md", text.encode("utf-8", "replace"))
    left = LOOKED_AT
    for chunk, windows in cut(note):
        line = prefix(note.title, chunk.headings, note.date, note.type)
        for window in windows[:left]:
            start, end = chunk.start + window.start, chunk.start + window.end
            yield window_text(line, note.searched[start:end])
        left -= len(windows[:left])
        if not left:
            return
