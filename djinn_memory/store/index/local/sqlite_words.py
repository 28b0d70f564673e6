"""Reads the words of some vaults, and finds chunks by words."""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property

import apsw

from djinn_memory.store.index.local.sqlite_tables import SqlitePart, SqliteSelections
from djinn_memory.store.index.records import Forms, Phrase, WordMatch
from djinn_memory.store.index.selection import Condition
from djinn_memory.store.index.stored_words import (
    COMPOUND_PART,
    MAX_COMPOUNDS,
    MOST_PHRASES,
    StoredWords,
    lone,
)
from djinn_memory.store.index.words import Tokenizer, chunk_count, idf, languages
from djinn_memory.store.sqlite import Row, rows

_WEIGHTS = "3, 3, 2, 2, 1, 1"
"""Weights of title, aliases, headings, tags, path and body. A word in a title says most about a
note."""

_BM25 = f"select rowid, -bm25({{words}}, {_WEIGHTS}) from {{words}} where {{words}} match ?"


class SqliteWordIndex(StoredWords[SqlitePart]):
    """The words of some vaults. `search.backend.WordIndex` documents the methods.

    Every number is computed from these vaults alone, so that other vaults do not change a score.
    """

    def __init__(self, connection: apsw.Connection, selections: SqliteSelections) -> None:
        super().__init__(selections)
        self._connection = connection
        self._compartments = selections.compartments
        self._frequencies: dict[str, int] = {}
        self._known: dict[tuple[Phrase, int], dict[int, float]] = {}
        self._phrases: dict[Phrase, list[tuple[float, dict[int, float]]]] = {}
        self._sums: dict[tuple[Forms, ...], dict[int, float]] = {}
        self._orders: dict[WordMatch, list[int]] = {}
        """The chunks that match, best first."""

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages, English aside, whose stemmers made words of these vaults."""
        return languages(self._connection, self._compartments)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return Tokenizer(self._connection)

    @cached_property
    def _totals(self) -> dict[int, int]:
        return {number: chunk_count(self._connection, number) for number in self._compartments}

    @property
    def total(self) -> int:
        """The number of chunks."""
        return sum(self._totals.values())

    def frequency(self, stem: str) -> int:
        """The number of chunks that contain a stemmed word."""
        if stem not in self._frequencies:
            listed = self._listed("select doc from {terms} where term = ?", stem)
            self._frequencies[stem] = sum(chunks for (chunks,) in listed)
        return self._frequencies[stem]

    def compounds_of(self, bare: str, mark: str) -> list[str]:
        """See `StoredWords`."""
        listed = self._listed(
            "select term from (select term, substr(term, 1, length(term) - 1) as bare "
            "from {terms} where substr(term, -1) = ?1 and length(term) > ?2) "
            "where substr(bare, 1, length(?3)) = ?3 or substr(bare, -length(?3)) = ?3 "
            "or substr(?3, 1, length(bare)) = bare or substr(?3, -length(bare)) = bare limit ?4",
            *(mark, COMPOUND_PART, bare, MAX_COMPOUNDS),
        )
        return [term for (term,) in listed]

    def terms_between(
        self, first: str, last: str, lengths: tuple[int, int], limit: int
    ) -> list[str]:
        """See `StoredWords`."""
        listed = self._listed(
            "select term from {terms} where term >= ? and term < ? "
            "and length(term) between ? and ? limit ?",
            *(first, last, *lengths, limit),
        )
        return [term for (term,) in listed]

    def _batches(
        self, match: WordMatch, conditions: Mapping[int, tuple[SqlitePart, Condition]], size: int
    ) -> Iterator[dict[int, float]]:
        """See `StoredWords`. The chunks that filters leave are read after the first batch."""
        scores = self._scores(match)
        best = self._orders.get(match)
        if best is None:
            best = sorted(scores, key=scores.__getitem__, reverse=True)
            self._orders[match] = best
        start, filtered = 0, False
        while start < len(best):
            stop = start + size
            while stop < len(best) and scores[best[stop]] == scores[best[stop - 1]]:
                stop += 1
            yield {chunk: scores[chunk] for chunk in best[start:stop]}
            start, size = stop, 4 * size
            if not filtered and start < len(best):
                allowed = set(self._selections.chunks_of(conditions))
                best = [chunk for chunk in best[start:] if chunk in allowed]
                start, filtered = 0, True

    def score(self, match: WordMatch, chunk_ids: Collection[int]) -> dict[int, float]:
        """The BM25 scores of those chunks that contain at least one of the words."""
        if match.every or match.terms in self._sums:
            scores = self._scores(match)
            return {chunk: scores[chunk] for chunk in chunk_ids if chunk in scores}
        # A sum over all chunks would read many times more than these few.
        scores = {}
        for form in itertools.chain.from_iterable(match.terms):
            for factor, matches in self._phrase(form):
                for chunk in matches.keys() & chunk_ids:
                    scores[chunk] = scores.get(chunk, 0.0) + factor * matches[chunk]
        return scores

    def chunks_with(self, phrases: Forms) -> list[int]:
        """See `StoredWords`."""
        chunks: set[int] = set()
        for start in range(0, len(phrases), MOST_PHRASES):
            wanted = " OR ".join(map(_quoted, phrases[start : start + MOST_PHRASES]))
            matches = self._listed(
                "select rowid from {words} where {words} match ?", f"{{title body}}: ({wanted})"
            )
            chunks.update(chunk for (chunk,) in matches)
        return sorted(chunks)

    def holding_phrase(self, spellings: Forms) -> list[int]:
        """See `StoredWords`."""
        wanted = " OR ".join(_quoted(words, prefixes=False) for words in spellings)
        rows = self._listed("select rowid from {words} where {words} match ?", wanted)
        return [chunk for (chunk,) in rows]

    def texts_with(self, stem: str, limit: int) -> list[str]:
        """Titles and texts of some chunks that contain a word with a stem."""
        matches = self._listed("select rowid from {words} where {words} match ?", f'"{stem}"*')
        listed = rows(
            self._connection,
            "with first as materialized (select chunk.id as number from json_each(?) "
            "cross join chunk on chunk.id = value cross join memory on memory.id = memory_id "
            "cross join note on note.id = note_id order by (select name from vault "
            "where id = vault_id), note.path, lines_above, ordinal limit ?) "
            "select title || ' ' || text from first cross join chunk on chunk.id = number "
            "cross join memory on memory.id = memory_id",
            (json.dumps([chunk for (chunk,) in matches]), limit),
        )
        return [text for (text,) in listed]

    def _scores(self, match: WordMatch) -> dict[int, float]:
        """The BM25 scores of the chunks that match."""
        scores = self._sums.get(match.terms)
        if scores is None:
            scores = self._sums[match.terms] = {}
            for form in itertools.chain.from_iterable(match.terms):
                for factor, matches in self._phrase(form):
                    for chunk, score in matches.items():
                        scores[chunk] = scores.get(chunk, 0.0) + factor * score
        if not match.every:
            return scores
        held = (
            {chunk for form in forms for _, matches in self._phrase(form) for chunk in matches}
            for forms in match.terms
        )
        return {chunk: scores[chunk] for chunk in set.intersection(*held)}

    def _phrase(self, words: Phrase) -> list[tuple[float, dict[int, float]]]:
        """For each compartment: a factor, and the BM25 scores of its chunks with a phrase.

        FTS5 computes the rarity of a phrase from one compartment; the factor replaces it with the
        rarity in all. A chunk's length is compared with the other chunks of its compartment.
        """
        if words not in self._phrases:
            matches = {number: self._matches(words, number) for number in self._compartments}
            rarity = idf(self.total, sum(map(len, matches.values())))
            self._phrases[words] = [
                (rarity / idf(self._totals[number], len(listed)), listed)
                for number, listed in matches.items()
                if listed
            ]
        return self._phrases[words]

    def _matches(self, words: Phrase, compartment: int) -> dict[int, float]:
        """The BM25 scores by FTS5 of the chunks of one compartment that contain a phrase."""
        known = self._known.get((words, compartment))
        if known is None:
            known = {}
            singles = [
                self._matches((word,), compartment) for word in words[: len(words) - 1 and 2]
            ]
            # Most chunks with one word of a pair lack the other, among few chunks all of them.
            if not singles or not singles[0].keys().isdisjoint(singles[1]):
                known = dict(self._of(compartment, _BM25, _quoted(words)))
            self._known[words, compartment] = known
        return known

    def _listed(self, sql: str, *values: object) -> list[Row]:
        """The rows of a query over `{words}` and `{terms}` for all compartments."""
        return [row for number in self._compartments for row in self._of(number, sql, *values)]

    def _of(self, compartment: int, sql: str, *values: object) -> list[Row]:
        named = sql.format(words=f"words_{compartment:d}", terms=f"vocabulary_{compartment:d}")
        return rows(self._connection, named, values)


def _quoted(words: Phrase, *, prefixes: bool = True) -> str:
    """A phrase in quotation marks for FTS5.

    With `prefixes`, a single character of an unspaced script matches any pair that it begins.
    """
    return f'"{" ".join(words)}"{"*" if prefixes and lone(words) else ""}'
