"""The index on a Postgres server conforms, and finds what the local index finds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.search.backend import Index
from tests.search.conformance import SAMPLES, IndexConformance
from tests.search.postgres_index import opened, push
from tests.sync.pushes import TableServer, tables

__all__ = ["tables"]


@pytest.fixture
def filled(home: Home, shared: Path, tables: TableServer) -> Home:
    """The samples, indexed here and on the server."""
    for sample in SAMPLES:
        (home.root / "vaults" / sample.vault / sample.path).write_text(sample.write())
    djinn = Djinn(home)
    djinn.index()
    for vault in home.vaults:
        push(tables, djinn, vault)
    return home


class TestPostgresIndex(IndexConformance):
    @pytest.fixture
    def index(self, filled: Home, tables: TableServer) -> Iterator[Index]:
        with opened(tables, filled, filled.named(("shared",))) as index:
            yield index
