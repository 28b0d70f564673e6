"""The words leg: finds chunks with words of a question, and scores them from 0 to 1.

A chunk that contains a rare word of the question, such as SMPTE, exactly as written is certain. The
model splits such a word into meaningless pieces, so only a match of words can confirm it. A search
by words alone treats any rare word this way, and does not load the model's tokenizer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Sequence

from msgspec.structs import replace

from djinn_memory.chunking.tokens import token_starts
from djinn_memory.search.backend import WordIndex
from djinn_memory.search.candidate import Candidate, Scored
from djinn_memory.search.legs.words_query import WordsQuery, compose, content
from djinn_memory.search.state import Leg, Search
from djinn_memory.store.index.records import ChunkRef, Forms, Selection, WordMatch
from djinn_memory.store.index.words import forms

RARE = 0.5
"""Minimum rarity of a rare word, as a share of the maximum: at most 6 of 100 chunks contain it, or
39 of 3,000."""

MAIN = 0.5
"""Minimum share of the question's rarity in a word that makes it the subject of the question."""

PAIR_WEIGHT = 0.3
"""Weight of neighbouring query words that are also neighbours in the text, added to BM25."""

ADDED_SHARE = 0.2
"""Weight of the words that expand a question. An equal weight costs .06 of nDCG@10 on CACM with the
words of a title that answers."""


LINK_TEXT = 0.5
"""Weight of the words in the shown texts of links to a memory, in units of their rarity."""

MOST_TEXTS = 50_000
"""Number of these texts whose stems a long-lived process caches: about 20 MB."""

_CONTENT: dict[tuple[str, ...], dict[str, frozenset[str]]] = {}
"""The stems of these texts, by the languages of an index."""

LEADING = 20
"""Maximum number of memories that are found by the texts of links to them."""

BEGINNING = 3
"""Maximum number of letters of a stem by which links with its word are looked up."""


class WordsLeg(Leg):
    """Finds chunks by keywords."""

    name = "words"
    label = "words"
    unit = "BM25"
    weight = 0.5
    marks_words = True

    def __init__(self, search: Search) -> None:
        self._question: WordsQuery | None = None
        self._wider: WordsQuery | None = None
        self._called: dict[int, float] = {}
        """By memory what the texts of links to it are worth."""
        self._openings: dict[int, float] = {}
        """The same by the first chunks of those that may answer."""

    def prepare(self, search: Search) -> None:
        """Compose the words query."""
        query, vocabulary = search.query, search.index.words
        # Parts for the meaning leg alone are looked for by words where there is no other leg.
        texts = query.for_words or (() if search.scores_all else query.meanings)
        self._question = compose(vocabulary, texts, query.more_words)
        if self._question and not query.only_phrases:
            terms = self._question.terms + search.selection.phrases
            self._question = replace(self._question, terms=terms)
        self._wider = self._question
        search.stems = self._question.marked if self._question else frozenset()
        if self._question and not query.phrases:
            self._called = _called(search)

    def propose(
        self, search: Search, selection: Selection, seeds: Sequence[Candidate] | None = None
    ) -> Callable[[], list[ChunkRef]] | None:
        """Look for the best chunks by BM25 that contain any word, or one of the added words."""
        self._wider = self._question
        if seeds is not None:
            # Each is a text by itself: neighbours in the list are no neighbours in a text.
            added = compose(search.index.words, search.added_words) if search.added_words else None
            if not (added and self._question):
                return None
            self._wider = replace(self._question, added=added)
        return lambda: self._search(search, selection, seeds is None)

    def score(
        self, search: Search, chunk_ids: Sequence[int], own: Sequence[int]
    ) -> Callable[[], dict[int, Scored]]:
        """The BM25 scores of words and neighbouring pairs."""
        return lambda: self._scored(search, chunk_ids, own)

    def certain(self, search: Search) -> frozenset[int]:
        """Chunks that contain every word of a short query, or a rare word exactly as written."""
        if not self._question:
            return frozenset()
        chunks = set(_exact_hits(search, sum(self._rarity(search).values())))
        if self._question.looked_up:
            match = WordMatch(self._question.looked_up, every=True)
            refs = search.index.words.search(match, search.selection, search.wanted)
            chunks |= {ref.chunk_id for ref in refs}
        return frozenset(chunks)

    def coverage(self, search: Search, chunk_ids: Collection[int]) -> dict[int, float]:
        """The share of the question's words in each chunk, weighted by rarity."""
        rarity = self._rarity(search)
        held = dict.fromkeys(chunk_ids, 0.0)
        for term, worth in rarity.items():
            for chunk in search.index.words.score(WordMatch((term,)), chunk_ids):
                held[chunk] += worth
        total = sum(rarity.values())
        return {chunk: worth / total for chunk, worth in held.items()} if total else held

    def _scored(
        self, search: Search, chunk_ids: Sequence[int], own: Sequence[int]
    ) -> dict[int, Scored]:
        query = self._wider
        if query is None:
            return {}
        scores = _score(search.index.words, query, chunk_ids)
        for chunk in self._openings.keys() & set(chunk_ids):
            scores[chunk] = scores.get(chunk, 0.0) + self._openings[chunk]
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

    def _search(self, search: Search, selection: Selection, first: bool) -> list[ChunkRef]:
        if self._wider is None:
            return []
        refs = search.index.words.search(
            self._wider.any, selection, search.depth, search.per_memory
        )
        if first and self._called:
            known = {ref.chunk_id for ref in refs}
            called = self._opened(search, selection)
            refs += [ref for ref in called if ref.chunk_id not in known]
        return refs

    def _opened(self, search: Search, selection: Selection) -> list[ChunkRef]:
        """The first chunks of memories with a link whose text has words of the question."""
        best = sorted(self._called, key=lambda key: (-self._called[key], key))[:LEADING]
        memories = search.allowed(selection, best)
        refs = [
            ChunkRef(memory.first_chunk, key, (memory.vault, memory.path, 1, 0))
            for key, memory in memories.items()
            if memory.first_chunk is not None
        ]
        self._openings |= {ref.chunk_id: self._called[ref.memory_id] for ref in refs}
        return refs


def _called(search: Search) -> dict[int, float]:
    """What the shown texts of links are worth, by the memory that they lead to.

    The words of a text that are in the question count by their rarity, times their share of the
    text. Of several links the best counts.
    """
    vocabulary, asked = search.index.words, search.asked_words
    # A stem may lack the accents and the end of its word.
    parts = {stem[: min(BEGINNING, len(stem) - 1)] if stem.isascii() else "" for stem in asked}
    called: dict[int, float] = {}
    worth: dict[str, float] = {}
    known = _CONTENT.setdefault(vocabulary.languages, {})
    if len(known) > MOST_TEXTS:
        known.clear()
    for text, targets in search.index.shown([*parts]).items():
        stems = known.get(text)
        if stems is None:
            stems = known[text] = content(vocabulary, text)
        if asked.isdisjoint(stems):
            continue
        for stem in stems - worth.keys():
            worth[stem] = vocabulary.rarity((stem,))
        said = sum(worth[stem] for stem in stems & asked)
        share = said / (sum(worth[stem] for stem in stems) or 1.0)
        for target in targets:
            called[target] = max(called.get(target, 0.0), LINK_TEXT * said * share)
    return called


def _score(
    vocabulary: WordIndex, query: WordsQuery, chunk_ids: Collection[int]
) -> dict[int, float]:
    """BM25 of words and neighbouring pairs, for the chunks of `chunk_ids` that contain any.

    If words were added, the result is the mean of two scores, for added words and the query's own.
    Each is relative to its own `full`; the result is in units of the query's own score.
    """
    result = vocabulary.score(WordMatch(query.terms), chunk_ids)
    if query.pairs:
        for chunk_id, bonus in vocabulary.score(WordMatch(query.pairs), chunk_ids).items():
            result[chunk_id] = result.get(chunk_id, 0.0) + PAIR_WEIGHT * bonus
    if query.added:
        theirs = _score(vocabulary, query.added, chunk_ids)
        result = {
            chunk_id: (1 - ADDED_SHARE) * result.get(chunk_id, 0.0)
            + ADDED_SHARE * query.full * query.added.share(theirs.get(chunk_id, 0.0))
            for chunk_id in {**result, **theirs}
        }
    return result


def _exact_hits(search: Search, rarity: float) -> Iterator[int]:
    """The chunks that contain a rare word of a question whose words have this total `rarity`.

    The word must make up half of the total or be written like a name. In a question with capitals,
    words must match in case: VAT is not a vat. A capital at the start of the question does not
    count.
    """
    index, vocabulary = search.index, search.index.words
    greatest = math.log(2 * max(1, vocabulary.total))
    question = " ".join(search.query.for_words)
    case = re.NOFLAG if any(map(str.isupper, question[1:])) else re.IGNORECASE
    for word in dict.fromkeys(re.findall(r"\w+", question)):
        if search.scores_all and len(token_starts(word)) < 2:
            continue
        if len(split := vocabulary.split(word)) != 1:
            continue
        spellings = tuple(dict.fromkeys(forms(split[0], vocabulary.languages)))
        worth = vocabulary.rarity(spellings)
        if worth < RARE * greatest:
            continue
        match = WordMatch((tuple((form,) for form in spellings),))
        refs = index.words.search(match, search.selection, search.wanted)
        search.load(ref.chunk_id for ref in refs)
        memories = search.lookup(ref.memory_id for ref in refs)
        for ref in refs:
            text = f"{memories[ref.memory_id].title}\n{search.chunk(ref.chunk_id).text}"
            written = _written(word, text, case)
            if written and (worth >= MAIN * rarity or _is_name(written, vocabulary.languages)):
                yield ref.chunk_id


def _written(word: str, text: str, case: re.RegexFlag) -> list[str]:
    """The occurrences of a word in a text, each with the two characters before it."""
    return re.findall(rf"(?s)(.?.?\b{re.escape(word)}\b)", text, case)


def _is_name(written: list[str], languages: tuple[str, ...]) -> bool:
    """Whether a word has capitals or digits inside, or a capital in the middle of a sentence.

    The second test does not apply in German, where every noun has a capital. A number alone, such
    as a year, is not a name.
    """
    words = [re.split(r"\W", each)[-1] for each in written]
    inside = any(re.search(r"[^\W\d_]\d|\d[^\W\d_]|\w[A-Z]", word) for word in words)
    capital = any(re.match(r"[\w,;:] [A-Z]", each) for each in written)
    return inside or (capital and "german" not in languages)
