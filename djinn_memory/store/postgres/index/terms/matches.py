"""Arrays of the chunks that contain a term or a phrase, with their shares of BM25."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

K1, B = 1.2, 0.75
"""The constants of FTS5's BM25."""

DENSE = 4_000_000
"""Numbers of chunks over this range are added up in an array of all numbers, which is faster."""


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

    if len(chunks) and (span := int(np.ptp(chunks)) + 1) <= DENSE:
        first = chunks.min()
        sums = np.bincount(chunks - first, values, span)
        held = np.bincount(chunks - first, minlength=span).nonzero()[0]
        scores: NDArray[np.float64] = sums[held].astype("<f8")
        return held + first, scores
    distinct, places = np.unique(chunks, return_inverse=True)
    return distinct, np.bincount(places, values, len(distinct)).astype("<f8")


def share(weights: Any, lengths: Any, means: Any) -> Any:
    """BM25 of a term in chunks, without its idf. Numbers or arrays."""
    return weights * (K1 + 1) / (weights + K1 * (1 - B + B * lengths / means))
