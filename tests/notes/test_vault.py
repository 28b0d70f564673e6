"""Notes on the disk are read, changed and moved away inside their vault only."""

from pathlib import Path

import pytest

from djinn_memory.errors import NotFound, OutsideVault, Refused
from djinn_memory.models import Vault
from djinn_memory.notes.vault import VaultListing, read, trash, walk


def write(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)


def paths(listing: VaultListing) -> list[str]:
    return [file.path for file in listing.files]


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    (tmp_path / "vault").mkdir()
    return Vault("v", tmp_path / "vault", "id")


@pytest.mark.parametrize("path", ["../x.md", "/etc/passwd", "out/x.md", "out.md", "a\0.md"])
def test_read_stays_inside(vault: Vault, tmp_path: Path, path: str) -> None:
    write(tmp_path, "x.md", "away/x.md")
    (vault.root / "out").symlink_to(tmp_path / "away")
    (vault.root / "out.md").symlink_to(tmp_path / "x.md")
    with pytest.raises(OutsideVault):
        read(vault, path)


def test_trash_keeps_what_was_there(vault: Vault) -> None:
    for number in ("", "-2", "-3"):
        write(vault.root, "sub/a.md")
        target = trash(vault, "sub/a.md")
        assert target == vault.root / ".trash" / "sub" / f"a{number}.md"
        assert target.read_text() == "sub/a.md"
    assert paths(walk(vault)) == []


def test_trash_stays_inside(vault: Vault, tmp_path: Path) -> None:
    write(tmp_path, "x.md", "away/x.md", "vault/sub/a.md")
    (vault.root / "out").symlink_to(tmp_path / "away")
    for path in ("../x.md", "out/x.md", "/etc/passwd"):
        with pytest.raises(OutsideVault):
            trash(vault, path)
    (vault.root / ".trash").mkdir()
    (vault.root / ".trash" / "sub").symlink_to(tmp_path / "away")
    with pytest.raises(OutsideVault):
        trash(vault, "sub/a.md")
    with pytest.raises(NotFound):
        trash(vault, "sub")
    assert (vault.root / "sub" / "a.md").exists()


def test_trash_of_a_link_leaves_its_target(vault: Vault) -> None:
    write(vault.root, "a.md")
    (vault.root / "link.md").symlink_to("a.md")
    trash(vault, "link.md")
    assert (vault.root / "a.md").read_text() == "a.md"


def test_a_read_only_vault_keeps_its_notes(vault: Vault) -> None:
    write(vault.root, "a.md")
    with pytest.raises(Refused):
        trash(Vault("v", vault.root, "id", read_only=True), "a.md")
    assert paths(walk(vault)) == ["a.md"]
