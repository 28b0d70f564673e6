"""Databases of every released version, opened by today's code: whole, at once, or as they were."""

from __future__ import annotations

import shutil
import subprocess
import sys
from itertools import count
from pathlib import Path

import apsw
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.notes import journal
from djinn_memory.store import index as index_store
from djinn_memory.store import ledger, vector_cache
from djinn_memory.store.faults import fault
from djinn_memory.store.ledger import Event, Ledger
from djinn_memory.store.sqlite import Schema, load_vectors
from djinn_memory.store.vector_cache import EmbeddingCache
from tests.conftest import Run
from tests.indexing.content import content
from tests.indexing.vaults import fill
from tests.store.older import older

NOTES = 40
INDEXES = range(1, index_store.SCHEMA.newest)
CACHES = range(1, vector_cache.SCHEMA.newest)
LEDGERS = range(1, ledger.SCHEMA.newest)


@pytest.fixture
def whole(home: Home, shared: Path) -> Home:
    fill(shared, NOTES)
    djinn = Djinn(home)
    djinn.index()
    djinn.close()
    return home


def age(path: Path, schema: Schema, version: int) -> None:
    """Put a database of an earlier version in the place of one of today."""
    made = path.with_name("older.db")
    older(path, made, schema, version)
    made.replace(path)
    assert version_of(path) == version


def version_of(path: Path) -> int:
    connection = apsw.Connection(str(path))
    try:
        return int(connection.pragma("user_version"))
    finally:
        connection.close()


def test_every_script_is_a_version_that_is_tested() -> None:
    for schema, tested in (
        (index_store.SCHEMA, INDEXES),
        (vector_cache.SCHEMA, CACHES),
        (ledger.SCHEMA, LEDGERS),
    ):
        assert sorted(schema.numbered) == [*tested, schema.newest]
        assert schema.marked in schema.numbered


@pytest.mark.few(6)
@pytest.mark.parametrize("maker", ["of today", "of then"])
@pytest.mark.parametrize("version", INDEXES)
def test_an_index_of_each_version(whole: Home, version: int, maker: str) -> None:
    expected = content(whole.index_path)
    age(whole.index_path, index_store.SCHEMA, version)
    if maker == "of then":
        with apsw.Connection(str(whole.index_path)) as connection:
            connection.execute("update meta set value = 'chunks 0' where key = 'maker'")
        connection.close()
    djinn = Djinn(whole)
    result = djinn.search("kettle")
    assert result.hits
    assert djinn.memories.list(limit=99).memories.__len__() == NOTES
    assert djinn.status().stats
    djinn.close()
    assert not list(whole.state.glob("*corrupt*"))
    report = Djinn(whole).index()
    assert (report.embedded, report.problems) == (0, ())
    assert content(whole.index_path) == expected
    assert version_of(whole.index_path) == index_store.SCHEMA.newest
    assert index_store.fault(whole.index_path) is None


def test_an_upgrade_keeps_the_words_that_are_there(whole: Home) -> None:
    expected = content(whole.index_path)
    with apsw.Connection(str(whole.index_path)) as connection:
        load_vectors(connection)
        connection.execute(
            "alter table vault add column languages text not null default ''; "
            "alter table chunk rename column in_compartment to in_vault; "
            "alter table memory drop column compartment_id; drop table compartment; "
            "alter table note drop column changed"
        )
        for table in ("note", "memory", "alias"):
            connection.execute(f"drop index {table}_name; alter table {table} drop column name")
        connection.pragma("user_version", 9)
    connection.close()
    with Djinn(whole) as djinn:
        assert djinn.search("kettle").hits
    assert content(whole.index_path) == expected
    assert version_of(whole.index_path) == index_store.SCHEMA.newest
    assert not list(whole.state.glob("*corrupt*"))


def test_a_journal_of_an_index_that_knew_none(
    home: Home, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shared / "journal" / "2026-11-20.laptop.md"
    path.parent.mkdir()
    records = [journal.compose("09:30", f"T{n}", f"b{n}", "kettle", {}) for n in range(3)]
    path.write_text(journal.header("2026-11-20", "laptop") + "".join(records), encoding="utf-8")
    (shared / "a.md").write_text("[[2026-11-20.laptop#^b1]]", encoding="utf-8")
    with monkeypatch.context() as patched:
        patched.setattr(journal, "is_journal", lambda *_: False)
        Djinn(home).index()
    age(home.index_path, index_store.SCHEMA, 5)
    djinn = Djinn(home)
    titles = {memory.title for memory in djinn.memories.list().memories}
    assert titles == {"T0", "T1", "T2", "a"}
    djinn.index()
    upgraded = content(home.index_path)
    djinn.index(rebuild=True)
    assert content(home.index_path) == upgraded
    [link] = djinn.memories.links(name="a").links
    assert link.title == "T1"


@pytest.mark.parametrize("version", CACHES)
def test_a_cache_of_each_version(whole: Home, version: int) -> None:
    age(whole.embeddings_path, vector_cache.SCHEMA, version)
    for leftover in whole.state.glob("index.db*"):
        leftover.unlink()
    report = Djinn(whole).index()
    assert (report.embedded, report.reused) == (0, report.windows)
    cache = EmbeddingCache(whole.embeddings_path)
    assert cache.known("hashing-128-1")
    cache.close()
    assert fault(whole.embeddings_path, vector_cache.SCHEMA, thorough=True) is None
    assert version_of(whole.embeddings_path) == vector_cache.SCHEMA.newest


@pytest.mark.parametrize("version", LEDGERS)
def test_a_ledger_of_each_version(tmp_path: Path, version: int) -> None:
    path = tmp_path / "ledger.db"
    made = Ledger(path)
    made.append(Event("document.done", f"{n}", {"n": n}) for n in range(500))
    expected = made.latest("document")
    made.close()
    age(path, ledger.SCHEMA, version)
    opened = Ledger(path)
    assert opened.latest("document") == expected
    opened.append([Event("document.done", "new", {})])
    assert opened.latest("document")[:-1] == expected
    opened.close()
    assert fault(path, ledger.SCHEMA, thorough=True) is None
    assert version_of(path) == ledger.SCHEMA.newest


KILLED = """
import os, signal, sys, apsw
left = int(sys.argv[2])
def trace(cursor, sql, bindings):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    return True
apsw.connection_hooks.append(lambda connection: setattr(connection, "exec_trace", trace))
from pathlib import Path
from djinn_memory.store.index import open_index
open_index(Path(sys.argv[1]))
"""


@pytest.mark.soak
def test_a_kill_at_any_statement_leaves_a_whole_version(whole: Home, tmp_path: Path) -> None:
    age(whole.index_path, index_store.SCHEMA, 1)
    versions = set()
    for step in count(1):
        path = tmp_path / f"{step}" / "index.db"
        path.parent.mkdir()
        shutil.copy(whole.index_path, path)
        done = subprocess.run([sys.executable, "-c", KILLED, str(path), str(step)], check=False)
        assert done.returncode in (0, -9)
        versions.add(version_of(path))
        assert index_store.fault(path) is None
        connection = index_store.open_index(path)
        assert connection.pragma("user_version") == index_store.SCHEMA.newest
        assert connection.execute("select count(*) from note").get == NOTES
        connection.close()
        shutil.rmtree(path.parent)
        if done.returncode == 0:
            break
    assert done.returncode == 0
    assert versions == set(index_store.SCHEMA.numbered)


@pytest.mark.soak
def test_many_migrate_at_once(whole: Home) -> None:
    expected = content(whole.index_path)
    age(whole.index_path, index_store.SCHEMA, 1)
    age(whole.embeddings_path, vector_cache.SCHEMA, 1)
    command = [sys.executable, "-m", "djinn_memory", "--home", str(whole.root)]
    runs = [
        subprocess.Popen(
            [*command, *words.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for words in ("memory search kettle", "index", "memory list", "index --json")
    ]
    for process in runs:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, (process.args, out, err)
        assert "locked" not in err and "Traceback" not in err
    Djinn(whole).index()
    assert content(whole.index_path) == expected


@pytest.mark.few(1)
@pytest.mark.parametrize("kilobytes", [1, 40, 100])
def test_a_full_disk_leaves_the_old_version_whole(
    whole: Home, tmp_path: Path, kilobytes: int
) -> None:
    age(whole.index_path, index_store.SCHEMA, 1)
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "limit = int(sys.argv.pop(1)) * 1024\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))\n"
        "from djinn_memory.cli.start import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(kilobytes), "--home", str(whole.root), "index"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 5, done
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert "disk is full" in line or "cannot be" in line
    assert not list(whole.state.glob("*corrupt*"))
    assert index_store.fault(whole.index_path) is None
    assert Djinn(whole).index().problems == ()


def test_a_newer_one_is_refused_by_every_command(whole: Home, run: Run) -> None:
    ledger_path = whole.ledger_path
    Ledger(ledger_path).close()
    for path in (whole.index_path, ledger_path):
        with apsw.Connection(str(path)) as connection:
            connection.pragma("user_version", 99)
        connection.close()
    before = {path.name: path.read_bytes() for path in (whole.index_path, ledger_path)}
    for command in ("memory search x", "memory list", "index", "status", "document list"):
        done = run(*command.split(), home=whole.root)
        assert done.returncode == 3, (command, done)
        assert "newer djinn (version 99); update djinn" in done.stderr
        assert done.stderr.count("\n") == 1
    after = {path.name: path.read_bytes() for path in (whole.index_path, ledger_path)}
    assert after == before
