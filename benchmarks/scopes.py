"""Searches of one vault on a server that keeps many vaults of the same size.

Run: `python benchmarks/scopes.py [--scopes 200] [--chunks 200000] [--distribute]`. It uses the
empty database in `DJINN_POSTGRES_URL`, or an embedded server without it. To compare a Citus cluster
with one node, run it on both, on the cluster with `--distribute`.
"""

from __future__ import annotations

import argparse
import time
from uuid import UUID, uuid4

from common import home_with, machine, need_data, table
from postgres import ASKED, CHUNKS, CHUNKS_OF_NOTE, beside, made, row, write
from server import memories, queries

from djinn_memory.djinn import Djinn
from djinn_memory.home.config import variable
from djinn_memory.store.export import export_notes
from djinn_memory.store.postgres.scopes import register
from djinn_memory.store.postgres.servers import URL, connected

SCOPES = 200


def arguments() -> argparse.Namespace:
    """What to measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scopes", type=int, default=SCOPES, help=f"by default {SCOPES}")
    parser.add_argument("--chunks", type=int, default=CHUNKS,
                        help=f"chunks of all vaults together, by default {CHUNKS:,}")  # fmt: skip
    parser.add_argument("--distribute", action="store_true", help="over a Citus cluster")
    return parser.parse_args()


def fill(djinn: Djinn, scopes: int, chunks: int) -> None:
    """Write vaults of equal size to the server. One of them is that of the home."""
    notes = list(export_notes(djinn.runtime.state, djinn.home.shared))
    vaults = [UUID(djinn.home.shared.id), *(uuid4() for _ in range(scopes - 1))]
    with connected(djinn.home) as server:
        with server.connection.cursor() as cursor:
            for number, scope in enumerate(vaults):
                register(cursor, scope, f"vault {number}")
        for scope in vaults:
            write(server, scope, made(notes, chunks // scopes // CHUNKS_OF_NOTE))
        server.connection.execute("vacuum analyze")


def main() -> None:
    """Print how long searches of one vault take."""
    options, data = arguments(), need_data()
    asked = queries(data)[:ASKED]
    print(f"## One of {options.scopes} vaults with {options.chunks:,} chunks, on {machine()}\n")
    with home_with() as home:
        memories(data, home.shared.root)
        with Djinn(home, resident=True) as djinn:
            djinn.index()
            djinn.sync.init(embedded=not variable(URL), distribute=options.distribute)
            began = time.perf_counter()
            fill(djinn, options.scopes, options.chunks)
            filled = time.perf_counter() - began
            local, there = beside(
                [
                    lambda text: djinn.search(query=text),
                    lambda text: djinn.search(query=text, backend="postgres"),
                ],
                asked,
            )
    print(f"Writing the vaults took {filled:.0f} s.\n")
    windows = options.chunks // options.scopes
    rows = [row("server", windows, there, local), row("local", None, local, local)]
    table(["hybrid, warm", "windows", "p50", "p95", "of a local search beside it"], rows)


if __name__ == "__main__":
    main()
