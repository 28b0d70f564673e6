"""The words leg: finds chunks with words of a question, and scores them from 0 to 1."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence

from msgspec.structs import replace

from djinn_memory.models import SearchStep
from djinn_memory.search.candidates import Candidate, Leg, Scored, Search
from djinn_memory.search.legs.rare_words import exact_hits
from djinn_memory.search.legs.words_query import WordsQuery, compose, score
from djinn_memory.search.stages import prf
from djinn_memory.store.index.records import ChunkRef, Forms, Selection, WordMatch
from djinn_memory.system.plural import count


class WordsLeg(Leg):
    """Finds chunks by keywords."""

    name = "words"
    weight = 0.5

    def __init__(self, search: Search) -> None:
        self._question: WordsQuery | None = None
        self._wider: WordsQuery | None = None

    def prepare(self, search: Search) -> None:
        """Compose the words query."""
        query, vocabulary = search.query, search.index.words
        # Parts for the meaning leg alone are looked for by words where there is no other leg.
        texts = query.for_words or (() if "meaning" in search.weights else query.meanings)
        self._question = compose(vocabulary, texts, query.more_words)
        if self._question and not query.only_phrases:
            terms = self._question.terms + search.selection.phrases
            self._question = replace(self._question, terms=terms)
        self._wider = self._question
        search.stems = self._question.marked if self._question else frozenset()
        if search.expand == "prf" and not search.weights[self.name]:
            what = "prf adds keywords, which a search by meaning alone does not use"
            search.steps.append(SearchStep("expand", what, 0.0))

    def propose(self, search: Search, selection: Selection) -> Callable[[], list[ChunkRef]]:
        """Look for the best chunks by BM25 that contain any word."""
        self._wider = self._question
        return lambda: self._search(search, selection)

    def score(
        self, search: Search, chunk_ids: Sequence[int], own: Sequence[int]
    ) -> Callable[[], dict[int, Scored]]:
        """The BM25 scores of words and neighbouring pairs."""
        return lambda: self._scored(search, chunk_ids, own)

    def widen(
        self, search: Search, selection: Selection, candidates: Sequence[Candidate]
    ) -> list[ChunkRef] | None:
        """Pseudo-relevance feedback: also look for the words of the best memories."""
        if search.expand != "prf":
            return None
        began = time.perf_counter()
        query = self._question
        if query is None:
            what = "the query has no keywords to expand"
        elif query.added:
            what = "the query has `words:` parts of its own, so no words were added"
        else:
            best = prf.best_of_memories(candidates)
            terms = prf.terms(search.index, query.stems, best)
            # Each is a text by itself: neighbours in the list are no neighbours in a text.
            added = compose(search.index.words, terms) if terms else None
            self._wider = replace(query, added=added) if added else query
            shown = ", ".join(terms) if added else "nothing"
            what = f"added {shown} from the best {count(len(best), 'note')}"
        search.steps.append(SearchStep("expand", what, (time.perf_counter() - began) * 1000))
        return None if self._wider is query else self._search(search, selection)

    def certain(self, search: Search) -> frozenset[int]:
        """Chunks that contain every word of a short query, or a rare word exactly as written."""
        if not self._question:
            return frozenset()
        chunks = set(exact_hits(search, sum(self._rarity(search).values())))
        if self._question.looked_up:
            match = WordMatch(self._question.looked_up, every=True)
            refs = search.index.words.search(match, search.selection, search.wanted)
            chunks |= {ref.chunk_id for ref in refs}
        return frozenset(chunks)

    def coverage(self, search: Search, chunk_ids: Collection[int]) -> dict[int, float]:
        """The share of the question's words in each chunk, weighted by rarity, from 0 to 1."""
        rarity = self._rarity(search)
        held = dict.fromkeys(chunk_ids, 0.0)
        for term, worth in rarity.items():
            for chunk in search.index.words.score(WordMatch((term,)), chunk_ids):
                held[chunk] += worth
        return {chunk: worth / sum(rarity.values()) for chunk, worth in held.items()}

    def _scored(
        self, search: Search, chunk_ids: Sequence[int], own: Sequence[int]
    ) -> dict[int, Scored]:
        query = self._wider
        if query is None:
            return {}
        scores = score(search.index, query, chunk_ids)
        if len(search.weights) == 1:
            own = sorted(chunk_ids, key=lambda chunk: -scores[chunk])
        ranks = {chunk: rank for rank, chunk in enumerate(own, 1)}
        return {
            chunk: Scored(raw, query.share(raw), ranks.get(chunk))
            for chunk in chunk_ids
            for raw in [scores.get(chunk, 0.0)]
        }

    def _rarity(self, search: Search) -> dict[Forms, float]:
        """BM25's idf by word; for a phrase, the idf of its first word."""
        terms = self._question.terms if self._question else ()
        return {
            term: search.index.words.rarity(form for (form, *_) in term)
            for term in dict.fromkeys(terms)
        }

    def _search(self, search: Search, selection: Selection) -> list[ChunkRef]:
        if self._wider is None:
            return []
        return search.index.words.search(
            self._wider.any, selection, search.depth, search.per_memory
        )
