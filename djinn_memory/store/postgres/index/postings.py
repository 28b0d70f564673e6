"""Posting lists: which chunks contain a term, how often, how long they are; and BM25 of it.

An entry is 12 bytes, so that a server joins lists by appending them, and a search reads a list as
an array. FTS5's BM25 needs nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from djinn_memory.store.postgres.rows import ChunkTerms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ENTRY = [("chunk", "<u4"), ("length", "<u4"), ("domain_set", "<u2"), ("weight", "<u2")]
"""The fields of an entry, as numpy names types."""

_ENTRY_FORMAT = "<IIHH"
"""The same for `struct`."""

SIZE = 12
"""The number of bytes of an entry."""

_MOST = 0xFFFF
"""The greatest weighted count that an entry holds."""

_WEIGHTS = (3, 3, 2, 2, 1, 1)
"""Weights of the columns of `ChunkTerms`, as in the local index."""

TELLING = ("title", "body")
"""The columns that tell of a chunk. The others name its memory or its place."""

NAMING = ("aliases", "headings", "tags", "path")

_K1, _B = 1.2, 0.75
"""The constants of FTS5's BM25."""

_DENSE = 4_000_000
"""Numbers of chunks over this range are added up in an array of all numbers, which is faster."""

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
    """The terms of a chunk from what a server stores."""
    stored = zip((*TELLING, *NAMING), [*telling.split(_EDGE), *naming.split(_EDGE)], strict=True)
    return ChunkTerms(**{column: line[1:-1] for column, line in stored})


def entries(stored: bytes) -> NDArray[np.void]:
    """The entries of a list as an array."""
    import numpy as np

    return np.frombuffer(stored, np.dtype(_ENTRY))


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


def nothing() -> TermMatches:
    """No chunk."""
    import numpy as np

    return TermMatches(np.empty(0, "<i8"), np.empty(0))


def joined(matches: Sequence[TermMatches]) -> TermMatches:
    """The matches in several scopes, given in the order of their numbers."""
    import numpy as np

    if len(matches) == 1:
        return matches[0]
    if not matches:
        return nothing()
    return TermMatches(
        np.concatenate([each.chunks for each in matches]),
        np.concatenate([each.shares for each in matches]),
    )


def common(chunks: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
    """Those of the few `others` that are among sorted `chunks`."""
    if not len(chunks):
        return chunks
    places = chunks.searchsorted(others).clip(max=len(chunks) - 1)
    shared: NDArray[np.int64] = others[chunks[places] == others]
    return shared


def only(matches: TermMatches, among: NDArray[np.int64]) -> TermMatches:
    """The matches in these sorted chunks."""
    if not len(matches.chunks):
        return matches
    places = matches.chunks.searchsorted(among).clip(max=len(matches.chunks) - 1)
    held = matches.chunks[places] == among
    return TermMatches(among[held], matches.shares[places[held]])


def summed(
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


def share(weights: Any, lengths: Any, means: Any) -> Any:
    """BM25 of a term in chunks, without its idf. Numbers or arrays."""
    return weights * (_K1 + 1) / (weights + _K1 * (1 - _B + _B * lengths / means))
