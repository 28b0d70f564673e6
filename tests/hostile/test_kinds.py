"""Each kind of hostile input by itself, and all of them in one vault."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from tests.fuzz.checks import swiftly
from tests.hostile.kinds import KINDS, Kind
from tests.hostile.running import MEMORY, Done, called, picture, started

SHORT = 0.005
"""Of the largest size: enough for what is not linear to take minutes."""

SIZES = pytest.mark.parametrize("size", [SHORT, 1.0])
TOGETHER = pytest.mark.parametrize("size", [0.0005, 1.0])
"""Each kind's own test has seen to what size does."""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder that can be removed again, whatever is in it."""
    yield tmp_path
    for folder in (path for path in tmp_path.rglob("*") if path.is_dir() and not path.is_symlink()):
        folder.chmod(0o700)
    shutil.rmtree(tmp_path, ignore_errors=True)


def made(folder: Path) -> tuple[Home, Path]:
    home, _ = init(folder / "home")
    home.edit((("embedding", "provider"), "hashing"), (("search", "sweep_ms"), 0))
    return home, home.root / "vaults" / "shared"


def told(done: Done, kinds: list[Kind]) -> None:
    """What is told of a vault with these kinds: a warning for each that is due and no other."""
    due = [(what, why) for kind in kinds for what, why in kind.warns.items()]
    assert done.code == (1 if due else 0), done.stderr
    problems = [f"{one['what']}: {one['why']}" for one in done.json()["problems"]]
    assert len(problems) == len(due), problems
    for what, why in due:
        assert [one for one in problems if what in one and why in one], (what, why, problems)


def test_there_are_enough_kinds() -> None:
    assert len({kind.name for kind in KINDS}) == len(KINDS) >= 80


@pytest.mark.soak
@SIZES
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_kind(kind: Kind, size: float, place: Path) -> None:
    home, shared = made(place)
    kind.make(shared, size)
    before = picture(shared)
    run = started if kind.powerless else called
    with swiftly(20 if size < 1 else 300):
        first = run(home, "index", "--json")
    told(first, [kind])
    again = run(home, "index")
    assert "nothing changed" in again.stdout, again
    assert again.code == first.code
    assert len(again.warnings) == len(kind.warns), again.stderr
    for word in kind.finds:
        hits = run(home, "memory", "search", word, "--mode", "words", "--json").json()["hits"]
        assert hits, word
    if not kind.finds:
        assert run(home, "index", "--json").json()["notes"] == 0
    assert picture(shared) == before
    assert not list(Path.cwd().glob("pwned"))


def looked_at(home: Home) -> None:
    """Every other command that shows what is in a vault does so, in text and in JSON."""
    for words in (["memory", "list"], ["memory", "stats"], ["status"], ["memory", "search", "x"]):
        assert called(home, *words).code in (0, 1)
        called(home, *words, "--json").json()
    listed = called(home, "memory", "list", "--json", "--limit", "500").json()["memories"]
    assert len(listed) > len(KINDS) / 2
    for memory in listed[::20]:
        name = f"shared:{memory['path']}"
        shown = called(home, "memory", "show", "--json", "--", name).json()
        assert shown["path"] == memory["path"]


@pytest.mark.soak
@TOGETHER
def test_all_kinds_together(size: float, place: Path) -> None:
    home, shared = made(place)
    for number, kind in enumerate(KINDS):
        folder = shared / f"{number:03}"
        folder.mkdir()
        kind.make(folder, size)
    before = picture(shared)
    first = started(home, "index", "--json", seconds=120 if size < 1 else 1800)
    told(first, KINDS)
    assert first.peak < MEMORY
    again = started(home, "index", seconds=60)
    assert "nothing changed" in again.stdout
    assert again.code == 1
    due = sum(len(kind.warns) for kind in KINDS)
    assert len(again.warnings) == 20
    assert f"... and {due - 20} more" in again.stderr
    # A folder of many small notes would take all places among the hits.
    crowded = [folder.name for folder in shared.iterdir() if len(list(folder.iterdir())) > 100]
    answering: set[str] = set()
    for query in ("needle", " ".join(["needle", *(f"-path:{name}" for name in crowded)])):
        words = ("memory", "search", "--mode", "words", "--json", "-n", "500", "--", query)
        hits = started(home, *words).json()["hits"]
        answering |= {hit["path"].split("/")[0] for hit in hits}
    silent = [
        kind.name for number, kind in enumerate(KINDS)
        if "needle" in kind.finds and f"{number:03}" not in answering
    ]  # fmt: skip
    assert not silent
    looked_at(home)
    assert picture(shared) == before
