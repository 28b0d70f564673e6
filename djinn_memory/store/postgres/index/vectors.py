"""Vectors in the binary form of pgvector: two numbers of 2 bytes, then float32, all big-endian."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from djinn_memory.models import Vectors


def binary(vector: bytes) -> bytes:
    """A vector of little-endian float32, as pgvector takes it."""
    import numpy as np

    values = np.frombuffer(vector, "<f4")
    return len(values).to_bytes(2) + bytes(2) + values.astype(">f4").tobytes()


def stacked(values: Sequence[bytes]) -> Vectors:
    """Vectors as pgvector returns them, as an array of shape (vectors, dimensions)."""
    import numpy as np

    # What comes before the numbers is as long as one of them.
    rows = np.frombuffer(b"".join(values), ">f4").reshape(len(values), -1)
    return rows[:, 1:].astype("<f4")


def literal(vector: Vectors) -> str:
    """A vector as text, as a parameter of a query."""
    return f"[{','.join(map(repr, vector.astype(float).tolist()))}]"
