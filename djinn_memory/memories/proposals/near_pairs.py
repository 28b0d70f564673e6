"""Finds pairs of near vectors without comparing all pairs.

Random hyperplanes give each vector a code of bits: the probability that two vectors differ in a bit
is their angle divided by pi (Charikar, "Similarity Estimation Techniques from Rounding Algorithms",
STOC 2002). Only vectors with an equal code in one of several bands are compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from djinn_memory.models import Vectors

BANDS = 64
"""The number of codes of a vector. With 16 bits, pairs with a cosine of .92 share at least one code
with a probability of .9995, and pairs with .82 of .87."""

FEWEST_BITS, MOST_BITS = 8, 16
"""The length of a code. About as many codes as vectors, so that few share one by chance."""

WIDEST = 50
"""Vectors with one code are compared with so many that follow. Hundreds of near vectors are a form
that was filled in."""


def near_pairs(vectors: Vectors, least: float) -> Iterator[tuple[int, int, float]]:
    """Pairs of rows with a cosine of at least `least`, and that cosine. Rows have the length 1.

    The pairs are the same each time. The cost grows with the number of rows, not with its square.
    """
    import numpy as np

    count, dimensions = vectors.shape
    bits = min(MOST_BITS, max(FEWEST_BITS, count.bit_length()))
    random, weights = np.random.default_rng(0), 1 << np.arange(bits)
    near: dict[tuple[int, int], float] = {}
    for _ in range(BANDS):
        planes = random.standard_normal((dimensions, bits)).astype("<f4")
        codes = ((vectors @ planes) > 0) @ weights
        for left, right in _with_equal_codes(codes):
            cosines = np.einsum("ij,ij->i", vectors[left], vectors[right])
            kept = cosines >= least
            pairs = zip(left[kept].tolist(), right[kept].tolist(), strict=True)
            near |= zip(pairs, cosines[kept].tolist(), strict=True)
    for (first, second), cosine in sorted(near.items()):
        yield first, second, cosine


def _with_equal_codes(
    codes: NDArray[np.int64],
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Pairs of positions with equal codes, as arrays of their first and of their second ends."""
    import numpy as np

    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    for distance in range(1, min(WIDEST, len(codes) - 1) + 1):
        at = np.flatnonzero(ordered[distance:] == ordered[:-distance])
        if not len(at):
            return
        # A stable sort keeps the order of equal codes, so that the first is the smaller.
        yield order[at], order[at + distance]
