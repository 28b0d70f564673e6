"""Vectors in the binary form of pgvector: two numbers of 2 bytes, then float32, all big-endian."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from djinn_memory.models import Vectors

_HEAD = 4
"""Bytes before the numbers: the dimensions, and a field that is always 0."""


def binary(vector: bytes) -> bytes:
    """A vector of little-endian float32, as pgvector takes it."""
    import numpy as np

    values = np.frombuffer(vector, "<f4")
    return len(values).to_bytes(2) + bytes(2) + values.astype(">f4").tobytes()


def stacked(values: Sequence[bytes]) -> Vectors:
    """Vectors as pgvector returns them, as an array of shape (vectors, dimensions)."""
    import numpy as np

    rows = [np.frombuffer(value, ">f4", offset=_HEAD) for value in values]
    return np.stack(rows).astype("<f4")


def literal(vector: Vectors) -> str:
    """A vector as text, as a parameter of a query."""
    return f"[{','.join(map(repr, vector.astype(float).tolist()))}]"
