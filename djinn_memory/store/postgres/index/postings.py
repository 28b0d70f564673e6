"""Posting lists: which chunks contain a term, how often, how long they are; and BM25 of it.

An entry is 12 bytes, so that a server joins lists by appending them, and a search reads a list as
an array. FTS5's BM25 needs nothing else. A scope has its lists in segments, and counts of terms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from djinn_memory.store.postgres.rows import ChunkTerms
from djinn_memory.store.postgres.scopes import take_numbers
from djinn_memory.store.postgres.values import copying

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from djinn_memory.store.postgres.connection import Cursor

_ENTRY_FORMAT = "<IIHH"
"""Chunk, length, set of domains and weight, as `struct` names types."""

SIZE = 12
"""The number of bytes of an entry."""

_MOST = 0xFFFF
"""The greatest weighted count that an entry holds."""

_WEIGHTS = (3, 3, 2, 2, 1, 1)
"""Weights of the columns of `ChunkTerms`, as in the local index."""

TELLING = ("title", "body")
"""The columns that tell of a chunk. The others name its memory or its place."""

NAMING = ("aliases", "headings", "tags", "path")

MAX_SEGMENTS = 32
"""A search reads each term in each segment. With more of them the smaller ones are merged."""

MERGED_SEGMENTS = 24

MAX_GONE = 1_000
"""Chunks that are gone, and stay in posting lists, beyond the number of those that are there."""

_SEGMENT_CHUNKS = 20_000
"""Chunks that are read at once when the posting lists are written again."""

_EDGE = "\n"
"""Ends a column, so that no phrase spans two."""


class CountedChunk(NamedTuple):
    """The terms of a chunk, as BM25 counts them."""

    domain_set: int
    length: int
    """The number of terms, with tokens of nothing."""
    weights: Mapping[str, int]
    """How often each term occurs, weighted by column."""


def counted(domain_set: int, terms: ChunkTerms) -> CountedChunk:
    """The terms of a chunk with this set of domains, counted."""
    counts: Counter[str] = Counter()
    for column, weight in zip(terms, _WEIGHTS, strict=True):
        if weight == 1:
            counts.update(column.split(" "))
            continue
        for term in column.split(" "):
            counts[term] += weight
    # A token of nothing only takes a place.
    del counts[""]
    return CountedChunk(domain_set, length(terms), counts)


def length(terms: ChunkTerms) -> int:
    """The number of terms of a chunk, with tokens of nothing."""
    return sum(column.count(" ") + 1 for column in terms if column)


def stream(terms: ChunkTerms, columns: tuple[str, ...]) -> str:
    """Some columns as a server stores them: each a line, with a space on both sides of a term."""
    return _EDGE.join(f" {getattr(terms, column)} " for column in columns)


def unstream(telling: str, naming: str) -> ChunkTerms:
    """The terms of a chunk from their stored form on a server."""
    stored = zip((*TELLING, *NAMING), [*telling.split(_EDGE), *naming.split(_EDGE)], strict=True)
    return ChunkTerms(**{column: line[1:-1] for column, line in stored})


def occurrences(terms: ChunkTerms, phrase: str) -> int:
    """How often a phrase occurs in a chunk, weighted by column. Its terms are joined by a space."""
    total = 0
    for column, weight in zip(terms, _WEIGHTS, strict=True):
        text, sought, at = f" {column} ", f" {phrase} ", -1
        while (at := text.find(sought, at + 1)) >= 0:
            total += weight
    return total


def grouped(chunks: Mapping[int, CountedChunk]) -> dict[str, bytearray]:
    """The posting list of each term of some chunks, given by number."""
    from struct import pack

    lists: dict[str, bytearray] = {}
    for number, (domain_set, size, weights) in chunks.items():
        for term, weight in weights.items():
            entry = pack(_ENTRY_FORMAT, number, size, domain_set, min(weight, _MOST))
            lists.setdefault(term, bytearray()).extend(entry)
    return lists


class TermMatches(NamedTuple):
    """The chunks that contain a term or a phrase, sorted by number, and BM25 without idf."""

    chunks: NDArray[np.int64]
    shares: NDArray[np.float64]

    @classmethod
    def joined(cls, matches: Sequence[TermMatches]) -> TermMatches:
        """The matches in several scopes, given in the order of their numbers."""
        import numpy as np

        if len(matches) == 1:
            return matches[0]
        return cls(
            np.concatenate([np.empty(0, "<i8"), *(each.chunks for each in matches)]),
            np.concatenate([np.empty(0), *(each.shares for each in matches)]),
        )

    def only(self, among: NDArray[np.int64]) -> TermMatches:
        """The matches in these sorted chunks."""
        if not len(self.chunks):
            return self
        places = self.chunks.searchsorted(among).clip(max=len(self.chunks) - 1)
        held = self.chunks[places] == among
        return TermMatches(among[held], self.shares[places[held]])


def add_chunks(tx: Cursor, scope: UUID, chunks: Mapping[int, CountedChunk]) -> None:
    """Count the terms of new chunks, and write their posting lists. Keys are chunk numbers."""
    _count(tx, scope, chunks.values(), 1)
    _write_segment(tx, scope, chunks)


def subtract_chunks(tx: Cursor, scope: UUID, chunks: Collection[CountedChunk]) -> None:
    """Take chunks out of the counts. `merge_segments` later takes them out of the posting lists."""
    _count(tx, scope, chunks, -1)


def merge_segments(tx: Cursor, scope: UUID) -> None:
    """Merge the smaller segments if there are many, or all if many of their chunks are gone."""
    tx.execute(
        "select segment, chunks from index_segments where user_id = %s order by chunks", (scope,)
    )
    segments = tx.fetchall()
    tx.execute(
        "select coalesce(sum(chunks), 0) from index_domain_sets where user_id = %s", (scope,)
    )
    [(held,)] = tx.fetchall()
    if sum(chunks for _, chunks in segments) > 2 * held + MAX_GONE:
        _compact(tx, scope)
    elif len(segments) > MAX_SEGMENTS:
        small = segments[:MERGED_SEGMENTS]
        merged, number = [segment for segment, _ in small], take_numbers(tx, scope, 1)
        # A node of a cluster that copies rows of its own sends them to no other.
        tx.execute(
            "insert into index_postings (user_id, term, segment, entries) "
            "select user_id, term, %s::bigint, string_agg(entries, ''::bytea order by segment) "
            "from index_postings where user_id = %s and segment = any(%s) group by user_id, term",
            (number, scope, merged),
        )
        for table in ("index_postings", "index_segments"):
            sql = f"delete from {table} where user_id = %s and segment = any(%s)"
            tx.execute(sql.encode(), (scope, merged))
        _add_segment(tx, scope, number, sum(chunks for _, chunks in small))


def recount(tx: Cursor, scope: UUID) -> None:
    """Write the counts and the posting lists of a scope again, from the terms of its chunks."""
    tx.execute("delete from index_counts where user_id = %s", (scope,))
    tx.execute("update index_domain_sets set chunks = 0, length = 0 where user_id = %s", (scope,))
    for chunks in counted_chunks(tx, scope):
        _count(tx, scope, chunks.values(), 1)
    _compact(tx, scope)


def _compact(tx: Cursor, scope: UUID) -> None:
    """Write the posting lists of a scope again, without chunks that are gone."""
    tx.execute("delete from index_postings where user_id = %s", (scope,))
    tx.execute("delete from index_segments where user_id = %s", (scope,))
    for chunks in counted_chunks(tx, scope):
        _write_segment(tx, scope, chunks)


def counted_chunks(tx: Cursor, scope: UUID) -> Iterator[dict[int, CountedChunk]]:
    """The chunks of a scope by number with their terms, some of them at once."""
    last = -1
    while True:
        tx.execute(
            "select chunk, domain_set, telling, naming from index_terms "
            "where user_id = %s and chunk > %s order by chunk limit %s",
            (scope, last, _SEGMENT_CHUNKS),
        )
        chunks = {
            chunk: counted(number, unstream(telling, naming))
            for chunk, number, telling, naming in tx
        }
        if not chunks:
            return
        last = max(chunks)
        yield chunks


def _count(tx: Cursor, scope: UUID, chunks: Collection[CountedChunk], sign: int) -> None:
    """Add chunks to the counts, or with -1 subtract them."""
    holding: Counter[tuple[str, int]] = Counter()
    numbers: Counter[int] = Counter()
    lengths: Counter[int] = Counter()
    for domain_set, length, weights in chunks:
        numbers[domain_set] += sign
        lengths[domain_set] += sign * length
        for term in weights:
            holding[term, domain_set] += sign
    # In one order, as locks are taken.
    changes = sorted(holding.items())
    terms = [term for (term, _), _ in changes]
    tx.execute(
        "insert into index_counts (user_id, term, domain_set, chunks) "
        "select %s, * from unnest(%s::text[], %s::int[], %s::int[]) "
        "on conflict (user_id, term, domain_set) do update "
        "set chunks = index_counts.chunks + excluded.chunks",
        (scope, terms, [number for (_, number), _ in changes], [count for _, count in changes]),
    )
    if sign < 0:
        # No list is left of a term that no chunk has: it may be a word of a purged text.
        tx.execute(
            "delete from index_counts where user_id = %s and term = any(%s) and chunks <= 0 "
            "returning term",
            (scope, terms),
        )
        if gone := [term for (term,) in tx]:
            tx.execute(
                "delete from index_postings where user_id = %s and term = any(%s) "
                "and not term = any(array("
                "select term from index_counts where user_id = %s and term = any(%s)))",
                (scope, gone, scope, gone),
            )
    for number, count in numbers.items():
        tx.execute(
            "update index_domain_sets set chunks = chunks + %s, length = length + %s "
            "where user_id = %s and number = %s",
            (count, lengths[number], scope, number),
        )


def _write_segment(tx: Cursor, scope: UUID, chunks: Mapping[int, CountedChunk]) -> None:
    """Write the posting lists of some chunks as a segment."""
    segment = min(chunks)
    with copying(tx, "index_postings", "user_id, term, segment, entries") as copy:
        for term, entries in sorted(grouped(chunks).items()):
            copy.write_row((scope, term, segment, bytes(entries)))
    _add_segment(tx, scope, segment, len(chunks))


def _add_segment(tx: Cursor, scope: UUID, segment: int, chunks: int) -> None:
    tx.execute(
        "insert into index_segments (user_id, segment, chunks) values (%s, %s, %s)",
        (scope, segment, chunks),
    )
