"""The cache of vectors by model and text. It outlives the index, because vectors cost time."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from djinn_memory.models import Calibration
from djinn_memory.store.erasing import empty_log
from djinn_memory.store.sqlite import Schema, connect, transaction

SCHEMA = Schema(
    Path(__file__).parent / "vector_cache_schema",
    application=0x646A6E45,
    marked=3,
    tables=frozenset({"identity", "embedding"}),
)


def text_hash(text: str) -> bytes:
    """The key under which the vector of a window's text is kept."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class EmbeddingCache:
    """Vectors as little-endian float32, keyed by (identity, text hash)."""

    def __init__(self, path: Path) -> None:
        self._connection = connect(path, SCHEMA)

    def get(self, identity: str, hashes: Sequence[bytes]) -> dict[bytes, bytes]:
        """The known vectors among `hashes`, by text hash."""
        vectors: dict[bytes, bytes] = {}
        number = self._number(identity)
        for at in range(0, len(hashes), 500):
            part = hashes[at : at + 500]
            marks = ",".join("?" * len(part))
            rows = self._connection.execute(
                f"select hash, vector from embedding where identity_id = ? and hash in ({marks})",
                (number, *part),
            )
            vectors.update(rows)
        return vectors

    def put(self, identity: str, vectors: Mapping[bytes, bytes]) -> None:
        """Store vectors; they are durable when this returns."""
        with transaction(self._connection):
            number = self._number(identity, make=True)
            self._connection.executemany(
                "insert or replace into embedding values (?, ?, ?)",
                [(number, key, vector) for key, vector in vectors.items()],
            )

    def remove(self, hashes: Collection[bytes]) -> None:
        """Remove the vectors that any model made of these texts."""
        # A vector reveals something of its text, so removed vectors are overwritten.
        self._connection.pragma("secure_delete", True)
        with transaction(self._connection):
            self._connection.executemany(
                "delete from embedding where hash = ? and identity_id in (select id from identity)",
                [(key,) for key in hashes],
            )
        self._connection.pragma("secure_delete", False)
        empty_log(self._connection)

    def known(self, identity: str) -> tuple[int, Calibration] | None:
        """The length of a model's vectors and its calibration; None before `know`."""
        # This number becomes part of an SQL statement; a cloned file may hold a text in its place.
        for dimensions, scale, shift in self._connection.execute(
            "select cast(dimensions as integer), scale, shift from identity "
            "where name = ? and dimensions is not null",
            (identity,),
        ):
            return dimensions, Calibration(scale, shift)
        return None

    def know(self, identity: str, dimensions: int, calibration: Calibration) -> None:
        """Store what `known` returns."""
        with transaction(self._connection):
            number = self._number(identity, make=True)
            self._connection.execute(
                "update identity set dimensions = ?, scale = ?, shift = ? where id = ?",
                (dimensions, calibration.scale, calibration.shift, number),
            )

    @property
    def version(self) -> int:
        """A number that changes when another process writes into the file."""
        number: int = self._connection.pragma("data_version")
        return number

    def close(self) -> None:
        """Release the file."""
        self._connection.close()

    def _number(self, identity: str, *, make: bool = False) -> int | None:
        if make:
            self._connection.execute(
                "insert or ignore into identity (name) values (?)", (identity,)
            )
        number: int | None = self._connection.execute(
            "select id from identity where name = ?", (identity,)
        ).get
        return number
