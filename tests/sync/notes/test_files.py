"""Changes of files by synchronization never take what somebody saved meanwhile."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from djinn_memory.errors import Changed, OutsideVault, Refused
from djinn_memory.models import Vault
from djinn_memory.sync.notes.files import VaultFiles


@pytest.fixture
def files(tmp_path: Path) -> VaultFiles:
    root = tmp_path / "vault"
    root.mkdir()
    return VaultFiles(Vault("v", root, "id", inner=frozenset({"other"})))


def test_a_file_is_written_moved_replaced_and_removed(files: VaultFiles) -> None:
    root = files.vault.root
    files.create("d/e/a.md", b"1")
    with pytest.raises(Changed):
        files.create("d/e/a.md", b"2")
    files.move("d/e/a.md", "b.md")
    assert not (root / "d").exists()
    with pytest.raises(Changed):
        files.replace("b.md", b"2", b"0")
    files.replace("b.md", b"2", b"1")
    with pytest.raises(Changed):
        files.remove("b.md", b"1")
    files.remove("b.md", b"2")
    assert (root / ".trash" / "b.md").read_bytes() == b"2"
    files.create("c.md", b"3")
    files.flush()
    files.remove("c.md", b"3", copies=False)
    assert sorted(path.name for path in (root / ".trash").iterdir()) == ["b.md"]


def test_a_move_takes_no_other_file(files: VaultFiles) -> None:
    files.create("a.md", b"1")
    files.create("b.md", b"2")
    with pytest.raises(Changed):
        files.move("a.md", "b.md")
    with pytest.raises(Changed):
        files.move("gone.md", "c.md")
    assert files.read("b.md") == b"2"


@pytest.mark.parametrize("path", ["../a.md", "/a.md", ".git/a.md", "other/a.md", "other"])
def test_no_path_leads_out_of_the_vault(files: VaultFiles, path: str) -> None:
    for change in (lambda: files.create(path, b""), lambda: files.read(path)):
        with pytest.raises(OutsideVault):
            change()


def test_links_are_not_followed(files: VaultFiles, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/a.md").write_bytes(b"secret")
    (files.vault.root / "link").symlink_to(tmp_path / "secret")
    (files.vault.root / "a.md").symlink_to(tmp_path / "secret/a.md")
    with pytest.raises(OutsideVault):
        files.create("link/b.md", b"")
    with pytest.raises(Refused):
        files.read("a.md")
    assert files.is_link("a.md")


def test_a_file_that_cannot_be_seen_may_exist(files: VaultFiles, tmp_path: Path) -> None:
    assert not files.exists("a/b.png")
    (files.vault.root / "a").mkdir()
    assert not files.exists("a/b.png")
    (files.vault.root / "a").chmod(0)
    tmp_path.chmod(0o711)
    user = os.geteuid()
    try:
        if user == 0:
            # Root sees everything.
            os.seteuid(65534)
        with pytest.raises(PermissionError):
            os.lstat(files.vault.root / "a/b.png")
        assert files.exists("a/b.png")
    finally:
        os.seteuid(user)
        (files.vault.root / "a").chmod(0o700)
