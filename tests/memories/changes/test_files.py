"""The files of a change are in their vault, also where links are made later."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.errors import OutsideVault
from djinn_memory.memories.changes.files import current, place
from djinn_memory.models import Vault


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    (tmp_path / "vault" / "sub").mkdir(parents=True)
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "x.md").write_text("x")
    return Vault("v", tmp_path / "vault", "id")


@pytest.mark.parametrize("path", ["../x.md", "..", "sub/../../x.md", "/etc/passwd", "sub/a\0.md"])
def test_a_path_out_of_the_vault_has_no_place(vault: Vault, path: str) -> None:
    with pytest.raises(OutsideVault) as raised:
        place(vault, path)
    assert str(raised.value).startswith(f"{path} leads out of ")


def test_each_call_sees_the_links_of_that_moment(vault: Vault, tmp_path: Path) -> None:
    assert place(vault, "sub/x.md") == vault.root / "sub" / "x.md"
    (vault.root / "sub").rmdir()
    (vault.root / "sub").symlink_to(tmp_path / "away")
    with pytest.raises(OutsideVault) as raised:
        current(vault, "sub/x.md")
    assert str(raised.value).startswith("sub/x.md leads out of ")
    assert current(vault, "y.md") is None
    (vault.root / "y.md").symlink_to(tmp_path / "away" / "x.md")
    with pytest.raises(OutsideVault):
        current(vault, "y.md")


def test_a_link_inside_the_vault_is_its_own_place(vault: Vault) -> None:
    (vault.root / "sub" / "a.md").write_text("a")
    (vault.root / "b.md").symlink_to(vault.root / "sub" / "a.md")
    assert place(vault, "b.md") == vault.root / "b.md"
    assert current(vault, "b.md") == b"a"
    (vault.root / "c.md").symlink_to(vault.root / "c.md")
    with pytest.raises(OutsideVault):
        place(vault, "c.md")
