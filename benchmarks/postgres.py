"""Searches on a Postgres server beside those of the local index, and with many chunks.

Run: `python benchmarks/postgres.py [CHUNKS]`. With 200,000 chunks it takes some minutes, half of
them for the HNSW index.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from common import home_with, machine, need_data, table
from msgspec.structs import replace
from server import RUNS, memories, queries

from djinn_memory.djinn import Djinn
from djinn_memory.models import SearchResult
from djinn_memory.search.state import DEPTH
from djinn_memory.store.export import export_notes
from djinn_memory.store.index.records import Selection
from djinn_memory.store.index.words import Tokenizer
from djinn_memory.store.postgres.index import postgres_vectors, writer
from djinn_memory.store.postgres.rows import ChunkRows, MemoryRows, NoteRows
from djinn_memory.store.postgres.servers import ServerConnection, connected

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
    import numpy as np

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


def write(server: ServerConnection, scope: UUID, notes: Iterator[NoteRows]) -> None:
    """Write notes to a scope of the server."""
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


def fill(djinn: Djinn, scope: UUID, notes: Iterator[NoteRows]) -> None:
    """Write notes to the server, and make the index of its vectors."""
    with connected(djinn.home) as server:
        write(server, scope, notes)
        with server.connection.transaction(), server.connection.cursor() as tx:
            postgres_vectors.index_vectors(tx, scope)
        server.connection.execute("vacuum analyze")


def recall(djinn: Djinn, asked: Sequence[str]) -> float:
    """The share of the ten nearest chunks that the HNSW index finds."""
    embedder = djinn.models.embedder
    assert embedder
    vectors = embedder.embed(asked)
    near = [_nearest(djinn, vector) for vector in vectors]
    with connected(djinn.home) as server:
        server.connection.execute(
            f"drop index if exists {postgres_vectors.near_index(UUID(djinn.home.shared.id))}"
        )
    exact = [_nearest(djinn, vector) for vector in vectors]
    shares = [len(one & two) / 10 for one, two in zip(near, exact, strict=True)]
    return statistics.mean(shares)


def _nearest(djinn: Djinn, vector: Vectors) -> set[int]:
    """The ten nearest of the chunks that a search reads."""
    with djinn.runtime.server_index([djinn.home.shared]) as index:
        return {ref.chunk_id for ref in index.vectors.nearest(vector, Selection(), DEPTH)[:10]}


def beside(work: Sequence[Callable[[str], object]], asked: Sequence[str]) -> list[list[float]]:
    """Milliseconds of each of several calls, which take turns, after some that are not counted."""
    taken: list[list[float]] = [[] for _ in work]
    for number in range(RUNS + 20):
        for call, listed in zip(work, taken, strict=True):
            began = time.perf_counter()
            call(asked[number % len(asked)])
            listed.append((time.perf_counter() - began) * 1000)
    return [listed[20:] for listed in taken]


def row(
    name: str, windows: int | None, listed: Sequence[float], local: Sequence[float]
) -> list[str]:
    """A row of the table. `local` are the times of the local searches beside these."""
    half = statistics.median(listed)
    most = statistics.quantiles(listed, n=20)[18]
    many = "" if windows is None else f"{windows:,}"
    return [
        name,
        many,
        f"{half:.1f} ms",
        f"{most:.1f} ms",
        f"{half / statistics.median(local):.2f}",
    ]


def arguments() -> int:
    """The number of made chunks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("chunks", nargs="?", type=int, default=CHUNKS, metavar="CHUNKS",
                        help=f"made chunks, by default {CHUNKS:,}")  # fmt: skip
    chunks: int = parser.parse_args().chunks
    return chunks


def main() -> None:
    """Print the hits that differ, and the times."""
    chunks, data = arguments(), need_data()
    asked = queries(data)[:ASKED]
    print(f"## Postgres\n\n`python benchmarks/postgres.py {chunks}` on {machine()}\n")
    with home_with() as home:
        memories(data, home.shared.root)
        with Djinn(home, resident=True) as djinn:
            windows = djinn.index().windows
            djinn.sync.init(embedded=True)
            djinn.sync.push()

            def here(text: str) -> SearchResult:
                return djinn.search(query=text)

            def there(text: str) -> SearchResult:
                return djinn.search(query=text, backend="postgres")

            same = sum(alike(here(each), there(each)) for each in asked)
            local, small = beside([here, there], asked)
            rows = [row("local", windows, local, local), row("server", windows, small, local)]
            notes = list(export_notes(djinn.runtime.state, djinn.home.shared))
            began = time.perf_counter()
            fill(djinn, UUID(djinn.home.shared.id), made(notes, chunks // CHUNKS_OF_NOTE))
            filled = time.perf_counter() - began
            embedder = djinn.models.embedder
            assert embedder
            vectors = dict(zip(asked, embedder.embed(asked, query=True), strict=True))
            local, large, embedding, near = beside(
                [
                    here,
                    there,
                    lambda text: embedder.embed([text], query=True),
                    lambda text: _nearest(djinn, vectors[text]),
                ],
                asked,
            )
            total = windows + chunks
            rows += [
                row("server", total, large, local),
                row("of it: embedding of the question", None, embedding, local),
                row("of it: nearest vectors by HNSW", total, near, local),
            ]
            share = recall(djinn, asked)
            # `recall` has dropped the HNSW index.
            local, scan = beside([here, lambda text: _nearest(djinn, vectors[text])], asked[:10])
            rows.append(row("plain scan of all vectors", total, scan, local))
    print(f"{same} of {len(asked)} questions have the same ten hits here and on the server.\n")
    print(
        f"HNSW with {chunks:,} chunks: recall@10 {share:.3f}. Writing them took {filled:.0f} s.\n"
    )
    table(["hybrid, warm", "windows", "p50", "p95", "of a local search beside it"], rows)
    print(f"The local index has {windows:,} windows throughout. The calls of a table take turns.")


if __name__ == "__main__":
    main()
