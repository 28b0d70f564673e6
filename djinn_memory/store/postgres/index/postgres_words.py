"""Finds chunks by words with FTS5's BM25, from posting lists and counts on a server."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from djinn_memory.store.index.records import ChunkRef, Forms, Phrase, Selection, WordMatch
from djinn_memory.store.index.selection import Condition
from djinn_memory.store.index.words import (
    COMPOUND_PART,
    MAX_COMPOUNDS,
    MOST_PHRASES,
    StoredWords,
    Tokenizer,
    idf,
    lone,
)
from djinn_memory.store.postgres.index.postgres_tables import ScopeSelections
from djinn_memory.store.postgres.index.posting_lists import PostingLists
from djinn_memory.store.postgres.index.postings import TermMatches
from djinn_memory.store.postgres.index.scopes import ReadScope

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_DENSE = 4_000_000
"""Numbers of chunks over this range are added up in an array of all numbers, which is faster."""

_FILTERED = 2
"""Batches of the best chunks that are filtered, before all chunks that a filter leaves are read."""

_MOST_SPLIT = 100
"""Words of a text whose frequencies are read at once."""


class PostgresWordIndex(StoredWords[ReadScope]):
    """The words of some scopes. `search.backend.WordIndex` documents the methods."""

    def __init__(self, selections: ScopeSelections) -> None:
        super().__init__(selections)
        self._scopes = selections.parts()
        self._lists = PostingLists(selections)
        self._split: dict[str, None] = {}
        """Words that were split and not counted."""
        self._terms: dict[Phrase, tuple[str, ...]] = {}
        self._sums: dict[WordMatch, tuple[NDArray[np.int64], NDArray[np.float64]]] = {}

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return Tokenizer()

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages, English aside, whose stemmers made words of these scopes."""
        sets = (each for scope in self._scopes for each in scope.sets if each.visible)
        return tuple(sorted({language for each in sets for language in each.languages}))

    @property
    def total(self) -> int:
        """The number of chunks."""
        return self._lists.total

    def split(self, text: str) -> list[str]:
        """The words of `text` before they are stemmed."""
        words = self._tokenizer.split(text)
        # A caller that splits a question asks for the frequencies of its words, one by one.
        self._split.update(dict.fromkeys(words[:_MOST_SPLIT]))
        return words

    def frequency(self, stem: str) -> int:
        """The number of chunks that contain a stemmed word."""
        if self._split and not self._lists.counted(stem):
            stems = [each for word in self._split for each in self.stems(word)]
            self._split.clear()
            self._lists.count([stem, *stems])
        return self._lists.frequency(stem)

    def compounds_of(self, bare: str, mark: str) -> list[str]:
        """See `StoredWords`."""
        return self._vocabulary(
            "select term from (select distinct term, left(term, -1) as bare from index_counts "
            "where user_id = %s and domain_set = any(%s) and right(term, 1) = %s "
            "and length(term) > %s) as terms where starts_with(bare, %s) "
            "or right(bare, length(%s)) = %s or starts_with(%s, bare) "
            "or right(%s, length(bare)) = bare order by term limit %s",
            *(mark, COMPOUND_PART, *[bare] * 5, MAX_COMPOUNDS),
        )

    def terms_between(
        self, first: str, last: str, lengths: tuple[int, int], limit: int
    ) -> list[str]:
        """See `StoredWords`."""
        return self._vocabulary(
            "select distinct term from index_counts where user_id = %s and domain_set = any(%s) "
            "and term >= %s and term < %s and length(term) between %s and %s "
            "order by term limit %s",
            *(first, last, *lengths, limit),
        )

    def score(self, match: WordMatch, chunk_ids: Collection[int]) -> dict[int, float]:
        """The BM25 scores of those chunks that contain at least one of the words."""
        import numpy as np

        among = np.sort(np.fromiter(chunk_ids, "<i8", len(chunk_ids)))
        chunks, scores = self._sum(match, among)
        return dict(zip(chunks.tolist(), scores.tolist(), strict=True))

    def chunks_with(self, phrases: Forms) -> list[int]:
        """See `StoredWords`."""
        chunks: set[int] = set()
        for start in range(0, len(phrases), MOST_PHRASES):
            wanted = [
                (terms, lone(phrase))
                for phrase in phrases[start : start + MOST_PHRASES]
                if (terms := self._terms_of(phrase))
            ]
            self._lists.load([(term, prefix) for terms, prefix in wanted for term in terms])
            candidates = {
                chunk
                for terms, prefix in wanted
                for chunk in self._lists.all_of(terms, prefix=prefix).tolist()
            }
            patterns = [f"% {' '.join(terms)}{'' if prefix else ' '}%" for terms, prefix in wanted]
            for scope, numbers in self._selections.of(candidates):
                listed = scope.rows(
                    "select chunk from index_terms where user_id = %s and chunk = any(%s) "
                    "and telling like any(%s)",
                    (scope.id, numbers, patterns),
                )
                chunks.update(scope.key(number) for (number,) in listed)
        return sorted(chunks)

    def holding_phrase(self, spellings: Forms) -> list[int]:
        """See `StoredWords`."""
        chunks: set[int] = set()
        for words in spellings:
            chunks.update(self._phrase(words, prefixes=False)[1].chunks.tolist())
        return list(chunks)

    def texts_with(self, stem: str, limit: int) -> list[str]:
        """Titles and texts of some chunks that contain a word with a stem."""
        terms = self.stemmed(stem)
        if not terms:
            return []
        texts: list[tuple[tuple[object, ...], str]] = []
        for scope, numbers in self._selections.of(
            self._lists.of(terms[-1], prefix=True).chunks.tolist()
        ):
            listed = scope.rows(
                "select path, lines_above, ordinal, title || ' ' || text "
                "from index_chunks as chunk "
                "join index_memories as memory on memory.user_id = chunk.user_id "
                "and memory.number = chunk.memory where chunk.user_id = %s "
                "and chunk.number = any(%s) order by path, lines_above, ordinal limit %s",
                (scope.id, numbers, limit),
            )
            texts += [((scope.name, *place), text) for *place, text in listed]
        return [text for _, text in sorted(texts, key=lambda known: known[0])[:limit]]

    def search(
        self, match: WordMatch, selection: Selection, limit: int, per_memory: int = 1
    ) -> list[ChunkRef]:
        """Chunks that contain the words, best first by BM25, at most `per_memory` per memory."""
        conditions = self._selections.conditions(selection)
        batches = self._batches(match, conditions, 2 * limit)
        return self._selections.best(batches, conditions, limit, per_memory)

    def _batches(
        self, match: WordMatch, conditions: Mapping[int, tuple[ReadScope, Condition]], size: int
    ) -> Iterator[dict[int, float]]:
        """The chunks that filters leave are read after the second batch; see `Selections.best`."""
        import numpy as np

        if match not in self._sums:
            self._sums[match] = self._sum(match, None)
        chunks, scores = self._sums[match]
        number = 0
        while len(chunks):
            # Of the rest only the best are sorted.
            last = np.partition(scores, -size)[-size] if size < len(scores) else -np.inf
            best = scores >= last
            yield dict(zip(chunks[best].tolist(), scores[best].tolist(), strict=True))
            chunks, scores = chunks[~best], scores[~best]
            number, size = number + 1, 4 * size
            if number == _FILTERED and len(chunks):
                allowed = np.array(self._selections.chunks_of(conditions), "<i8")
                inside = np.isin(chunks, allowed)
                chunks, scores = chunks[inside], scores[inside]

    def _sum(
        self, match: WordMatch, among: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The chunks that match and their BM25 scores, of all chunks or `among` these."""
        import numpy as np

        phrases = list(itertools.chain.from_iterable(match.terms))
        self._lists.load(
            [
                (terms[0], lone(words))
                for words in phrases
                if len(terms := self._terms_of(words)) == 1
            ]
        )
        several = [terms for words in phrases if len(terms := self._terms_of(words)) > 1]
        read = self._lists.phrases(several, among)
        listed = {words: self._phrase(words, read) for words in dict.fromkeys(phrases)}
        scored = [listed[words] for words in phrases]
        if not scored:
            return np.empty(0, "<i8"), np.empty(0)
        if among is not None:
            scored = [(rarity, matches.only(among)) for rarity, matches in scored]
        every = np.concatenate([matches.chunks for _, matches in scored])
        values = np.concatenate([rarity * matches.shares for rarity, matches in scored])
        chunks, scores = _summed(every, values)
        matching = np.ones(len(chunks), bool)
        if match.every:
            for spellings in match.terms:
                held = [listed[words][1].chunks for words in spellings]
                matching &= np.isin(chunks, np.concatenate(held))
        return chunks[matching], scores[matching]

    def _terms_of(self, words: Phrase) -> tuple[str, ...]:
        if words not in self._terms:
            self._terms[words] = tuple(self.stemmed(" ".join(words)))
        return self._terms[words]

    def _phrase(
        self,
        words: Phrase,
        read: Mapping[tuple[str, ...], TermMatches] | None = None,
        *,
        prefixes: bool = True,
    ) -> tuple[float, TermMatches]:
        """The idf of a phrase, and the chunks that contain it.

        `read` are those that are known by their terms.
        """
        terms, prefix = self._terms_of(words), prefixes and lone(words)
        if not terms:
            return 0.0, TermMatches.joined([])
        if len(terms) == 1:
            lists = self._lists
            holding = lists.beginning(terms[0]) if prefix else self.frequency(terms[0])
            return idf(self.total, holding), lists.of(terms[0], prefix=prefix)
        matches = (read or self._lists.phrases([terms]))[terms]
        return idf(self.total, self._lists.holding(terms)), matches

    def _vocabulary(self, sql: str, *values: object) -> list[str]:
        return [
            term
            for scope in self._scopes
            for (term,) in scope.rows(sql, (scope.id, scope.visible, *values))
        ]


def _summed(
    chunks: NDArray[np.int64], values: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The chunks without repetitions and sorted, and the sum of the values of each."""
    import numpy as np

    if len(chunks) and (span := int(np.ptp(chunks)) + 1) <= _DENSE:
        first = chunks.min()
        sums = np.bincount(chunks - first, values, span)
        held = np.bincount(chunks - first, minlength=span).nonzero()[0]
        scores: NDArray[np.float64] = sums[held].astype("<f8")
        return held + first, scores
    distinct, places = np.unique(chunks, return_inverse=True)
    return distinct, np.bincount(places, values, len(distinct)).astype("<f8")
