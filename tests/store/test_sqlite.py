"""Databases: migrated forward, shared, damaged, newer, read-only."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from msgspec.structs import replace

from djinn_memory.errors import Refused, Unavailable
from djinn_memory.store.faults import fault
from djinn_memory.store.sqlite import (
    DamagedDatabase,
    ForeignDatabase,
    Schema,
    connect,
    peek,
    snapshot,
    transaction,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "schema"
    folder.mkdir()
    (folder / "001.sql").write_text("create table one (a); pragma application_id = 7;")
    return folder


@pytest.fixture
def schema(folder: Path) -> Schema:
    return Schema(folder, application=7, marked=1, tables=frozenset({"one"}))


def test_who_peeks_waits_for_who_has_all_of_the_file(tmp_path: Path, schema: Schema) -> None:
    place = tmp_path / "x.db"
    connect(place, schema).close()
    code = (
        "import sys, time, apsw\n"
        "db = apsw.Connection(sys.argv[1])\n"
        "db.pragma('locking_mode', 'exclusive')\n"
        "db.execute('insert into one values (1)')\n"
        "print('held', flush=True)\n"
        "time.sleep(0.5)\n"
    )
    command = [sys.executable, "-c", code, str(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout and holder.stdout.readline() == "held\n"
        with closing(peek(place)) as connection:
            assert connection.execute("select a from one").get == 1


def test_scripts_run_once_each_and_in_order(tmp_path: Path, schema: Schema, folder: Path) -> None:
    place = tmp_path / "state" / "x.db"
    connect(place, schema).execute("insert into one values (1)")
    (folder / "002.sql").write_text("alter table one add b default 2;")
    assert connect(place, schema).execute("select a, b from one").fetchall() == [(1, 2)]
    assert connect(place, schema).pragma("user_version") == 2


def test_a_script_that_fails_leaves_nothing_behind(
    tmp_path: Path, schema: Schema, folder: Path
) -> None:
    place = tmp_path / "x.db"
    connect(place, schema)
    (folder / "002.sql").write_text("create table two (a); create table one (a);")
    with pytest.raises(apsw.SQLError):
        connect(place, schema)
    (folder / "002.sql").write_text("create table two (a);")
    assert connect(place, schema).pragma("user_version") == 2


def test_a_newer_database_is_refused(tmp_path: Path, schema: Schema) -> None:
    connect(tmp_path / "x.db", schema).pragma("user_version", 9)
    for write in (True, False):
        with pytest.raises(Refused, match="newer djinn"):
            connect(tmp_path / "x.db", schema, write=write)


def test_an_older_database_is_not_migrated_by_a_reader(
    tmp_path: Path, schema: Schema, folder: Path
) -> None:
    connect(tmp_path / "x.db", schema)
    (folder / "002.sql").write_text("create table two (a);")
    with pytest.raises(Unavailable, match=r"`index\(\)` to update it"):
        connect(tmp_path / "x.db", schema, write=False)


def test_a_reader_makes_no_file(tmp_path: Path, schema: Schema) -> None:
    with pytest.raises(Unavailable):
        connect(tmp_path / "x.db", schema, write=False)
    assert not (tmp_path / "x.db").exists()


def test_what_is_no_database_is_broken(tmp_path: Path, schema: Schema) -> None:
    place = tmp_path / "x.db"
    place.write_bytes(b"these are not the pages you are looking for" * 100)
    assert fault(place, schema)
    with pytest.raises(DamagedDatabase):
        connect(place, schema)


def test_a_damaged_page_is_found(tmp_path: Path, schema: Schema) -> None:
    place = tmp_path / "x.db"
    connection = connect(place, schema)
    connection.executemany("insert into one values (?)", [("x" * 500,)] * 100)
    connection.close()
    assert fault(place, schema) is None
    pages = bytearray(place.read_bytes())
    pages[8192:12288] = b"\xff" * 4096
    place.write_bytes(pages)
    assert fault(place, schema)


def test_a_transaction_is_all_or_nothing(tmp_path: Path, schema: Schema) -> None:
    connection = connect(tmp_path / "x.db", schema)
    with pytest.raises(KeyboardInterrupt), transaction(connection):
        connection.execute("insert into one values (1)")
        raise KeyboardInterrupt
    assert connection.execute("select count(*) from one").get == 0
    assert not connection.in_transaction


def test_a_full_disk_is_unavailable(tmp_path: Path, schema: Schema) -> None:
    connection = connect(tmp_path / "x.db", schema)
    connection.pragma("max_page_count", 10)
    with pytest.raises(Unavailable, match="full"), transaction(connection):
        connection.execute("insert into one values (zeroblob(100000))")
    assert connection.execute("select count(*) from one").get == 0


def test_what_was_opened_for_reading_says_why_it_cannot_be_written(
    tmp_path: Path, schema: Schema
) -> None:
    connect(tmp_path / "x.db", schema).close()
    connection = connect(tmp_path / "x.db", schema, write=False)
    with (
        pytest.raises(Unavailable, match=r"x\.db cannot be written: the disk is full or read-only"),
        transaction(connection),
    ):
        connection.execute("insert into one values (1)")


def test_a_snapshot_does_not_see_later_commits(tmp_path: Path, schema: Schema) -> None:
    reader, writer = (connect(tmp_path / "x.db", schema) for _ in range(2))
    with snapshot(reader):
        assert reader.execute("select count(*) from one").get == 0
        with transaction(writer):
            writer.execute("insert into one values (1)")
        assert reader.execute("select count(*) from one").get == 0
    assert reader.execute("select count(*) from one").get == 1


def test_a_path_with_odd_characters(tmp_path: Path, schema: Schema) -> None:
    place = tmp_path / "a?b#c%20" / "x.db"
    connect(place, schema).close()
    place.chmod(0o444)
    assert connect(place, schema, write=False).pragma("user_version") == 1


OTHERS = {
    "another program's": "create table bookmarks (id); insert into bookmarks values (1);",
    "with our version": "create table bookmarks (id); pragma user_version = 1;",
    "with our table": "create table one (a);",
    "with another mark": "create table one (a); pragma user_version = 1; "
    "pragma application_id = 99;",
    "with a mark and nothing else": "pragma application_id = 99;",
    "of our mark without our table": "create table two (a); pragma application_id = 7; "
    "pragma user_version = 1;",
}


@pytest.mark.parametrize("script", OTHERS.values(), ids=OTHERS)
def test_nothing_is_written_into_what_is_not_ours(
    tmp_path: Path, schema: Schema, script: str
) -> None:
    place = tmp_path / "x.db"
    other = apsw.Connection(str(place))
    other.execute(script)
    other.close()
    before = place.read_bytes()
    for write in (True, False):
        with pytest.raises(ForeignDatabase, match="not created by djinn"):
            connect(place, schema, write=write)
    assert fault(place, schema) == "was not created by djinn"
    assert place.read_bytes() == before
    assert [one.name for one in tmp_path.glob("x.db*")] == ["x.db"]


@pytest.mark.parametrize(
    "data", [b"text\n", b"\0" * 4096, b"SQLite format 3\0", b"SQLite format 3\0" + b"\xff" * 8000]
)
def test_what_only_begins_like_a_database(tmp_path: Path, schema: Schema, data: bytes) -> None:
    place = tmp_path / "x.db"
    place.write_bytes(data)
    with pytest.raises(DamagedDatabase):
        connect(place, schema)
    assert fault(place, schema)
    assert place.read_bytes() == data


def test_a_lost_table_and_a_lost_column_are_faults(
    tmp_path: Path, schema: Schema, folder: Path
) -> None:
    (folder / "002.sql").write_text("create table two (a, b);")
    place = tmp_path / "x.db"
    connection = connect(place, schema)
    assert fault(place, schema) is None
    connection.execute("alter table two drop column b")
    assert fault(place, schema) == "is damaged (it lacks two.b)"
    connection.execute("drop table two")
    assert fault(place, schema) == "is damaged (it lacks two.a)"


def test_a_newer_one_and_a_missing_one_have_no_fault(tmp_path: Path, schema: Schema) -> None:
    assert fault(tmp_path / "x.db", schema) is None
    connect(tmp_path / "x.db", schema).pragma("user_version", 9)
    assert fault(tmp_path / "x.db", schema) is None


def test_what_must_last_waits_for_the_disk(tmp_path: Path, schema: Schema) -> None:
    assert connect(tmp_path / "x.db", schema).pragma("synchronous") == 1
    durable = replace(schema, durable=True)
    assert connect(tmp_path / "x.db", durable).pragma("synchronous") == 2
