"""Nothing that happens in a vault goes unheard by who asks the kernel."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.notes.vault import hidden
from djinn_memory.system import disks
from djinn_memory.system.disks import ChangeWatch

linux = pytest.mark.xfail(sys.platform != "linux", reason="only Linux tells", strict=True)


@pytest.fixture
def tree(home: Home, shared: Path) -> Path:
    (shared / "deep" / "er").mkdir(parents=True)
    (shared / "deep" / "er" / "note.md").write_text("one")
    (shared / ".obsidian").mkdir()
    return shared


def listening(home: Home) -> ChangeWatch:
    ear = ChangeWatch(hidden)
    assert not ear.unchanged(home.vaults)
    ear.listen(home.vaults)
    assert not ear.unchanged(home.vaults)
    ear.mark_scanned(home.vaults)
    return ear


def _replaced(note: Path) -> None:
    note.with_name("new").write_text("two")
    note.with_name("new").replace(note)


def _in_new_folder(note: Path) -> None:
    (note.parent / "new").mkdir()
    (note.parent / "new" / "x.md").write_text("x")


CHANGES: dict[str, Callable[[Path], object]] = {
    "written": lambda note: note.write_text("two"),
    "replaced": _replaced,
    "appended": lambda note: note.open("a").write("more"),
    "removed": lambda note: note.unlink(),
    "moved": lambda note: note.rename(note.parent.parent / "moved.md"),
    "dated": lambda note: os.utime(note, (1, 1)),
    "made": lambda note: (note.parent / "other.md").write_text("x"),
    "in a new folder": _in_new_folder,
    "folder moved": lambda note: note.parent.rename(note.parent.parent / "elsewhere"),
    "folder removed": lambda note: [note.unlink(), note.parent.rmdir()],
    "linked": lambda note: os.link(note, note.parent / "second.md"),
}


@linux
@pytest.mark.parametrize("name", CHANGES)
def test_every_change_is_heard(home: Home, tree: Path, name: str) -> None:
    ear = listening(home)
    assert ear.unchanged(home.vaults)
    CHANGES[name](tree / "deep" / "er" / "note.md")
    assert not ear.unchanged(home.vaults)
    # And what happens after the next look.
    for number in range(3):
        ear.listen(home.vaults)
        ear.mark_scanned(home.vaults)
        assert ear.unchanged(home.vaults)
        for folder in {path.parent for path in tree.rglob("*.md")} | {tree}:
            (folder / f"{number}.md").write_text("x")
            assert not ear.unchanged(home.vaults)
            ear.listen(home.vaults)
            ear.mark_scanned(home.vaults)
    ear.close()
    assert not ear.unchanged(home.vaults)


@linux
def test_reading_and_hidden_folders_are_quiet(home: Home, tree: Path) -> None:
    ear = listening(home)
    (tree / "deep" / "er" / "note.md").read_text()
    (tree / ".obsidian" / "workspace.json").write_text("{}")
    list(tree.rglob("*"))
    assert ear.unchanged(home.vaults)
    ear.close()


@linux
def test_it_is_not_sure_for_ever(home: Home, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ear = listening(home)
    monkeypatch.setattr(disks, "LONGEST_SECONDS", 0.0)
    assert not ear.unchanged(home.vaults)
    ear.close()


def test_a_vault_that_is_gone(home: Home, shared: Path) -> None:
    ear = listening(home)
    shared.rmdir()
    assert not ear.unchanged(home.vaults)
    ear.listen(home.vaults)
    ear.mark_scanned(home.vaults)
    assert not ear.unchanged(home.vaults)
    ear.close()


def test_an_index_that_was_deleted_is_made_again(home: Home, shared: Path) -> None:
    """The vaults were compared with another index."""
    (shared / "a.md").write_text("# Walrus\n")
    djinn = Djinn(home, resident=True)
    for _ in range(2):
        assert djinn.search("walrus", mode="words").hits
    djinn.close()
    home.index_path.unlink()
    assert djinn.search("walrus", mode="words").hits
    djinn.close()
