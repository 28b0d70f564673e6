"""What another home purged is erased from the bytes of the databases."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from djinn_memory.store import erasing
from djinn_memory.store.ledger import Ledger
from djinn_memory.sync import run
from tests.postgres import DatabaseServer
from tests.sync.homes import HASHING, SyncedHome, register

Homes = tuple[SyncedHome, SyncedHome]


@pytest.fixture
def homes(tmp_path: Path, home_template: Path, postgres: DatabaseServer) -> Iterator[Homes]:
    """Two homes with some notes in common."""
    with postgres.migrated(HASHING) as address:
        register(address)
        anna = SyncedHome(tmp_path / "anna", home_template, address)
        ben = SyncedHome(tmp_path / "ben", home_template, address)
        for name in ("first", "second", "third"):
            anna.write(f"{name}.md", f"# Note {name}\n\nThe kettle hides the key {name}.\n")
        anna.sync()
        ben.sync()
        yield anna, ben


@pytest.fixture
def erased(homes: Homes, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The databases that a run of Ben erased at its end, by their names."""
    names: list[str] = []
    erase, erase_ledger = erasing.erase, Ledger.erase

    def index(connection: apsw.Connection) -> None:
        names.append(Path(connection.filename).stem)
        erase(connection)

    def ledger(self: Ledger) -> None:
        names.append("ledger")
        erase_ledger(self)

    monkeypatch.setattr(run, "erase", index)
    monkeypatch.setattr(Ledger, "erase", ledger)
    return names


def purge(home: SyncedHome, name: str) -> None:
    home.djinn.memories.purge(f"shared:{name}.md")
    home.sync()


def erases(home: SyncedHome, erased: list[str]) -> list[str]:
    """The databases that the next run erases."""
    erased.clear()
    home.sync()
    return [*erased]


def block(anna: SyncedHome, ben: SyncedHome) -> Path:
    """Let Anna have a note that Ben cannot write. Returns what is in its way."""
    folder = ben.root / "blocked.md"
    folder.mkdir()
    (folder / "x").touch()
    anna.write("blocked.md", "# Blocked\n")
    anna.sync()
    return folder


def test_a_purge_is_erased_once_while_a_note_cannot_be_written(
    homes: Homes, erased: list[str]
) -> None:
    anna, ben = homes
    folder = block(anna, ben)
    both = ["ledger", "index"]
    for name in ("first", "second"):
        purge(anna, name)
        assert [erases(ben, erased) for _ in range(3)] == [both, [], []]
        assert ben.sync().waiting == ["blocked.md"]
    shutil.rmtree(folder)
    assert [erases(ben, erased) for _ in range(2)] == [both, []]
    assert sorted(ben.notes()) == ["blocked.md", "third.md"]


def test_a_purge_is_erased_once_while_the_trash_keeps_a_note(
    homes: Homes, erased: list[str]
) -> None:
    anna, ben = homes
    for home in homes:
        home.djinn.memories.delete("shared:first.md")
        home.sync()
    purge(anna, "first")
    both, cache = ["ledger", "index"], ben.djinn.runtime.state.cache._connection
    cache.pragma("query_only", True)
    assert [erases(ben, erased) for _ in range(3)] == [both, [], []]
    assert ben.sync().waiting == [".trash/first.md"]
    cache.pragma("query_only", False)
    assert [erases(ben, erased) for _ in range(2)] == [both, []]
