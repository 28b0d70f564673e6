"""Rows of notes that share a name, and rows that a home could not write with their note."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from djinn_memory.models import Progress
from djinn_memory.store.postgres.connection import ServerAddress, connect
from djinn_memory.sync.notes import push
from djinn_memory.sync.notes.files import VaultFiles
from djinn_memory.sync.notes.plan import NoteState, PushStep
from djinn_memory.sync.verification import fill
from tests.postgres import DatabaseServer
from tests.sync.homes import HASHING, SCOPE, SyncedHome, register
from tests.sync.pushes import TableServer

FACT = "---\ntype: fact\ncategory: Maren\nkey: city\nupdated: {}\n---\n{}\n"
SUMMARY = "---\ntype: summary\ntitle: Summary\nupdated: {}\n---\n{}\n"
PERSON = "---\nid: mem_aaaaaaaaaaaaaaaa\ntype: person\ntitle: Maren\ncreated: {}\n---\n"
REV = "select rev from notes"
CASES = {
    "fact": (FACT, "select value from memory_facts"),
    "summary": (SUMMARY, "select content from memory_summary"),
}


@pytest.fixture
def address(postgres: DatabaseServer) -> Iterator[ServerAddress]:
    with postgres.migrated(HASHING) as address:
        register(address)
        yield address


@pytest.fixture
def home(tmp_path: Path, home_template: Path, address: ServerAddress) -> SyncedHome:
    return SyncedHome(tmp_path / "anna", home_template, address)


@pytest.fixture
def server(address: ServerAddress) -> Iterator[TableServer]:
    with closing(connect(address)) as connection:
        yield TableServer(address, connection)


def filled(home: SyncedHome) -> tuple[int, int]:
    with home.link() as link:
        return fill(link, "rows")


VECTORS = "select count(*) from memory_facts where embedding is not null"


def unfilled(home: SyncedHome, server: TableServer, notes: int) -> None:
    """Synchronize facts, whose vectors the server then loses."""
    for number in range(notes):
        home.write(f"{number}.md", f"---\ntype: fact\ncategory: lamp\nkey: n{number}\n---\ngreen\n")
    home.sync()
    server.connection.execute("update memory_facts set embedding = null")
    server.connection.execute("update index_windows set vector = null")


@pytest.mark.parametrize("batch", [1, 3])
def test_filling_that_was_killed_goes_on(home: SyncedHome, server: TableServer, batch: int) -> None:
    unfilled(home, server, 7)

    def killed(progress: Progress) -> None:
        if progress.stage == "push" and progress.done >= 3:
            raise KeyboardInterrupt

    with home.link() as link:
        link.runtime.progress = killed
        with pytest.raises(KeyboardInterrupt):
            fill(link, "vectors", batch)
        link.runtime.progress = lambda progress: None
        assert server.value(VECTORS) == 3
        assert fill(link, "vectors", batch) == (4, 0)
    assert server.value(VECTORS) == 7
    assert server.value("select count(*) from index_windows where vector is null") == 0


def test_two_homes_fill_at_once(
    home: SyncedHome, server: TableServer, tmp_path: Path, home_template: Path
) -> None:
    other = SyncedHome(tmp_path / "ben", home_template, home.address)
    unfilled(home, server, 12)
    other.sync()
    server.connection.execute("update memory_facts set embedding = null")

    def filled(each: SyncedHome) -> tuple[int, int]:
        with each.link() as link:
            return fill(link, "vectors", 1)

    with ThreadPoolExecutor(2) as threads:
        assert [*threads.map(filled, [home, other])] == [(12, 0), (12, 0)]
    assert server.value(VECTORS) == 12


def test_a_note_that_the_server_forgets_meanwhile(home: SyncedHome, server: TableServer) -> None:
    unfilled(home, server, 2)

    class Forgetting(VaultFiles):
        """Files that are read while the server forgets one of them, with its tombstone."""

        def read(self, path: str) -> bytes | None:
            server.connection.execute("delete from notes where path = '0.md'")
            return super().read(path)

    with home.link() as link:
        link.files = Forgetting(link.vault)
        assert fill(link, "vectors") == (1, 1)
    assert server.value(VECTORS) == 1


@pytest.mark.parametrize("kind", CASES)
def test_older_note_gets_its_row_when_the_newer_is_gone(
    home: SyncedHome, server: TableServer, kind: str
) -> None:
    text, row = CASES[kind]
    values = {
        "a": ("2026-01-02", "Gdynia"),
        "b": ("2026-01-04", "Sopot"),
        "c": ("2026-01-03", "Hel"),
    }
    for name in "abc":
        home.write(f"{name}.md", text.format(*values[name]))
        home.sync()
    assert server.value(row) == "Sopot"
    (home.root / "b.md").unlink()
    home.sync()
    assert server.value(row) == "Hel"
    # Changed so that it says something else.
    home.write("c.md", "# Something else\n")
    home.sync()
    assert server.value(row) == "Gdynia"
    home.write("b.md", text.format("2026-01-01", "Oslo"))
    home.write("c.md", text.format("2026-01-05", "Bergen"))
    home.sync()
    assert server.value(row) == "Bergen"
    home.write("c.md", text.format("2025-01-05", "Bergen"))
    home.sync()
    assert server.value(row) == "Gdynia"
    for name in "abc":
        (home.root / f"{name}.md").unlink()
    home.sync()
    assert server.value(row) is None
    assert server.rows("outranked_notes") == []


def test_copy_gets_the_id_when_the_original_is_gone(home: SyncedHome, server: TableServer) -> None:
    home.write("b.md", PERSON.format("2026-01-01"))
    home.write("a.md", PERSON.format("2026-01-02"))
    home.sync()
    # The older note has the id, whichever path comes first.
    assert {row["djinn_id"] for row in server.rows("knowledge_entities")} == {
        "mem_aaaaaaaaaaaaaaaa", f"{SCOPE}/a.md",
    }  # fmt: skip
    (home.root / "b.md").unlink()
    home.sync()
    assert [row["djinn_id"] for row in server.rows("knowledge_entities")] == [
        "mem_aaaaaaaaaaaaaaaa"
    ]


def test_older_note_that_this_home_lacks_waits_for_another_home(
    home: SyncedHome, server: TableServer, tmp_path: Path, home_template: Path
) -> None:
    home.write("a.md", FACT.format("2026-01-02", "Gdynia"))
    home.write("b.md", FACT.format("2026-01-03", "Sopot"))
    home.sync()
    other = SyncedHome(tmp_path / "ben", home_template, home.address)
    other.sync()
    # A push alone does not look at what other homes changed.
    home.write("a.md", FACT.format("2026-01-01", "Hel"))
    home.sync()
    (other.root / "b.md").unlink()
    other.sync("push")
    assert server.rows("memory_facts") == []
    assert filled(other) == (0, 1)
    assert filled(home) == (1, 0)
    assert server.value(CASES["fact"][1]) == "Hel"
    assert server.value("select count(*) from notes where pending") == 0


def test_rows_that_the_index_lacked_are_written_later(
    home: SyncedHome, server: TableServer
) -> None:
    home.write("a.md", FACT.format("2026-01-02", "Gdynia"))
    home.sync()
    note = server.value("select note_id from notes")
    home.write("a.md", FACT.format("2026-01-02", "Sopot"))
    with home.link() as link:
        # The index has the first version still.
        digest = link.files.hash("a.md")
        assert digest
        state = NoteState("a.md", digest)
        done = push.push(link, [PushStep(note, state, "a.md", digest, server.value(REV))])
    assert done == {note}
    assert server.rows("memory_facts") == []
    assert server.value("select count(*) from index_memories") == 0
    assert filled(home) == (0, 1)
    home.djinn.index()
    assert filled(home) == (1, 0)
    assert filled(home) == (0, 0)
    assert server.value(CASES["fact"][1]) == "Sopot"
    assert server.value("select count(*) from index_memories") == 1
