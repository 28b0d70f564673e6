"""Vectors held in memory answer as those on the disk do, whoever changes them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.store.index import vectors
from djinn_memory.store.index.local import sqlite_vectors
from djinn_memory.store.sqlite import rows
from tests.indexing.vaults import fill

if TYPE_CHECKING:
    from djinn_memory.models import Vectors


@pytest.fixture
def both(home: Home, shared: Path) -> tuple[Djinn, Djinn]:
    """The home in a process that lives long, and in one that does not."""
    fill(shared, 60)
    Djinn(home).index()
    return Djinn(home, resident=True), Djinn(home)


def cosines(djinn: Djinn, query: Vectors) -> dict[int, float]:
    connection = djinn.runtime.state.index
    space = vectors.serving(connection)
    assert space
    vault = connection.execute("select id from vault where name = 'shared'").get
    windows, near = sqlite_vectors.cosines(connection, space, vault, query)
    held = sqlite_vectors.of_windows(connection, space, windows.tolist())
    assert all((held[key] @ query) == pytest.approx(cosine, abs=1e-5)
               for key, cosine in zip(windows.tolist(), near.tolist(), strict=True))  # fmt: skip
    return dict(zip(windows.tolist(), near.tolist(), strict=True))


def query(dimensions: int = 128) -> Vectors:
    vector = np.random.default_rng(7).normal(size=dimensions).astype("<f4")
    return (vector / np.linalg.norm(vector)).astype("<f4")


def test_both_give_the_same_to_the_bit(both: tuple[Djinn, Djinn]) -> None:
    held, looked = (cosines(djinn, query()) for djinn in both)
    assert len(held) > 60
    assert held == looked


def test_a_cosine_does_not_depend_on_the_other_vectors() -> None:
    vectors = np.random.default_rng(7).normal(size=(50, 384)).astype("<f4")
    together = sqlite_vectors.products(vectors, vectors[0])
    for start in range(50):
        alone = sqlite_vectors.products(vectors[start : start + 1].copy(), vectors[0])
        assert alone[0] == together[start]


def test_what_another_process_writes_is_held_at_once(
    both: tuple[Djinn, Djinn], shared: Path
) -> None:
    resident, other = both
    assert resident.search("quoll", mode="meaning", limit=1)
    (shared / "new.md").write_text("# Quoll\n\nA quoll eats at night.\n")
    other.index()
    assert resident.search("A quoll eats at night", mode="meaning").hits[0].path == "new.md"
    (shared / "new.md").unlink()
    other.index()
    hits = resident.search("A quoll eats at night", mode="meaning").hits
    assert "new.md" not in {hit.path for hit in hits}
    resident.remember("lesson", "Quokka", "A quokka smiles in the sun.")
    assert resident.search("quokka smiles", mode="meaning").hits[0].path == "lessons/quokka.md"


def test_more_than_fits_is_read_from_the_disk(
    both: tuple[Djinn, Djinn], monkeypatch: pytest.MonkeyPatch
) -> None:
    resident, other = both
    looked = cosines(other, query())
    monkeypatch.setattr(sqlite_vectors, "MAX_BYTES", 0)
    assert cosines(resident, query()) == looked
    held = sqlite_vectors._HELD[resident.runtime.state.index]
    assert held
    assert not held.rows


def test_vectors_are_read_where_they_are_kept(home: Home, shared: Path) -> None:
    """The short way through the tables of sqlite-vec gives what the long one gives."""
    for number in range(60):
        (shared / f"{number}.md").write_text(f"# Note {number}\n\nabout {number * 7}\n")
    djinn = Djinn(home)
    djinn.index()
    (shared / "7.md").unlink()
    (shared / "61.md").write_text("# Another\n\nof later\n")
    djinn.index()
    connection = djinn.runtime.state.index
    space = vectors.serving(connection)
    assert space
    asked = [key for (key,) in rows(connection, "select id from window")]
    slow = {
        key: connection.execute(
            f"select embedding from {space.table} where window_id = ?", (key,)
        ).get
        for key in asked
    }
    assert len(slow) == 60
    quick = sqlite_vectors.of_windows(connection, space, [*asked, 10_000])
    assert {window: vector.tobytes() for window, vector in quick.items()} == slow
    assert sqlite_vectors.of_windows(connection, space, []) == {}
