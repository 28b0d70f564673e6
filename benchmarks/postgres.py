"""Searches on a Postgres server beside those of the local index, and with many chunks.

Run: `python benchmarks/postgres.py [CHUNKS]`
"""

from __future__ import annotations

import random
import statistics
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

import numpy as np
from common import home_with, machine, need_data, table
from msgspec.structs import replace
from server import memories, queries, times

from djinn_memory.djinn import Djinn
from djinn_memory.models import SearchResult
from djinn_memory.search.candidates import DEPTH
from djinn_memory.store.export import export_notes
from djinn_memory.store.index.records import Selection
from djinn_memory.store.index.words import Tokenizer
from djinn_memory.store.postgres.index import writer
from djinn_memory.store.postgres.rows import ChunkRows, MemoryRows, NoteRows
from djinn_memory.store.postgres.servers import connected

if TYPE_CHECKING:
    from djinn_memory.models import Vectors

CHUNKS = 200_000
ASKED = 50
CHUNKS_OF_NOTE = 10
NOISE = 0.6
"""Length of the random vector that is added to the vector of a made chunk, which has length 1."""

BATCH = 500


def alike(local: SearchResult, there: SearchResult) -> bool:
    """Whether both results have the same ten hits, but for those with nearly equal scores."""
    scores = {hit.path: hit.score for hit in (*local.hits, *there.hits)}
    pairs = zip(local.hits, there.hits, strict=True)
    return all(abs(scores[one.path] - scores[two.path]) <= 0.001 for one, two in pairs)


def made(notes: Sequence[NoteRows], count: int) -> Iterator[NoteRows]:
    """Notes of `CHUNKS_OF_NOTE` chunks, each with a text and a vector that lie near a real one."""
    dice, noise, tokenizer = random.Random(5), np.random.default_rng(5), Tokenizer()
    chunks = [
        (memory, chunk)
        for note in notes
        for memory in note.memories
        for chunk in memory.chunks
        if chunk.windows and chunk.windows[0].vector
    ]
    for number in range(count):
        parts: list[ChunkRows] = []
        for at in range(CHUNKS_OF_NOTE):
            (memory, chunk), (_, other) = dice.choice(chunks), dice.choice(chunks)
            text = f"{chunk.text[:600]} {other.text[:200]}"
            window = chunk.windows[0]
            near = np.frombuffer(window.vector or b"", "<f4")
            step = noise.standard_normal(len(near))
            vector = near + NOISE * step / np.linalg.norm(step)
            vector /= np.linalg.norm(vector)
            stored = replace(window, hash=noise.bytes(16), vector=vector.astype("<f4").tobytes())
            terms = chunk.terms._replace(body=" ".join(tokenizer.terms(text, None)))
            parts.append(replace(chunk, ordinal=at, text=text, terms=terms, windows=(stored,)))
        yield _note(number, memory, tuple(parts))


def _note(number: int, memory: MemoryRows, chunks: tuple[ChunkRows, ...]) -> NoteRows:
    path = f"made/{number}.md"
    own = replace(memory, uid=None, chunks=chunks, links=())
    return NoteRows(path, path, f"{number}", number.to_bytes(16), 0, None, (own,))


def fill(djinn: Djinn, scope: UUID, notes: Iterator[NoteRows]) -> None:
    """Write notes to the server, and make the index of its vectors."""
    with connected(djinn.home) as server:
        while batch := [
            (uuid5(scope, note.path), note) for note, _ in zip(notes, range(BATCH), strict=False)
        ]:
            with server.writing(scope) as transaction:
                transaction.tx.executemany(
                    "insert into notes (user_id, note_id, path, path_key, content, hash, size, "
                    "rev, home_id) values (%s, %s, %s, %s, '', %s, 0, %s, %s)",
                    [
                        (scope, key, note.path, note.path, note.hash, transaction.rev, scope)
                        for key, note in batch
                    ],
                )
                writer.replace(transaction.tx, scope, transaction.rev, batch)
        with server.connection.transaction(), server.connection.cursor() as tx:
            writer.index_vectors(tx, scope)
        server.connection.execute("vacuum analyze")


def recall(djinn: Djinn, asked: Sequence[str]) -> float:
    """The share of the ten nearest chunks that the HNSW index finds."""
    embedder = djinn.models.embedder
    assert embedder
    vectors = embedder.embed(asked)
    near = [_nearest(djinn, vector) for vector in vectors]
    with connected(djinn.home) as server:
        server.connection.execute(f"drop index {writer.near_index(UUID(djinn.home.shared.id))}")
    exact = [_nearest(djinn, vector) for vector in vectors]
    shares = [len(one & two) / 10 for one, two in zip(near, exact, strict=True)]
    return statistics.mean(shares)


def _nearest(djinn: Djinn, vector: Vectors) -> set[int]:
    """The ten nearest of the chunks that a search reads."""
    with djinn.runtime.server_index([djinn.home.shared]) as index:
        return {ref.chunk_id for ref in index.vectors.nearest(vector, Selection(), DEPTH)[:10]}


def main() -> None:
    """Print the hits that differ, and the times."""
    data, chunks = need_data(), int(sys.argv[1]) if len(sys.argv) > 1 else CHUNKS
    asked = queries(data)[:ASKED]
    print(f"## Postgres\n\n`python benchmarks/postgres.py` on {machine()}\n")
    with home_with() as home:
        memories(data, home.shared.root)
        with Djinn(home, resident=True) as djinn:
            report = djinn.index()
            djinn.sync.init(embedded=True)
            djinn.sync.push()
            same = sum(
                alike(djinn.search(query=each), djinn.search(query=each, backend="postgres"))
                for each in asked
            )
            local = times(djinn.search, asked)
            small = times(lambda text: djinn.search(query=text, backend="postgres"), asked)
            notes = list(export_notes(djinn.runtime.state, djinn.home.shared))
            fill(djinn, UUID(djinn.home.shared.id), made(notes, chunks // CHUNKS_OF_NOTE))
            large = times(lambda text: djinn.search(query=text, backend="postgres"), asked)
            found = recall(djinn, asked)
    print(f"{same} of {len(asked)} questions have the same ten hits here and on the server.\n")
    print(f"HNSW with {chunks:,} chunks: recall@10 {found:.3f}\n")
    rows = [("local", report.windows, local), ("server", report.windows, small),
            ("server", chunks + report.windows, large)]  # fmt: skip
    table(
        ["hybrid, warm", "windows", "p50", "p95"],
        [
            [name, f"{windows:,}", f"{statistics.median(each):.1f} ms",
             f"{statistics.quantiles(each, n=20)[18]:.1f} ms"]
            for name, windows, each in rows
        ],
    )  # fmt: skip


if __name__ == "__main__":
    main()
