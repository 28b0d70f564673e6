"""Databases: migrated forward, shared, damaged, newer, read-only."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from djinn_memory.errors import Refused, Unavailable
from djinn_memory.store.sqlite import Broken, connect, damaged, snapshot, transaction


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    folder = tmp_path / "schema"
    folder.mkdir()
    (folder / "001.sql").write_text("create table one (a);")
    return folder


def test_scripts_run_once_each_and_in_order(tmp_path: Path, schema: Path) -> None:
    place = tmp_path / "state" / "x.db"
    connect(place, schema).execute("insert into one values (1)")
    (schema / "002.sql").write_text("alter table one add b default 2;")
    assert connect(place, schema).execute("select a, b from one").fetchall() == [(1, 2)]
    assert connect(place, schema).pragma("user_version") == 2


def test_a_script_that_fails_leaves_nothing_behind(tmp_path: Path, schema: Path) -> None:
    place = tmp_path / "x.db"
    connect(place, schema)
    (schema / "002.sql").write_text("create table two (a); create table one (a);")
    with pytest.raises(apsw.SQLError):
        connect(place, schema)
    (schema / "002.sql").write_text("create table two (a);")
    assert connect(place, schema).pragma("user_version") == 2


def test_a_newer_database_is_refused(tmp_path: Path, schema: Path) -> None:
    connect(tmp_path / "x.db", schema).pragma("user_version", 9)
    for write in (True, False):
        with pytest.raises(Refused, match="newer djinn"):
            connect(tmp_path / "x.db", schema, write=write)


def test_an_older_database_is_not_migrated_by_a_reader(tmp_path: Path, schema: Path) -> None:
    connect(tmp_path / "x.db", schema)
    (schema / "002.sql").write_text("create table two (a);")
    with pytest.raises(Unavailable, match="djinn index"):
        connect(tmp_path / "x.db", schema, write=False)


def test_a_reader_makes_no_file(tmp_path: Path, schema: Path) -> None:
    with pytest.raises(Unavailable):
        connect(tmp_path / "x.db", schema, write=False)
    assert not (tmp_path / "x.db").exists()


def test_what_is_no_database_is_broken(tmp_path: Path, schema: Path) -> None:
    place = tmp_path / "x.db"
    place.write_bytes(b"these are not the pages you are looking for" * 100)
    assert damaged(place)
    with pytest.raises(Broken):
        connect(place, schema)


def test_a_damaged_page_is_found(tmp_path: Path, schema: Path) -> None:
    place = tmp_path / "x.db"
    connection = connect(place, schema)
    connection.executemany("insert into one values (?)", [("x" * 500,)] * 100)
    connection.close()
    assert not damaged(place)
    pages = bytearray(place.read_bytes())
    pages[8192:12288] = b"\xff" * 4096
    place.write_bytes(pages)
    assert damaged(place)


def test_a_transaction_is_all_or_nothing(tmp_path: Path, schema: Path) -> None:
    connection = connect(tmp_path / "x.db", schema)
    with pytest.raises(KeyboardInterrupt), transaction(connection):
        connection.execute("insert into one values (1)")
        raise KeyboardInterrupt
    assert connection.execute("select count(*) from one").get == 0
    assert not connection.in_transaction


def test_a_full_disk_is_unavailable(tmp_path: Path, schema: Path) -> None:
    connection = connect(tmp_path / "x.db", schema)
    connection.pragma("max_page_count", 10)
    with pytest.raises(Unavailable, match="full"), transaction(connection):
        connection.execute("insert into one values (zeroblob(100000))")
    assert connection.execute("select count(*) from one").get == 0


def test_a_snapshot_does_not_see_later_commits(tmp_path: Path, schema: Path) -> None:
    reader, writer = (connect(tmp_path / "x.db", schema) for _ in range(2))
    with snapshot(reader):
        assert reader.execute("select count(*) from one").get == 0
        with transaction(writer):
            writer.execute("insert into one values (1)")
        assert reader.execute("select count(*) from one").get == 0
    assert reader.execute("select count(*) from one").get == 1


def test_a_path_with_odd_characters(tmp_path: Path, schema: Path) -> None:
    place = tmp_path / "a?b#c%20" / "x.db"
    connect(place, schema).close()
    place.chmod(0o444)
    assert connect(place, schema, write=False).pragma("user_version") == 1
