"""A home on a file system that ignores case, such as that of a Mac, beside one that does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres import DatabaseServer
from tests.sync.homes import HASHING, SyncedHome, register
from tests.sync.world import FoldingHome


@pytest.fixture
def homes(
    tmp_path: Path, home_template: Path, postgres: DatabaseServer
) -> Iterator[tuple[SyncedHome, FoldingHome]]:
    with postgres.migrated(HASHING) as address:
        register(address)
        yield (
            SyncedHome(tmp_path / "anna", home_template, address),
            FoldingHome(tmp_path / "cleo", home_template, address),
        )


def settle(*homes: SyncedHome) -> None:
    for home in (*homes, *homes):
        assert home.sync().waiting == []


@pytest.mark.parametrize("kind", ["md", "txt"])
def test_a_rename_that_changes_only_case(homes: tuple[SyncedHome, FoldingHome], kind: str) -> None:
    anna, cleo = homes
    cleo.write(f"lamp.{kind}", "Green.\n")
    settle(cleo, anna)
    (cleo.root / f"lamp.{kind}").rename(cleo.root / f"Lamp.{kind}")
    settle(cleo, anna)
    assert anna.notes() == cleo.notes() == {f"Lamp.{kind}": b"Green.\n"}
    (anna.root / f"Lamp.{kind}").rename(anna.root / f"LAMP.{kind}")
    settle(anna, cleo)
    assert anna.notes() == cleo.notes() == {f"LAMP.{kind}": b"Green.\n"}


def test_a_note_whose_name_another_takes_in_another_case(
    homes: tuple[SyncedHome, FoldingHome],
) -> None:
    anna, cleo = homes
    anna.write("lamp.md", "Green.\n")
    anna.write("bulb.md", "Red.\n")
    settle(anna, cleo)
    # Both homes give the name away, and the note that had it goes on elsewhere.
    (cleo.root / "lamp.md").unlink()
    (cleo.root / "bulb.md").rename(cleo.root / "Lamp.md")
    (anna.root / "lamp.md").rename(anna.root / "old.md")
    (anna.root / "bulb.md").rename(anna.root / "Lamp.md")
    settle(anna, cleo)
    assert anna.notes() == cleo.notes() == {"Lamp.md": b"Red.\n", "old.md": b"Green.\n"}
