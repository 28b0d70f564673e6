"""Which vaults are followed by events, and which must be looked at again and again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from queue import SimpleQueue

import pytest

from djinn_memory.models import Vault
from djinn_memory.watch.events import FollowedFolders
from djinn_memory.watch.heard import ALL, FileChanged, Heard


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    root = tmp_path / "notes"
    root.mkdir()
    return Vault("notes", root, "1")


@pytest.fixture
def heard() -> Heard:
    return SimpleQueue()


@pytest.fixture
def folders(vault: Vault, heard: Heard, tmp_path: Path) -> Iterator[FollowedFolders]:
    with closing(FollowedFolders([vault], heard, tmp_path, poll=False)) as one:
        yield one


def test_a_vault_is_followed_once(folders: FollowedFolders, vault: Vault, heard: Heard) -> None:
    assert list(folders.renew()) == ["notes"]
    assert list(folders.renew()) == []
    assert folders.polled == {}
    (vault.root / "a.md").write_text("kettle")
    assert heard.get(timeout=10) == FileChanged("notes", "a.md")


def test_a_folder_in_the_place_of_another_is_followed_anew(
    folders: FollowedFolders, vault: Vault, heard: Heard
) -> None:
    assert list(folders.renew()) == ["notes"]
    vault.root.rename(vault.root.with_name("old"))
    assert list(folders.renew()) == ["notes"]
    assert list(folders.renew()) == []
    vault.root.mkdir()
    assert list(folders.renew()) == ["notes"]
    while not heard.empty():
        heard.get()
    (vault.root / "a.md").write_text("kettle")
    assert heard.get(timeout=10) == FileChanged("notes", "a.md")


def test_a_root_that_is_deleted_is_told(
    folders: FollowedFolders, vault: Vault, heard: Heard
) -> None:
    assert list(folders.renew()) == ["notes"]
    vault.root.rmdir()
    assert heard.get(timeout=10) == FileChanged("notes", ALL)


def test_where_nothing_more_can_be_followed_it_is_looked_at(
    vault: Vault, heard: Heard, tmp_path: Path
) -> None:
    # What the system says of one folder too many, it says of one that is not there.
    with closing(FollowedFolders([vault], heard, tmp_path / "nowhere", poll=False)) as one:
        assert list(one.renew()) == ["notes"]
        assert one.polled == {"notes": "No such file or directory"}
        assert list(one.renew()) == []


def test_the_setting_says_so(vault: Vault, heard: Heard, tmp_path: Path) -> None:
    with closing(FollowedFolders([vault], heard, tmp_path, poll=True)) as one:
        assert list(one.renew()) == []
        assert set(one.polled) == {"notes"}


def test_of_the_inbox_it_tells_file_names(
    folders: FollowedFolders, heard: Heard, tmp_path: Path
) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    assert not folders.follow_inbox(inbox)
    assert folders.follow_inbox(inbox)
    (inbox / ".hidden.pdf").write_text("x")
    (inbox / "a.pdf").write_text("x")
    dropped = heard.get(timeout=10)
    assert getattr(dropped, "path", None) == str(inbox / "a.pdf")
