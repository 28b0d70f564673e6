"""Many processes on one home at once: no error, nothing lost, nothing twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import quantiles

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from tests.indexing.vaults import fill
from tests.processes import crew
from tests.processes.commands import strays


def stress(home: Home, tmp_path: Path, *, seconds: float, writers: int, readers: int) -> None:
    fill(home.root / "vaults" / "shared", 40)
    # A machine that is this busy cannot look around in 50 ms, and says so.
    home.edit((("search", "sweep_ms"), 5000))
    Djinn(home).index()
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    site = crew.work(home, incoming, seconds=seconds, writers=writers, readers=readers)
    waits = quantiles(site.waits, n=20)
    print(dict(site.ran))
    print(f"seconds waited for locks: median {waits[9]:.3f}, p95 {waits[18]:.3f}, "
          f"longest {max(site.waits):.3f}")  # fmt: skip
    site.run("index")
    assert not site.faults, "\n".join(site.faults)
    assert waits[18] <= 3
    djinn = Djinn(home)
    assert djinn.status().stale == 0
    titles = Counter(one.title for one in djinn.memories.list(limit=10_000).memories)
    assert [title for title, times in titles.items() if times > 1] == []
    assert strays(home) == []
    left = [path for path in home.root.rglob(".djinn-*") if path.is_file()]
    assert left == []


@pytest.mark.soak
def test_some_processes_for_some_seconds(home: Home, tmp_path: Path) -> None:
    stress(home, tmp_path, seconds=6, writers=6, readers=2)


@pytest.mark.soak
def test_eight_writers_and_eight_readers_for_a_minute(home: Home, tmp_path: Path) -> None:
    stress(home, tmp_path, seconds=60, writers=8, readers=8)
