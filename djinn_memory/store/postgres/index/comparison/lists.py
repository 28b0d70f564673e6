"""Compares the counts and posting lists of a scope with the terms of its chunks."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from uuid import UUID

from djinn_memory.store.postgres.index.terms import postings
from djinn_memory.store.postgres.index.words import segments

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor

TERMS = 2_000
"""Number of terms whose posting lists are read at once."""


def differences(tx: Cursor, scope: UUID) -> dict[str, int]:
    """The number of rows by table that are not what the terms of the chunks say.

    Posting lists may name chunks that are gone. The number of chunks in `index_segments`, which
    only says when they are merged, is not compared.
    """
    counts: Counter[tuple[str, int]] = Counter()
    sizes: Counter[int] = Counter()
    lengths: Counter[int] = Counter()
    # An order-free sum of the entries of each term: lists of all chunks may not fit into memory.
    sums: Counter[str] = Counter()
    numbers: set[int] = set()
    for chunks in segments.counted_chunks(tx, scope):
        numbers |= chunks.keys()
        for domain_set, length, weights in chunks.values():
            counts.update((term, domain_set) for term in weights)
            sizes[domain_set] += 1
            lengths[domain_set] += length
        for term, entries in postings.grouped(chunks).items():
            sums[term] += _sum(bytes(entries), numbers)
    tx.execute("select number, chunks, length from index_domain_sets where user_id = %s", (scope,))
    sets = sum((sizes[number], lengths[number]) != (size, length) for number, size, length in tx)
    tx.execute("select term, domain_set, chunks from index_counts where user_id = %s", (scope,))
    stored = {(term, number): chunks for term, number, chunks in tx if chunks}
    return {
        "index_domain_sets": sets,
        "index_counts": sum(
            counts[key] != stored.get(key, 0) for key in counts.keys() | stored.keys()
        ),
        "index_postings": _wrong_lists(tx, scope, sums, numbers),
        "index_segments": _missing_segments(tx, scope),
    }


def _wrong_lists(tx: Cursor, scope: UUID, sums: Counter[str], numbers: set[int]) -> int:
    """The number of terms whose lists do not have exactly the entries of their chunks."""
    wrong, known = 0, set[str]()
    last: str | None = None
    while True:
        tx.execute(
            "select term, string_agg(entries, ''::bytea) from index_postings "
            "where user_id = %(scope)s and term in (select distinct term from index_postings "
            "where user_id = %(scope)s and (%(last)s::text is null or term > %(last)s) "
            "order by term limit %(limit)s) group by term",
            {"scope": scope, "last": last, "limit": TERMS},
        )
        lists = tx.fetchall()
        if not lists:
            return wrong + len({term for term, total in sums.items() if total} - known)
        for term, entries in lists:
            known.add(term)
            wrong += _sum(bytes(entries), numbers) != sums[term]
        last = max(term for term, _ in lists)


def _sum(entries: bytes, numbers: set[int]) -> int:
    """A number for the entries of chunks that are there, the same in any order."""
    total = 0
    for start in range(0, len(entries), postings.SIZE):
        entry = entries[start : start + postings.SIZE]
        if int.from_bytes(entry[:4], "little") in numbers:
            total += hash(entry)
    return total


def _missing_segments(tx: Cursor, scope: UUID) -> int:
    tx.execute(
        "select count(*) from (select segment from index_postings where user_id = %(scope)s "
        "except select segment from index_segments where user_id = %(scope)s) as missing",
        {"scope": scope},
    )
    row = tx.fetchone()
    return row[0] if row else 0
