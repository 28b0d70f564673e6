import hashlib
import os
from pathlib import Path

import pytest

from djinn_memory.documents.sources import fingerprint, sources
from djinn_memory.errors import DjinnError


def names(*paths: Path, recursive: bool = False) -> list[str]:
    found, missing = sources(paths, recursive=recursive)
    assert not missing
    return [source.name for source in found]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.pdf", "a.txt", ".hidden", "in/c.md", "in/deep/d.md", ".git/e.md"):
        path = tmp_path / "papers" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path / "papers"


def test_files_of_folders(folder: Path) -> None:
    assert names(folder) == ["a.txt", "b.pdf"]
    assert names(folder, recursive=True) == ["a.txt", "b.pdf", "c.md", "d.md"]
    assert names(folder / ".hidden", folder / ".git") == [".hidden", "e.md"]


def test_a_file_comes_once(folder: Path) -> None:
    (folder / "link.pdf").symlink_to("b.pdf")
    (folder / "loop").symlink_to(folder)
    assert names(folder / "b.pdf", folder, folder / "in" / ".." / "a.txt", recursive=True) == [
        "b.pdf", "a.txt", "c.md", "d.md",
    ]  # fmt: skip


def test_the_users_own_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder))
    assert names(Path("~/a.txt")) == ["a.txt"]


@pytest.mark.parametrize("name", ["none", "a.txt/x", "a\0b", "\udcff", "~nobody-of-that-name/x"])
def test_what_is_not_there_costs_only_itself(folder: Path, name: str) -> None:
    found, missing = sources([folder / name, folder / "b.pdf"])
    assert [source.name for source in found] == ["b.pdf"]
    assert [(path, str(error)) for path, error in missing] == [
        (str(folder / name), "no such file or folder; check the path")
    ]


def test_a_name_that_no_system_takes(folder: Path) -> None:
    found, missing = sources([folder / ("x" * 300), folder / "a.txt"])
    assert len(found) == 1
    assert [str(error) for _, error in missing] == ["cannot be read: File name too long"]
    (folder / "self").symlink_to("self")
    _, missing = sources([folder / "self"])
    assert "cannot be read" in str(missing[0][1])


def test_a_folder_that_cannot_be_read_costs_only_itself(folder: Path) -> None:
    """One so deep that its path is longer than the system takes."""
    here = Path.cwd()
    try:
        os.chdir(folder)
        for _ in range(20):
            Path("z" * 250).mkdir()
            os.chdir("z" * 250)
        found, missing = sources([folder, folder / "in"], recursive=True)
    finally:
        os.chdir(here)
    assert [source.name for source in found] == ["a.txt", "b.pdf", "c.md", "d.md"]
    [(path, error)] = missing
    assert path.startswith(str(folder / "zzz"))
    assert str(error) == "cannot be read: File name too long"


def test_fingerprints(folder: Path) -> None:
    big = folder / "big"
    big.write_bytes(b"x" * 3_000_000)
    assert fingerprint(big) == (hashlib.sha256(b"x" * 3_000_000).hexdigest(), 3_000_000)
    os.mkfifo(folder / "fifo")
    for name, why in (
        ("fifo", "is not a regular file"),
        ("in", "is not a regular file"),
        ("gone", "cannot be read: No such file or directory"),
        ("x" * 300, "cannot be read: File name too long"),
    ):
        with pytest.raises(DjinnError) as refused:
            fingerprint(folder / name)
        assert str(refused.value) == why
