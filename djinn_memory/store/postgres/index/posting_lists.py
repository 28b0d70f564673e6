"""Reads posting lists, counts and phrases from a server, and caches them for later searches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from djinn_memory.store.index.selection import Row
from djinn_memory.store.postgres.index import postings
from djinn_memory.store.postgres.index.postgres_tables import ScopeSelections
from djinn_memory.store.postgres.index.postings import TermMatches
from djinn_memory.store.postgres.index.scopes import ReadScope

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ENTRY = [("chunk", "<u4"), ("length", "<u4"), ("domain_set", "<u2"), ("weight", "<u2")]
"""The fields of an entry of `postings`, as numpy names types."""

_K1, _B = 1.2, 0.75
"""The constants of FTS5's BM25."""

_MOST_READ = 1_000
"""Chunks with all words of a phrase, of which all are read to count those with the phrase. Of more
chunks a sample is read, and the count is estimated."""

_SAMPLED = 400
"""The size of that sample."""

_Terms = tuple[str, ...]

_LAST = chr(0x10FFFF)


_HOLDING = (
    "select pair, wanted.chunk, domain_set, length, case when pair > 0 then telling end, "
    "case when pair > 0 then naming end "
    "from unnest(%s::int[], %s::bigint[]) as wanted (pair, chunk) "
    "join index_terms as terms on terms.user_id = %s and terms.chunk = wanted.chunk "
    "where strpos(telling, (%s::text[])[abs(pair)]) > 0 "
    "or strpos(naming, (%s::text[])[abs(pair)]) > 0"
)
"""Pairs of a phrase and a chunk that contains it. A phrase is the number of its text from 1 on. Of
a negative one no terms are read."""


class PostingLists:
    """The posting lists of some scopes."""

    def __init__(self, selections: ScopeSelections) -> None:
        self._of = selections.of
        self._scopes = selections.parts()
        self._lists: dict[tuple[str, bool], TermMatches] = {}
        self._phrases: dict[_Terms, TermMatches] = {}

    @cached_property
    def total(self) -> int:
        """The number of chunks."""
        return sum(each.chunks for scope in self._scopes for each in scope.sets if each.visible)

    def counted(self, term: str) -> bool:
        """Whether it is known how many chunks contain a term."""
        return all(term in scope.cache.counts for scope in self._scopes)

    def frequency(self, term: str) -> int:
        """The number of chunks that contain a term."""
        self.count([term])
        return sum(scope.cache.counts[term] for scope in self._scopes)

    def count(self, terms: Collection[str]) -> None:
        """Read at once how many chunks contain each of these terms."""
        for scope in self._scopes:
            counts = scope.cache.counts
            missing = [term for term in dict.fromkeys(terms) if term not in counts]
            if not missing:
                continue
            listed = scope.rows(
                "select term, chunks from index_counts where user_id = %s and term = any(%s) "
                "and domain_set = any(%s)",
                (scope.id, missing, scope.visible),
            )
            counts |= dict.fromkeys(missing, 0)
            for term, chunks in listed:
                counts[term] += chunks

    def of(self, term: str, *, prefix: bool = False) -> TermMatches:
        """The chunks with a term, or with `prefix` with a term that begins with it."""
        if (term, prefix) not in self._lists:
            self.load([(term, prefix)])
        return self._lists[term, prefix]

    def load(self, wanted: Iterable[tuple[str, bool]]) -> None:
        """Read the posting lists of terms; with True, of all terms that begin with a text."""
        missing = [key for key in dict.fromkeys(wanted) if key not in self._lists]
        stored: dict[tuple[str, bool], list[TermMatches]] = {key: [] for key in missing}
        for scope in self._scopes if missing else ():
            known = {key: scope.cache.matches(key) for key in missing}
            read = self._read(scope, [key for key, matches in known.items() if matches is None])
            for key, held in known.items():
                matches = read[key] if held is None else held
                if held is None:
                    scope.cache.keep(key, matches)
                stored[key].append(_numbered(scope, matches))
        self._lists |= {key: TermMatches.joined(matches) for key, matches in stored.items()}

    def beginning(self, prefix: str) -> int:
        """The number of chunks with a term that begins with a text; lists also name others."""
        chunks = self.of(prefix, prefix=True).chunks.tolist()
        counts = (
            scope.rows(
                "select count(*) from index_terms where user_id = %s and chunk = any(%s)",
                (scope.id, numbers),
            )
            for scope, numbers in self._of(chunks)
        )
        return sum(count for [(count,)] in counts)

    def all_of(self, terms: _Terms, *, prefix: bool = False) -> NDArray[np.int64]:
        """The chunks that contain all of these terms, in any order."""
        lists = sorted((self.of(term, prefix=prefix).chunks for term in terms), key=len)
        shared = lists[0]
        for chunks in lists[1:]:
            shared = _common(chunks, shared)
        return shared

    def phrases(
        self, wanted: Iterable[_Terms], among: NDArray[np.int64] | None = None
    ) -> dict[_Terms, TermMatches]:
        """The chunks that contain phrases of several terms; with `among` only chunks out of these.

        It also reads at once how many chunks contain the phrases, see `holding`.
        """
        listed = {terms: self._phrases.get(terms) for terms in dict.fromkeys(wanted)}
        matches = {terms: known for terms, known in listed.items() if known}
        missing = [terms for terms, known in listed.items() if not known]
        self.load([(term, False) for terms in missing for term in terms])
        candidates = {terms: self.all_of(terms) for terms in missing}
        if among is None:
            sought = candidates
        else:
            sought = {terms: _common(chunks, among) for terms, chunks in candidates.items()}
        read: dict[_Terms, list[TermMatches]] = {terms: [] for terms in missing}
        for scope in self._scopes if missing else ():
            for terms, part in self._read_phrases(scope, candidates, sought).items():
                read[terms].append(_numbered(scope, part))
        matches |= {terms: TermMatches.joined(parts) for terms, parts in read.items()}
        if among is None:
            self._phrases |= matches
        return matches

    def holding(self, terms: _Terms) -> int:
        """The number of chunks with a phrase of `phrases`. It is estimated if there are many."""
        return sum(scope.cache.phrase_counts[terms] for scope in self._scopes)

    def _read_phrases(
        self,
        scope: ReadScope,
        candidates: Mapping[_Terms, NDArray[np.int64]],
        sought: Mapping[_Terms, NDArray[np.int64]],
    ) -> dict[_Terms, TermMatches]:
        """The sought chunks of a scope that contain phrases. Counts the phrases, too."""
        counts = scope.cache.phrase_counts
        pairs: list[int] = []
        chunks: list[int] = []
        samples: dict[int, tuple[set[int], float]] = {}
        for pair, terms in enumerate(sought, 1):
            wanted = set(scope.numbers(sought[terms]))
            if terms not in counts:
                own = scope.numbers(candidates[terms])
                step = -(-len(own) // _SAMPLED) if len(own) > _MOST_READ else 1
                sample = set(own[::step])
                samples[pair] = sample, len(own) / (len(sample) or 1)
                pairs += [-pair] * len(sample - wanted)
                chunks += sample - wanted
            pairs += [pair] * len(wanted)
            chunks += wanted
        patterns = [f" {' '.join(terms)} " for terms in sought]
        values = (pairs, chunks, scope.id, patterns, patterns)
        listed = scope.rows(_HOLDING, values) if chunks else []
        held: defaultdict[int, list[Row]] = defaultdict(list)
        for row in listed:
            held[abs(row[0])].append(row[1:])
        for pair, (sample, weight) in samples.items():
            inside = sum(row[0] in sample for row in held[pair])
            counts[list(sought)[pair - 1]] = round(inside * weight)
        return {
            terms: self._weighed(scope, terms, [row for row in held[pair] if row[3] is not None])
            for pair, terms in enumerate(sought, 1)
        }

    def _weighed(self, scope: ReadScope, terms: _Terms, listed: Sequence[Row]) -> TermMatches:
        """Chunks that contain a phrase, as they are stored."""
        import numpy as np

        mean, phrase = self._means[scope.position], " ".join(terms)
        chunks = np.array([row[0] for row in listed], "<i8")
        shares = [
            _share(
                postings.occurrences(postings.unstream(telling, naming), phrase),
                length,
                mean[domain_set],
            )
            for _, domain_set, length, telling, naming in listed
        ]
        order = np.argsort(chunks)
        return TermMatches(chunks[order], np.array(shares, "<f8")[order])

    def _read(
        self, scope: ReadScope, wanted: Sequence[tuple[str, bool]]
    ) -> dict[tuple[str, bool], TermMatches]:
        """The posting lists of a scope."""
        entries: dict[tuple[str, bool], list[bytes]] = {key: [] for key in wanted}
        if whole := [term for term, prefix in wanted if not prefix]:
            for term, part in scope.rows(
                "select term, entries from index_postings where user_id = %s and term = any(%s)",
                (scope.id, whole),
                binary=True,
                plan="words",
            ):
                entries[term, False].append(part)
        for term in (term for term, prefix in wanted if prefix):
            begun = scope.rows(
                "select entries from index_postings "
                "where user_id = %s and term >= %s and term < %s",
                (scope.id, term, term + _LAST),
                binary=True,
            )
            entries[term, True] = [part for (part,) in begun]
        return {
            key: self._matches(scope, b"".join(parts), merged=key[1])
            for key, parts in entries.items()
        }

    def _matches(self, scope: ReadScope, stored: bytes, *, merged: bool) -> TermMatches:
        import numpy as np

        listed = np.frombuffer(stored, np.dtype(_ENTRY))
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
        return TermMatches(chunks, shares)

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


def _numbered(scope: ReadScope, matches: TermMatches) -> TermMatches:
    """Matches of a scope with the numbers of the index."""
    offset = scope.key(0)
    return TermMatches(matches.chunks + offset, matches.shares) if offset else matches


def _common(chunks: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
    """The members of the few `others` that are among sorted `chunks`."""
    if not len(chunks):
        return chunks
    places = chunks.searchsorted(others).clip(max=len(chunks) - 1)
    shared: NDArray[np.int64] = others[chunks[places] == others]
    return shared


def _share(weights: Any, lengths: Any, means: Any) -> Any:
    """BM25 of a term in chunks, without its idf. Numbers or arrays."""
    return weights * (_K1 + 1) / (weights + _K1 * (1 - _B + _B * lengths / means))
