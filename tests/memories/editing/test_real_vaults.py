"""The most linked notes of real vaults get other names, and no link dies."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn

RENAMED = {"kepano": 3, "foam-docs": 10, "jackyzha0": 10}
"""How many notes of each vault are renamed."""


@pytest.mark.few(1)
@pytest.mark.parametrize("vault", RENAMED)
def test_no_link_dies(djinn: Djinn, shared: Path, data_dir: Path, vault: str) -> None:
    shutil.copytree(data_dir / "vaults" / vault, shared, dirs_exist_ok=True)
    djinn.index()
    before = {path: path.read_bytes() for path in shared.rglob("*") if path.is_file()}
    dead = links(djinn)[0]
    for number, place in enumerate(links(djinn)[1][: RENAMED[vault]]):
        done = djinn.memories.rename(place, f"Zebra number {number}")
        assert done.links and not (done.left or done.problems or done.aliases)
    assert links(djinn)[0] == dead
    for _ in range(RENAMED[vault]):
        djinn.changes.undo()
    assert {path: path.read_bytes() for path in shared.rglob("*") if path.is_file()} == before


def links(djinn: Djinn) -> tuple[Counter[str], list[str]]:
    """The dead links by their kind, and the notes with the most links to them."""
    codes = Counter(issue.code for issue in djinn.lint().issues)
    with djinn.runtime.index(djinn.runtime.home.vaults) as index:
        memories = {memory.memory_id: memory for memory in index.memories()}
        listed = (link for link in index.links([*memories]) if link.source != link.target)
        linked = Counter(link.target for link in listed if link.target)
    del codes["duplicate-title"]
    places = [memories[number].address for number, _ in linked.most_common()]
    return Counter({str(code): count for code, count in codes.items()}), places
