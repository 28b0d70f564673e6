"""Vectors held in memory answer as those on the disk do, whoever changes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.store.index import matrix, vectors
from tests.indexing.vaults import fill


@pytest.fixture
def both(home: Home, shared: Path) -> tuple[Djinn, Djinn]:
    """The home in a process that lives long, and in one that does not."""
    fill(shared, 60)
    Djinn(home).index()
    return Djinn(home, resident=True), Djinn(home)


def near(djinn: Djinn, query: bytes, limit: int) -> list[int]:
    space = vectors.serving(djinn.runtime.state.index)
    assert space
    vault = djinn.runtime.state.index.execute("select id from vault where name = 'shared'").get
    return vectors.nearest(djinn.runtime.state.index, space, query, vault, limit)


def cosines(djinn: Djinn, query: bytes, windows: list[int]) -> list[float]:
    space = vectors.serving(djinn.runtime.state.index)
    assert space
    asked = np.frombuffer(query, "<f4")
    held = vectors.of_windows(djinn.runtime.state.index, space, windows)
    assert set(held) == set(windows)
    return [float(np.frombuffer(held[one], "<f4") @ asked) for one in windows]


def test_both_find_the_same(both: tuple[Djinn, Djinn]) -> None:
    space = vectors.serving(both[0].runtime.state.index)
    assert space
    random = np.random.default_rng(7)
    for limit in (1, 5, 40, 1000):
        one = random.normal(size=space.dimensions).astype("<f4")
        query = (one / np.linalg.norm(one)).astype("<f4").tobytes()
        held, looked = (near(djinn, query, limit) for djinn in both)
        assert len(held) == len(looked)
        # Equally near windows may come in any order.
        assert cosines(both[0], query, held) == pytest.approx(
            cosines(both[1], query, looked), abs=1e-5
        )


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


def test_more_than_fits_is_left_on_the_disk(
    both: tuple[Djinn, Djinn], monkeypatch: pytest.MonkeyPatch
) -> None:
    resident, other = both
    space = vectors.serving(resident.runtime.state.index)
    assert space
    query = np.eye(1, space.dimensions, dtype="<f4").tobytes()
    looked = near(other, query, 5)
    monkeypatch.setattr(matrix, "MAX_BYTES", 0)
    assert (
        matrix.nearest(resident.runtime.state.index, space._table, space.dimensions, query, 1, 5)
        is None
    )
    assert near(resident, query, 5) == looked
