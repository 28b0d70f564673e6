"""Reads the vectors of notes from a server, so that a home embeds nothing again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor

_HEAD = 4
"""Bytes of a vector in pgvector's binary form before its numbers, which are big-endian."""


def read(
    cursor: Cursor, scope: UUID, note_ids: Sequence[UUID]
) -> tuple[dict[bytes, bytes], dict[bytes, bytes]]:
    """The vectors and the token signs of the windows of notes, by the hashes of their texts.

    Vectors are little-endian float32, as in the cache of vectors.
    """
    import numpy as np

    cursor.execute(
        "select window_.hash, vector, signs from index_memories as memory "
        "join index_chunks as chunk on chunk.user_id = memory.user_id "
        "and chunk.memory = memory.number "
        "join index_windows as window_ on window_.user_id = chunk.user_id "
        "and window_.chunk = chunk.number "
        "left join index_token_signs as tokens on tokens.user_id = window_.user_id "
        "and tokens.chunk = window_.chunk and tokens.number = window_.number "
        "where memory.user_id = %s and note_id = any(%s) and vector is not null",
        (scope, list(note_ids)),
        binary=True,
    )
    vectors: dict[bytes, bytes] = {}
    signs: dict[bytes, bytes] = {}
    for digest, vector, packed in cursor:
        vectors[digest] = np.frombuffer(vector, ">f4", offset=_HEAD).astype("<f4").tobytes()
        if packed is not None:
            signs[digest] = packed
    return vectors, signs
