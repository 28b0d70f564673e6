"""Writes the words of a scope: counts of terms, and posting lists in segments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING
from uuid import UUID

from djinn_memory.store.postgres.index import postings
from djinn_memory.store.postgres.index.postings import CountedChunk
from djinn_memory.store.postgres.scopes import take_numbers
from djinn_memory.store.postgres.values import copying

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor

MAX_SEGMENTS = 32
"""A search reads each term in each segment. With more of them the smaller ones are merged."""

MERGED_SEGMENTS = 24

MAX_GONE = 1_000
"""Chunks that are gone, and stay in posting lists, beyond the number of those that are there."""

_SEGMENT_CHUNKS = 20_000
"""Chunks that are read at once when the posting lists are written again."""


def add(tx: Cursor, scope: UUID, chunks: Mapping[int, CountedChunk]) -> None:
    """Count the terms of new chunks, and write their posting lists. Keys are chunk numbers."""
    _count(tx, scope, chunks.values(), 1)
    _write_segment(tx, scope, chunks)


def subtract(tx: Cursor, scope: UUID, chunks: Collection[CountedChunk]) -> None:
    """Take chunks out of the counts. `merge` later takes them out of the posting lists."""
    _count(tx, scope, chunks, -1)


def merge(tx: Cursor, scope: UUID) -> None:
    """Merge the smaller segments if there are many, or all if many of their chunks are gone."""
    tx.execute(
        "select segment, chunks from index_segments where user_id = %s order by chunks", (scope,)
    )
    segments = tx.fetchall()
    tx.execute(
        "select coalesce(sum(chunks), 0) from index_domain_sets where user_id = %s", (scope,)
    )
    row = tx.fetchone()
    held = int(row[0]) if row else 0
    if sum(chunks for _, chunks in segments) > 2 * held + MAX_GONE:
        compact(tx, scope)
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
    compact(tx, scope)


def compact(tx: Cursor, scope: UUID) -> None:
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
            chunk: postings.counted(number, postings.unstream(telling, naming))
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
        (
            scope,
            terms,
            [number for (_, number), _ in changes],
            [count for _, count in changes],
        ),
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
        for term, entries in sorted(postings.grouped(chunks).items()):
            copy.write_row((scope, term, segment, bytes(entries)))
    _add_segment(tx, scope, segment, len(chunks))


def _add_segment(tx: Cursor, scope: UUID, segment: int, chunks: int) -> None:
    tx.execute(
        "insert into index_segments (user_id, segment, chunks) values (%s, %s, %s)",
        (scope, segment, chunks),
    )
