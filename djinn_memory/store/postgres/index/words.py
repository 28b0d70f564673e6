"""Finds chunks by words with FTS5's BM25, from posting lists and counts on a server."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from djinn_memory.store.index.records import ChunkRef, Forms, Phrase, Selection, WordMatch
from djinn_memory.store.index.selection import lone
from djinn_memory.store.index.word_index import COMPOUND_PART, MAX_COMPOUNDS
from djinn_memory.store.index.words import Tokenizer, forms, idf
from djinn_memory.store.postgres.index import postings
from djinn_memory.store.postgres.index.scopes import ReadScope, Row, Scopes
from djinn_memory.store.postgres.index.selection import RowCondition, ScopeSelections, plain

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

K1, B = 1.2, 0.75
"""The constants of FTS5's BM25."""

SAMPLED = 1_000
"""Chunks that contain all words of a phrase and are read to count those that contain the phrase. Of
more chunks this many are read, and the count is estimated."""

FILTERED = 2
"""Batches of the best chunks that are filtered, before all chunks that a filter leaves are read."""

DENSE = 4_000_000
"""Numbers of chunks over this range are added up in an array of all numbers, which is faster."""

MOST_SPLIT = 100
"""Words of a text whose frequencies are read at once."""

MOST_PHRASES = 100
"""Phrases that are looked for in one statement."""

_LAST = chr(0x10FFFF)


class TermMatches(NamedTuple):
    """The chunks that contain a term or a phrase, sorted by number, and BM25 without idf."""

    chunks: NDArray[np.int64]
    shares: NDArray[np.float64]


class PostgresWordIndex:
    """The words of some scopes. `search.backend.WordIndex` documents the methods."""

    def __init__(self, scopes: Scopes) -> None:
        self._scopes = scopes
        self._frequencies: dict[str, int] = {}
        self._split: dict[str, None] = {}
        """Words that were split and not counted."""
        self._lists: dict[tuple[str, bool], TermMatches] = {}
        self._phrases: dict[Phrase, tuple[float, TermMatches]] = {}
        self._terms: dict[Phrase, tuple[str, ...]] = {}
        self._sums: dict[WordMatch, tuple[NDArray[np.int64], NDArray[np.float64]]] = {}
        self.selections: ScopeSelections
        """Set by the index that owns these words."""

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return Tokenizer()

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages, English aside, whose stemmers made words of these scopes."""
        sets = (each for scope in self._scopes for each in scope.sets if each.visible)
        return tuple(sorted({language for each in sets for language in each.languages}))

    @cached_property
    def total(self) -> int:
        """The number of chunks."""
        return sum(each.chunks for scope in self._scopes for each in scope.sets if each.visible)

    def split(self, text: str) -> list[str]:
        """The words of `text` before they are stemmed."""
        words = self._tokenizer.split(text)
        # Whoever splits a question asks for the frequencies of its words, one by one.
        self._split.update(dict.fromkeys(words[:MOST_SPLIT]))
        return words

    def stems(self, word: str, spoken: Sequence[str] | None = None) -> list[str]:
        """The terms that the index may store for a word of `split`."""
        terms: dict[str, None] = {}
        for form in dict.fromkeys(forms(word, self.languages if spoken is None else spoken)):
            terms.update(dict.fromkeys(self.stemmed(form)))
        return list(terms)

    def stemmed(self, text: str) -> list[str]:
        """The words of `text`, with English stems."""
        return self._tokenizer.stemmed(text)

    def frequency(self, stem: str) -> int:
        """The number of chunks that contain a stemmed word."""
        if stem not in self._frequencies:
            stems = {stem: None}
            for word in self._split:
                stems |= dict.fromkeys(self.stems(word))
            self._split.clear()
            self._count([stem for stem in stems if stem not in self._frequencies])
        return self._frequencies[stem]

    def compounds(self, stem: str) -> list[str]:
        """Non-English terms that share their beginning or end with a marked stem."""
        bare = stem[:-1]
        if len(bare) < COMPOUND_PART:
            return []
        listed = self._vocabulary(
            "select term from (select distinct term, left(term, -1) as bare from index_counts "
            "where user_id = %s and domain_set = any(%s) and right(term, 1) = %s "
            "and length(term) > %s) as terms where starts_with(bare, %s) "
            "or right(bare, length(%s)) = %s or starts_with(%s, bare) "
            "or right(%s, length(bare)) = bare order by term limit %s",
            *(stem[-1], COMPOUND_PART, *[bare] * 5, MAX_COMPOUNDS),
        )
        return sorted(set(listed))[:MAX_COMPOUNDS]

    def near(self, stem: str, limit: int) -> list[str]:
        """Terms with the first letter of a stem and about its length, at most `limit`."""
        listed = self._vocabulary(
            "select distinct term from index_counts where user_id = %s and domain_set = any(%s) "
            "and term >= %s and term < %s and length(term) between %s and %s "
            "order by term limit %s",
            *(stem[0], chr(ord(stem[0]) + 1), len(stem) - 2, len(stem) + 2, limit),
        )
        return sorted(set(listed))[:limit]

    def holding(self, forms: Iterable[str]) -> int:
        """The number of chunks that contain the most frequent form of a word."""
        stems = list(itertools.chain.from_iterable(map(self.stemmed, forms)))
        return max(map(self.frequency, stems), default=0)

    def rarity(self, forms: Iterable[str]) -> float:
        """BM25's idf of a word."""
        return idf(self.total or 1, self.holding(forms))

    def search(
        self, match: WordMatch, selection: Selection, limit: int, per_memory: int = 1
    ) -> list[ChunkRef]:
        """Chunks that contain the words, best first by BM25, at most `per_memory` per memory."""
        conditions = self.selections.conditions(selection)
        refs: list[ChunkRef] = []
        taken: Counter[int] = Counter()
        for batch in self._batches(match, conditions, 2 * limit):
            known = self.selections.refs(batch, conditions)
            for ref in sorted(known.values(), key=lambda ref: (-batch[ref.chunk_id], ref.place)):
                if taken[ref.memory_id] < per_memory:
                    taken[ref.memory_id] += 1
                    refs.append(ref)
                    if len(refs) == limit:
                        return refs
        return refs

    def score(self, match: WordMatch, chunk_ids: Collection[int]) -> dict[int, float]:
        """The BM25 scores of those chunks that contain at least one of the words."""
        import numpy as np

        among = np.sort(np.fromiter(chunk_ids, "<i8", len(chunk_ids)))
        chunks, scores = self._sum(match, among)
        return dict(zip(chunks.tolist(), scores.tolist(), strict=True))

    def containing(self, phrases: Forms, selection: Selection) -> list[ChunkRef]:
        """The chunks with one of these phrases in the title or the text, sorted by place."""
        if not phrases:
            return []
        conditions = self.selections.conditions(selection)
        refs = self.selections.refs(self.chunks_with(phrases), conditions).values()
        return sorted(refs, key=lambda ref: ref.place)

    def chunks_with(self, phrases: Forms) -> list[int]:
        """The same chunks of all memories sorted by number."""
        chunks: set[int] = set()
        for start in range(0, len(phrases), MOST_PHRASES):
            wanted = [
                (terms, lone(phrase))
                for phrase in phrases[start : start + MOST_PHRASES]
                if (terms := self._terms_of(phrase))
            ]
            self._load([(term, prefix) for terms, prefix in wanted for term in terms])
            candidates = {
                chunk for terms, prefix in wanted for chunk in self._all(terms, prefix).tolist()
            }
            patterns = [f"% {' '.join(terms)}{'' if prefix else ' '}%" for terms, prefix in wanted]
            for scope, numbers in self._scopes.of(candidates):
                listed = self._scopes.rows(
                    "select chunk from index_terms where user_id = %s and chunk = any(%s) "
                    "and telling like any(%s)",
                    (scope.id, numbers, patterns),
                )
                chunks.update(scope.key(number) for (number,) in listed)
        return sorted(chunks)

    def holding_phrase(self, spellings: Forms) -> list[int]:
        """The chunks with a phrase in any of its forms, wherever it stands."""
        return list(
            {
                chunk
                for words in spellings
                for chunk in self._phrase(words, prefixes=False)[1].chunks.tolist()
            }
        )

    def texts_with(self, stem: str, limit: int) -> list[str]:
        """Titles and texts of some chunks that contain a word with a stem."""
        terms = self.stemmed(stem)
        if not terms:
            return []
        self._load([(terms[-1], True)])
        texts: list[tuple[tuple[object, ...], str]] = []
        for scope, numbers in self._scopes.of(self._list(terms[-1], prefix=True).chunks.tolist()):
            listed = self._scopes.rows(
                "select path, lines_above, ordinal, title || ' ' || text "
                "from index_chunks as chunk "
                "join index_memories as memory on memory.user_id = chunk.user_id "
                "and memory.number = chunk.memory where chunk.user_id = %s "
                "and chunk.number = any(%s) order by path, lines_above, ordinal limit %s",
                (scope.id, numbers, limit),
            )
            texts += [((scope.name, *place), text) for *place, text in listed]
        return [text for _, text in sorted(texts, key=lambda known: known[0])[:limit]]

    def _batches(
        self, match: WordMatch, conditions: Mapping[int, RowCondition], size: int
    ) -> Iterator[dict[int, float]]:
        """The scores of the best chunks, in batches. Equals are in one batch.

        Filters that leave little would need many batches, so the chunks that they leave are read at
        once after the second.
        """
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
            if number == FILTERED and len(chunks):
                allowed = np.array(self.selections.chunks_of(conditions), "<i8")
                kept = np.isin(chunks, allowed)
                chunks, scores = chunks[kept], scores[kept]

    def _sum(
        self, match: WordMatch, among: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The chunks that match and their BM25 scores, of all chunks or `among` these."""
        import numpy as np

        phrases = list(itertools.chain.from_iterable(match.terms))
        self._load([(term, lone(words)) for words in phrases for term in self._terms_of(words)])
        listed = {words: self._phrase(words, among) for words in dict.fromkeys(phrases)}
        scored = [listed[words] for words in phrases]
        if not scored:
            return np.empty(0, "<i8"), np.empty(0)
        if among is not None:
            scored = [(rarity, _only(matches, among)) for rarity, matches in scored]
        every = np.concatenate([matches.chunks for _, matches in scored])
        values = np.concatenate([rarity * matches.shares for rarity, matches in scored])
        chunks, scores = _summed(every, values)
        kept = np.ones(len(chunks), bool)
        if match.every:
            for spellings in match.terms:
                held = [listed[words][1].chunks for words in spellings]
                kept &= np.isin(chunks, np.concatenate(held))
        return chunks[kept], scores[kept]

    def _terms_of(self, words: Phrase) -> tuple[str, ...]:
        if words not in self._terms:
            self._terms[words] = tuple(self.stemmed(" ".join(words)))
        return self._terms[words]

    def _phrase(
        self, words: Phrase, among: NDArray[np.int64] | None = None, *, prefixes: bool = True
    ) -> tuple[float, TermMatches]:
        """The idf of a phrase, and the chunks that contain it, at least those `among` these."""
        terms, prefix = self._terms_of(words), prefixes and lone(words)
        if not terms:
            return 0.0, self._nothing
        if len(terms) == 1:
            matches = self._list(terms[0], prefix=prefix)
            holding = self._held(terms[0]) if prefix else self.frequency(terms[0])
            return idf(self.total, holding), matches
        known = self._phrases.get(words)
        if known is None:
            known = self._search_phrase(terms, among)
            if among is None:
                self._phrases[words] = known
        return known

    def _search_phrase(
        self, terms: tuple[str, ...], among: NDArray[np.int64] | None
    ) -> tuple[float, TermMatches]:

        self._load([(term, False) for term in terms])
        candidates = self._all(terms, False)
        read, count = candidates, None
        if among is not None and len(candidates) > SAMPLED:
            step = -(-len(candidates) // SAMPLED)
            sample = candidates[::step]
            count = round(self._count_phrase(terms, sample) * len(candidates) / len(sample))
            read = _common(candidates, among)
        matches = self._read(terms, read)
        return idf(self.total, len(matches.chunks) if count is None else count), matches

    def _all(self, terms: tuple[str, ...], prefix: bool) -> NDArray[np.int64]:
        """The chunks that contain all of these terms, in any order."""
        lists = sorted((self._list(term, prefix=prefix).chunks for term in terms), key=len)
        common = lists[0]
        for chunks in lists[1:]:
            common = _common(chunks, common)
        return common

    def _count_phrase(self, terms: tuple[str, ...], candidates: NDArray[np.int64]) -> int:
        """The number of candidates that contain a phrase."""
        sought = f" {' '.join(terms)} "
        counts = (
            self._scopes.rows(
                "select count(*) from index_terms where user_id = %s and chunk = any(%s) "
                "and (strpos(telling, %s) > 0 or strpos(naming, %s) > 0)",
                (scope.id, numbers, sought, sought),
            )
            for scope, numbers in self._scopes.of(candidates.tolist())
        )
        return sum(count for [(count,)] in counts)

    def _read(self, terms: tuple[str, ...], candidates: NDArray[np.int64]) -> TermMatches:
        """Those of the candidates that contain a phrase."""
        import numpy as np

        chunks, shares, sought = [], [], " ".join(terms)
        for scope, numbers in self._scopes.of(candidates.tolist()):
            listed = self._scopes.rows(
                "select chunk, domain_set, length, telling, naming from index_terms "
                "where user_id = %s and chunk = any(%s) "
                "and (strpos(telling, %s) > 0 or strpos(naming, %s) > 0)",
                (scope.id, numbers, f" {sought} ", f" {sought} "),
            )
            mean = self._means[scope.position]
            for number, domain_set, length, telling, naming in listed:
                times = postings.occurrences(postings.unstream(telling, naming), sought)
                chunks.append(scope.key(number))
                shares.append(_share(times, length, mean[domain_set]))
        order = np.argsort(np.array(chunks, "<i8"))
        return TermMatches(np.array(chunks, "<i8")[order], np.array(shares, "<f8")[order])

    def _list(self, term: str, *, prefix: bool = False) -> TermMatches:
        if (term, prefix) not in self._lists:
            self._load([(term, prefix)])
        return self._lists[term, prefix]

    def _held(self, prefix: str) -> int:
        """The number of chunks with a term that begins with a text; lists also name others."""
        chunks = self._list(prefix, prefix=True).chunks.tolist()
        counts = (
            self._scopes.rows(
                "select count(*) from index_terms where user_id = %s and chunk = any(%s)",
                (scope.id, numbers),
            )
            for scope, numbers in self._scopes.of(chunks)
        )
        return sum(count for [(count,)] in counts)

    def _load(self, wanted: Iterable[tuple[str, bool]]) -> None:
        """Read the posting lists of terms; with True, of all terms that begin with a text."""
        missing = [key for key in dict.fromkeys(wanted) if key not in self._lists]
        stored: dict[tuple[str, bool], list[TermMatches]] = {key: [] for key in missing}
        whole = [term for term, prefix in missing if not prefix]
        for scope in self._scopes:
            entries: defaultdict[tuple[str, bool], list[bytes]] = defaultdict(list)
            if whole:
                for term, part in self._scopes.rows(
                    "select term, entries from index_postings "
                    "where user_id = %s and term = any(%s)",
                    (scope.id, whole),
                    binary=True,
                    plan="words",
                ):
                    entries[term, False].append(part)
            for term in (term for term, prefix in missing if prefix):
                begun = self._scopes.rows(
                    "select entries from index_postings "
                    "where user_id = %s and term >= %s and term < %s",
                    (scope.id, term, term + _LAST),
                    binary=True,
                )
                entries[term, True] = [part for (part,) in begun]
            for key, parts in entries.items():
                stored[key].append(self._matches(scope, b"".join(parts), merged=key[1]))
        for key, matches in stored.items():
            self._lists[key] = _joined(matches) if matches else self._nothing

    def _matches(self, scope: ReadScope, stored: bytes, *, merged: bool) -> TermMatches:
        import numpy as np

        listed = postings.entries(stored)
        if scope.hides:
            listed = listed[np.isin(listed["domain_set"], scope.visible)]
        chunks, weights = listed["chunk"].astype("<i8"), listed["weight"].astype("<f8")
        lengths, sets = listed["length"], listed["domain_set"]
        if merged:
            chunks, first, places = np.unique(chunks, return_index=True, return_inverse=True)
            weights = np.bincount(places, weights, len(chunks))
            lengths, sets = lengths[first], sets[first]
        shares = _share(weights, lengths, self._means[scope.position][sets])
        if not (chunks[1:] > chunks[:-1]).all():
            order = np.argsort(chunks)
            chunks, shares = chunks[order], shares[order]
        return TermMatches(chunks + scope.key(0), shares)

    @cached_property
    def _means(self) -> list[NDArray[np.float64]]:
        """The mean length of the chunks of each set's compartment, by scope and set."""
        import numpy as np

        means = []
        for scope in self._scopes:
            values = np.ones(max((each.number for each in scope.sets), default=0) + 1)
            for each in scope.sets:
                alike = [other for other in scope.sets if other.excluded == each.excluded]
                chunks = sum(other.chunks for other in alike)
                values[each.number] = sum(other.length for other in alike) / (chunks or 1) or 1
            means.append(values)
        return means

    @cached_property
    def _nothing(self) -> TermMatches:
        import numpy as np

        return TermMatches(np.empty(0, "<i8"), np.empty(0))

    def _count(self, stems: Sequence[str]) -> None:
        """Read how many chunks contain each of these terms."""
        counts = dict.fromkeys(stems, 0)
        for scope in self._scopes if stems else ():
            listed = self._scopes.rows(
                "select term, chunks from index_counts where user_id = %s and term = any(%s) "
                "and domain_set = any(%s)",
                (scope.id, [plain(stem) for stem in stems], scope.visible),
            )
            for term, chunks in listed:
                counts[term] += chunks
        self._frequencies |= counts

    def _vocabulary(self, sql: str, *values: object) -> list[str]:
        rows: list[Row] = [
            row
            for scope in self._scopes
            for row in self._scopes.rows(sql, (scope.id, scope.visible, *values))
        ]
        return [term for (term,) in rows]


def _joined(matches: Sequence[TermMatches]) -> TermMatches:
    import numpy as np

    if len(matches) == 1:
        return matches[0]
    return TermMatches(
        np.concatenate([each.chunks for each in matches]),
        np.concatenate([each.shares for each in matches]),
    )


def _common(chunks: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
    """Those of the few `others` that are among sorted `chunks`."""
    if not len(chunks):
        return chunks
    places = chunks.searchsorted(others).clip(max=len(chunks) - 1)
    common: NDArray[np.int64] = others[chunks[places] == others]
    return common


def _only(matches: TermMatches, among: NDArray[np.int64]) -> TermMatches:
    """The matches in these sorted chunks."""
    if not len(matches.chunks):
        return matches
    places = matches.chunks.searchsorted(among).clip(max=len(matches.chunks) - 1)
    held = matches.chunks[places] == among
    return TermMatches(among[held], matches.shares[places[held]])


def _summed(
    chunks: NDArray[np.int64], values: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The chunks without repetitions and sorted, and the sum of the values of each."""
    import numpy as np

    if len(chunks) and (span := int(np.ptp(chunks)) + 1) <= DENSE:
        first = chunks.min()
        sums = np.bincount(chunks - first, values, span)
        held = np.bincount(chunks - first, minlength=span).nonzero()[0]
        scores: NDArray[np.float64] = sums[held].astype("<f8")
        return held + first, scores
    distinct, places = np.unique(chunks, return_inverse=True)
    return distinct, np.bincount(places, values, len(distinct)).astype("<f8")


def _share(weights: Any, lengths: Any, means: Any) -> Any:
    """BM25 of a term in chunks, without its idf. Numbers or arrays."""
    return weights * (K1 + 1) / (weights + K1 * (1 - B + B * lengths / means))
