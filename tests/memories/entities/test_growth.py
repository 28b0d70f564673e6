"""What mentions cost grows with the mentions, and not faster."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.setup import init
from tests.growth import assert_linear, sqlite_work


def test_mentions_of_many_notes(tmp_path: Path) -> None:
    opened: dict[int, Djinn] = {}

    def made(size: int) -> Djinn:
        home, _ = init(tmp_path / str(size))
        home.edit((("embedding", "provider"), "none"))
        djinn = Djinn(home)
        djinn.entities.add("Maren Holt", "person", aliases=["Maren"])
        for number in range(size // 100):
            lines = "".join(
                f"Maren Holt saw lamp {number}, and [[Maren Holt|she]] left.\n\n" for _ in range(10)
            )
            (home.shared.root / f"{number}.md").write_text(f"# Note {number}\n\n{lines}")
        for number in range(size // 20):
            text = f"---\ntitle: Other {number}\ntype: concept\n---\nA lamp.\n"
            (home.shared.root / f"other-{number}.md").write_text(text)
        djinn.index()
        return djinn

    def work(size: int) -> int:
        entity = opened[size].entities.show("Maren Holt", limit=5).entity
        assert entity
        return entity.mentioned

    for size in (4_000, 500):
        opened[size] = made(size)
        assert work(size) == size // 100 * 20
    assert_linear(work, 4_000)


@pytest.mark.soak
def test_many_entities_read_each_text_once(tmp_path: Path) -> None:
    home, _ = init(tmp_path / "home")
    home.edit((("embedding", "provider"), "none"))
    names = [f"Maren Holt {number}" for number in range(160)]
    for number, name in enumerate(names):
        text = f"---\ntitle: {name}\ntype: person\naliases: [Crew {number}]\n---\nA sailor.\n"
        (home.shared.root / f"{number:03}.md").write_text(text)
    lines = "".join(f"{' and '.join(names[start::20])} met.\n\n" for start in range(20))
    for number in range(120):
        (home.shared.root / f"log-{number}.md").write_text(f"# Log {number}\n\n{lines}")
    with sqlite_work() as work, Djinn(home) as djinn:
        djinn.index()
        steps = []
        for size in (20, 160):
            work.clear()
            entities = djinn.entities.list(limit=size).entities
            assert sum(each.mentioned for each in entities) == 120 * size
            steps.append(work["steps"])
    # The names of each are looked up, which costs a part of reading the texts once.
    assert 0 < steps[1] < 4 * steps[0], steps
