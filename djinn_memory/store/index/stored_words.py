"""What an index answers about words, in whichever database their counts are."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Generic

from djinn_memory.store.index.records import ChunkRef, Forms, Phrase, Selection, WordMatch
from djinn_memory.store.index.selection import Condition, P, Selections
from djinn_memory.store.index.words import Tokenizer, forms, idf

COMPOUND_PART = 4
"""Minimum letters of a stem that is looked for in compounds: `Rad` is in too many words."""

MAX_COMPOUNDS = 12
"""Maximum number of compounds for a word."""

MOST_PHRASES = 100
"""Maximum number of phrases that one statement looks for."""


class StoredWords(ABC, Generic[P]):
    """The words of some vaults. `search.backend.WordIndex` documents the methods."""

    def __init__(self, selections: Selections[P]) -> None:
        self._selections = selections
        selections.chunks_with = self.holding_phrase

    @property
    @abstractmethod
    def _tokenizer(self) -> Tokenizer:
        """Splits texts as the index does."""

    @property
    @abstractmethod
    def languages(self) -> tuple[str, ...]:
        """The languages, English aside, whose stemmers made words of these vaults."""

    @property
    @abstractmethod
    def total(self) -> int:
        """The number of chunks."""

    @abstractmethod
    def frequency(self, stem: str) -> int:
        """The number of chunks that contain a stemmed word."""

    @abstractmethod
    def compounds_of(self, bare: str, mark: str) -> Iterable[str]:
        """Terms with the mark of a language that have `bare` at an end, or stand at an end of it.

        The least `MAX_COMPOUNDS` terms are enough.
        """

    @abstractmethod
    def terms_between(
        self, first: str, last: str, lengths: tuple[int, int], limit: int
    ) -> Iterable[str]:
        """The first terms from `first` to before `last` whose lengths are in a range."""

    @abstractmethod
    def _batches(
        self, match: WordMatch, conditions: Mapping[int, tuple[P, Condition]], size: int
    ) -> Iterator[Mapping[int, float]]:
        """The scores of the best chunks that match, in batches. Equals are in one batch.

        The first batch has at least `size` of all chunks. Filters that leave little would need many
        more batches, so the chunks that they leave are read at once after a few.
        """

    @abstractmethod
    def chunks_with(self, phrases: Forms) -> list[int]:
        """The chunks with one of these phrases in the title or the text, sorted by number."""

    @abstractmethod
    def holding_phrase(self, spellings: Forms) -> list[int]:
        """The chunks with a phrase in any of its forms, wherever it stands."""

    def search(
        self, match: WordMatch, selection: Selection, limit: int, per_memory: int = 1
    ) -> list[ChunkRef]:
        """Chunks that contain the words, best first by BM25, at most `per_memory` per memory."""
        conditions = self._selections.conditions(selection)
        refs: list[ChunkRef] = []
        counts: Counter[int] = Counter()
        for scores in self._batches(match, conditions, 2 * limit):
            matches = self._selections.refs(scores, conditions).values()
            for ref in sorted(matches, key=lambda ref: (-scores[ref.chunk_id], ref.place)):
                if counts[ref.memory_id] < per_memory:
                    counts[ref.memory_id] += 1
                    refs.append(ref)
                    if len(refs) == limit:
                        return refs
        return refs

    def containing(self, phrases: Forms, selection: Selection) -> list[ChunkRef]:
        """The chunks with one of these phrases in the title or the text, sorted by place."""
        if not phrases:
            return []
        conditions = self._selections.conditions(selection)
        refs = self._selections.refs(self.chunks_with(phrases), conditions).values()
        return sorted(refs, key=lambda ref: ref.place)

    def split(self, text: str) -> list[str]:
        """The words of `text` before they are stemmed."""
        return self._tokenizer.split(text)

    def stems(self, word: str, spoken: Sequence[str] | None = None) -> list[str]:
        """The terms that the index may store for a word of `split`.

        `spoken` are the possible languages; None stands for all languages of the vaults.
        """
        terms: dict[str, None] = {}
        for form in dict.fromkeys(forms(word, self.languages if spoken is None else spoken)):
            terms.update(dict.fromkeys(self.stemmed(form)))
        return list(terms)

    def stemmed(self, text: str) -> list[str]:
        """The words of `text` with English stems."""
        return self._tokenizer.stemmed(text)

    def compounds(self, stem: str) -> list[str]:
        """Non-English terms that share their beginning or end with a marked stem.

        One is a part of the other: `Müll` is in `Mülltonne`, `Torte` in `Kirschtorte`. The whole
        vocabulary is read.
        """
        bare = stem[:-1]
        if len(bare) < COMPOUND_PART:
            return []
        return sorted(set(self.compounds_of(bare, stem[-1])))[:MAX_COMPOUNDS]

    def near(self, stem: str, limit: int) -> list[str]:
        """Terms with the first letter of a stem and about its length, at most `limit`."""
        lengths = len(stem) - 2, len(stem) + 2
        listed = self.terms_between(stem[0], chr(ord(stem[0]) + 1), lengths, limit)
        return sorted(set(listed))[:limit]

    def holding(self, forms: Iterable[str]) -> int:
        """The number of chunks that contain the most frequent form of a word."""
        stems = itertools.chain.from_iterable(map(self.stemmed, forms))
        return max(map(self.frequency, stems), default=0)

    def rarity(self, forms: Iterable[str]) -> float:
        """BM25's idf of a word."""
        return idf(self.total or 1, self.holding(forms))


def lone(words: Phrase) -> bool:
    """Whether a phrase is a single character of an unspaced script, which begins pairs."""
    if len(words) != 1 or len(words[0]) != 1 or words[0].isascii():
        return False
    from djinn_memory.languages import scripts

    return scripts.unspaced(words[0])
