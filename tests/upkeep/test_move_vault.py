"""A vault that was moved is the same vault, and an interrupted move leaves a whole one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import ConfigError, DjinnError, NotFound, Refused
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_vault, describe
from djinn_memory.upkeep.move_vault import move_vault
from tests.conftest import MEMORY, Run


@pytest.fixture
def notes(home: Home, tmp_path: Path) -> Path:
    """An added vault with a few files of all kinds."""
    root = tmp_path / "notes"
    (root / "minutes").mkdir(parents=True)
    (root / "minutes" / "may.md").write_text("# May\n\nThe lamp turns.\n")
    (root / "empty").mkdir()
    (root / "link.md").symlink_to("minutes/may.md")
    add_vault(home, "notes", root)
    describe(home, "notes/minutes", "Minutes of the council")
    return root


@pytest.fixture
def other_disk(tmp_path: Path) -> Iterator[Path]:
    here = tmp_path.stat().st_dev
    disks = (Path(tempfile.gettempdir()), MEMORY)
    other = next((disk for disk in disks if disk.is_dir() and disk.stat().st_dev != here), None)
    if other is None:
        pytest.skip("there is only one file system here")
    with tempfile.TemporaryDirectory(dir=other) as folder:
        yield Path(folder)


def listing(root: Path) -> dict[str, bytes | str | None]:
    return {
        path.relative_to(root).as_posix(): str(path.readlink())
        if path.is_symlink()
        else path.read_bytes() if path.is_file() else None
        for path in root.rglob("*")
    }  # fmt: skip


def moved(home: Home, source: Path, target: Path) -> None:
    djinn = Djinn(home)
    djinn.index()
    before, vault = listing(source), home.named(("notes",))[0]
    result = move_vault(djinn.runtime.state, "notes", target)
    assert (result.root, result.id, result.contexts) == (target, vault.id, vault.contexts)
    assert listing(target) == before and not source.exists()
    again = Djinn(Home(home.root))
    report = again.index()
    assert (report.embedded, report.notes) == (0, 1)
    assert again.search("lamp").hits[0].title == "May"
    assert not list(target.parent.glob(".djinn-*")) and not list(home.state.glob("move-*"))


def test_a_vault_is_moved(home: Home, notes: Path, tmp_path: Path) -> None:
    moved(home, notes, tmp_path / "far" / "away")


def test_into_an_empty_folder_of_the_home(home: Home, notes: Path) -> None:
    (home.root / "vaults" / "notes").mkdir()
    moved(home, notes, home.root / "vaults" / "notes")
    assert home.config.vaults["notes"].path == "vaults/notes"


def test_to_another_disk(home: Home, notes: Path, other_disk: Path) -> None:
    moved(home, notes, other_disk / "notes")


def test_a_vault_without_an_id_keeps_its_identity(home: Home, notes: Path, tmp_path: Path) -> None:
    home.edit((("vaults", "notes", "id"), None))
    moved(home, notes, tmp_path / "away")


@pytest.mark.parametrize("place", ["full", "self", "inside", "other", "above", "file", "same"])
def test_where_it_cannot_go(home: Home, notes: Path, tmp_path: Path, place: str) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    target = {
        "full": tmp_path / "full", "self": notes / "x", "inside": notes / "minutes",
        "other": home.root / "vaults" / "shared" / "x", "above": tmp_path,
        "file": tmp_path / "full" / "x", "same": notes,
    }[place]  # fmt: skip
    before, settings = listing(notes), home.config_path.read_bytes()
    with pytest.raises(Refused):
        move_vault(Djinn(home).runtime.state, "notes", target)
    assert listing(notes) == before and home.config_path.read_bytes() == settings


def test_a_folder_that_the_settings_cannot_name(home: Home, notes: Path, tmp_path: Path) -> None:
    before, settings = listing(notes), home.config_path.read_bytes()
    target = tmp_path / os.fsdecode(b"bad\xff")
    with pytest.raises(ConfigError, match="not UTF-8"):
        move_vault(Djinn(home).runtime.state, "notes", target)
    target.mkdir()
    with pytest.raises(ConfigError, match="not UTF-8"):
        add_vault(home, "other", target)
    assert listing(notes) == before and home.config_path.read_bytes() == settings


def test_an_inner_vault_stays(home: Home, notes: Path, tmp_path: Path) -> None:
    add_vault(home, "minutes", notes / "minutes")
    with pytest.raises(Refused, match="another vault inside notes"):
        move_vault(Djinn(home).runtime.state, "notes", tmp_path / "away")


def test_an_interrupted_move_is_completed(
    home: Home, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends between the move of the folder and the change of the settings."""
    before = listing(notes)
    with monkeypatch.context() as patched:
        patched.setattr(Home, "edit", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            move_vault(Djinn(home).runtime.state, "notes", tmp_path / "away")
    assert listing(tmp_path / "away") == before and not notes.exists()
    with pytest.raises(NotFound):
        move_vault(Djinn(home).runtime.state, "notes", tmp_path / "third")
    move_vault(Djinn(home).runtime.state, "notes", tmp_path / "away")
    assert Home(home.root).named(("notes",))[0].root == tmp_path / "away"


def test_a_folder_that_was_moved_by_hand(home: Home, notes: Path, tmp_path: Path, run: Run) -> None:
    with Djinn(home) as djinn:
        djinn.index()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "june.md").write_text("# June\n")
    notes.rename(tmp_path / "away")
    for verb in ("status", "doctor"):
        told = run(verb, home=home.root)
        assert "djinn vault move notes" in told.stdout + told.stderr
    state = Djinn(home).runtime.state
    with pytest.raises(NotFound, match="where its notes are now"):
        move_vault(state, "notes", tmp_path / "other")
    before = listing(tmp_path / "away")
    done = run("vault", "move", "notes", str(tmp_path / "away"), home=home.root)
    assert done.returncode == 0, done.stderr
    assert listing(tmp_path / "away") == before
    with Djinn(Home(home.root)) as again:
        assert again.index().embedded == 0
        assert again.search("lamp").hits[0].title == "May"


def test_a_folder_that_exists_is_moved_on_a_word(home: Home, notes: Path, run: Run) -> None:
    target = notes.with_name("away")
    refused = run("vault", "move", "notes", str(target), home=home.root)
    assert refused.returncode == 2 and "--yes" in refused.stderr and notes.is_dir()
    assert run("vault", "move", "notes", str(target), "--yes", home=home.root).returncode == 0
    assert target.is_dir() and not notes.exists()


def test_a_copy_that_fails_leaves_the_vault(
    home: Home, notes: Path, other_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(notes / "pipe")
    before = sorted(path.name for path in notes.rglob("*"))
    with pytest.raises(DjinnError):
        move_vault(Djinn(home).runtime.state, "notes", other_disk / "notes")
    assert sorted(path.name for path in notes.rglob("*")) == before
    assert not list(other_disk.iterdir())
    assert home.named(("notes",))[0].root == notes
