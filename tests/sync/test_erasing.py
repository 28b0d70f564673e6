"""What another home purged leaves the bytes of the databases: once, and again if that failed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest

from djinn_memory.store import busy, sqlite
from djinn_memory.store.ledger import Ledger
from djinn_memory.store.postgres.servers import URL
from djinn_memory.sync import run
from tests.postgres import DatabaseServer
from tests.sync.homes import HASHING, SyncedHome, register

Homes = tuple[SyncedHome, SyncedHome]


@pytest.fixture
def homes(
    tmp_path: Path,
    home_template: Path,
    postgres: DatabaseServer,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Homes]:
    """Two homes with some notes in common."""
    monkeypatch.setattr(busy, "BUSY_SECONDS", 0.3)
    with postgres.migrated(HASHING) as address:
        register(address)
        monkeypatch.setenv(URL, address.conninfo)
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
    erase, erase_ledger = sqlite.erase, Ledger.erase

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


@contextmanager
def reader(path: Path) -> Iterator[None]:
    """Another process that reads a database."""
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        connection.execute("begin; select count(*) from sqlite_schema").fetchall()
        yield


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


@pytest.mark.few(1)
@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("database", ["index", "ledger"])
def test_a_database_that_is_read_is_erased_by_a_later_run(
    homes: Homes, erased: list[str], database: str, blocks: bool
) -> None:
    anna, ben = homes
    folder = block(anna, ben) if blocks else None
    path = ben.home.state / f"{database}.db"
    # The file is gone already, so that only its traces are left.
    (ben.root / "first.md").unlink()
    purge(anna, "first")
    anna.djinn.facts.set(category="lamp", key="colour", value="green", shared=True)
    anna.djinn.sync.run()
    with reader(path):
        for _ in range(2):
            report = ben.djinn.sync.run()
            [problem] = [each for each in report.problems if each.what == str(path)]
            assert problem.why == (
                f"another djinn process is reading {path}, which may still contain purged text; "
                "end that process, then run the command again"
            )
            assert str(path) in report.vaults[0].waiting
    assert "facts" in str(ben.notes().keys())
    assert [erases(ben, erased) for _ in range(2)] == [["ledger", "index"], []]
    assert ben.sync().waiting == ["blocked.md"] * blocks
    if folder:
        shutil.rmtree(folder)
    ben.sync()
    ben.djinn.close()
    files = [file for file in ben.home.root.rglob("*") if file.is_file()]
    assert [file for file in files if b"hides the key first" in file.read_bytes()] == []


def test_a_process_that_reads_the_index_is_named_once(homes: Homes) -> None:
    anna, ben = homes
    purge(anna, "first")
    path = ben.home.index_path
    with reader(path):
        report = ben.djinn.sync.run()
    assert report.vaults[0].removed == 1
    assert [problem.what for problem in report.problems] == [str(path)]
    assert report.vaults[0].waiting == [str(path)]
    again = ben.djinn.sync.run()
    assert (again.vaults[0].waiting, list(again.problems)) == ([], [])
