"""The cache of vectors by model and text. It survives a rebuild, because vectors cost time.

Besides the vector of a text it keeps the signs of its tokens' vectors: 48 bytes a token for the
packaged model, a 32nd of the vectors themselves. Late interaction works as well with the signs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from djinn_memory.models import Calibration, Vectors
from djinn_memory.store.sqlite import Schema, connect, empty_log, transaction, version

SCHEMA = Schema(
    Path(__file__).parent / "vector_cache_schema",
    application=0x646A6E45,
    marked=3,
    tables=frozenset({"identity", "embedding"}),
)


def text_hash(text: str) -> bytes:
    """The key of the vector of a window's text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def stored(hashes: Iterable[bytes], vectors: Iterable[Vectors]) -> dict[bytes, bytes]:
    """Vectors by the hashes of their texts, as `EmbeddingCache.put` takes them."""
    pairs = zip(hashes, vectors, strict=True)
    return {key: vector.astype("<f4").tobytes() for key, vector in pairs}


class EmbeddingCache:
    """Vectors as little-endian float32, keyed by (identity, text hash)."""

    def __init__(self, path: Path) -> None:
        self._connection = connect(path, SCHEMA)

    def get(self, identity: str, hashes: Sequence[bytes]) -> dict[bytes, bytes]:
        """The cached vectors for `hashes`, by text hash."""
        return self._read("select hash, vector from embedding", identity, hashes)

    def token_signs(self, identity: str, hashes: Sequence[bytes]) -> dict[bytes, bytes]:
        """The cached token signs for `hashes`; see `Embedder.embed_documents`."""
        return self._read("select hash, cast(signs as blob) from token_signs", identity, hashes)

    def put(
        self,
        identity: str,
        vectors: Mapping[bytes, bytes],
        signs: Mapping[bytes, bytes] = MappingProxyType({}),
    ) -> None:
        """Store vectors and token signs. They are durable when this returns."""
        with transaction(self._connection):
            number = self._number(identity, make=True)
            for table, values in (("embedding", vectors), ("token_signs", signs)):
                self._connection.executemany(
                    f"insert or replace into {table} values (?, ?, ?)",
                    [(number, key, value) for key, value in values.items()],
                )

    def remove(self, hashes: Collection[bytes]) -> None:
        """Remove the vectors of these texts, for all models."""
        # A vector reveals something of its text, so removed vectors are overwritten.
        self._connection.pragma("secure_delete", True)
        with transaction(self._connection):
            for table in ("embedding", "token_signs"):
                self._connection.executemany(
                    f"delete from {table} where hash = ? "
                    "and identity_id in (select id from identity)",
                    [(key,) for key in hashes],
                )
        self._connection.pragma("secure_delete", False)
        empty_log(self._connection)

    def known(self, identity: str) -> tuple[int, Calibration] | None:
        """The dimensions of a model's vectors and its calibration; None before `know`."""
        # This number becomes part of an SQL statement; a cloned file may hold a text in its place.
        for dimensions, scale, shift in self._connection.execute(
            "select cast(dimensions as integer), scale, shift from identity "
            "where name = ? and dimensions is not null",
            (identity,),
        ):
            return dimensions, Calibration(scale, shift)
        return None

    def know(self, identity: str, dimensions: int, calibration: Calibration) -> None:
        """Store the values that `known` returns."""
        with transaction(self._connection):
            number = self._number(identity, make=True)
            self._connection.execute(
                "update identity set dimensions = ?, scale = ?, shift = ? where id = ?",
                (dimensions, calibration.scale, calibration.shift, number),
            )

    def lacks_tokens(self, identity: str) -> bool:
        """Whether an earlier version of djinn embedded texts without storing token signs."""
        lacks: int = self._connection.execute(
            "select exists (select 1 from identity where name = ? and not tokens)", (identity,)
        ).get
        return bool(lacks)

    def has_tokens(self, identity: str) -> None:
        """Record that the token signs of all texts are stored."""
        with transaction(self._connection):
            self._connection.execute("update identity set tokens = 1 where name = ?", (identity,))

    @property
    def version(self) -> int:
        """A number that changes with every commit to the file."""
        return version(self._connection)

    def close(self) -> None:
        """Release the file."""
        self._connection.close()

    def _read(self, select: str, identity: str, hashes: Sequence[bytes]) -> dict[bytes, bytes]:
        values: dict[bytes, bytes] = {}
        number = self._number(identity)
        for at in range(0, len(hashes), 500):
            part = hashes[at : at + 500]
            marks = ",".join("?" * len(part))
            values.update(
                self._connection.execute(
                    f"{select} where identity_id = ? and hash in ({marks})", (number, *part)
                )
            )
        return values

    def _number(self, identity: str, *, make: bool = False) -> int | None:
        if make:
            self._connection.execute(
                "insert or ignore into identity (name, tokens) values (?, 1)", (identity,)
            )
        number: int | None = self._connection.execute(
            "select id from identity where name = ?", (identity,)
        ).get
        return number
