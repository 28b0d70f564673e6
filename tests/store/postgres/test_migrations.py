"""The schema on a real server: created once, forward only."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from psycopg.conninfo import make_conninfo

from djinn_memory.errors import Refused, Unavailable
from djinn_memory.store.postgres import catalog, migrations
from djinn_memory.store.postgres.connection import ServerAddress, connect
from tests.postgres import CLUSTER, MODEL, DatabaseServer


@pytest.fixture
def empty(postgres: DatabaseServer) -> Iterator[ServerAddress]:
    name = postgres.create()
    yield postgres.address(name)
    postgres.drop(name)


def migrate(address: ServerAddress) -> list[str]:
    with closing(connect(address)) as connection:
        return migrations.migrate(connection, address, MODEL)


def test_a_migration_runs_once(empty: ServerAddress) -> None:
    assert migrate(empty) == [name for name, _ in migrations.scripts().values()]
    assert migrate(empty) == []


def test_migrations_wait_for_each_other(empty: ServerAddress) -> None:
    with ThreadPoolExecutor(4) as threads:
        applied = list(threads.map(migrate, [empty] * 4))
    assert sorted(map(bool, applied)) == [False, False, False, True]


def test_the_server_knows_its_model(database: ServerAddress) -> None:
    with closing(connect(database)) as connection:
        state = migrations.state(connection, database)
    assert state.model == MODEL
    assert state.version == max(migrations.scripts())


def test_a_user_without_rights_is_told_what_to_ask_for(
    postgres: DatabaseServer, empty: ServerAddress
) -> None:
    assert postgres.server, "the extensions of a cluster stay as they are"
    postgres.execute("drop role if exists guest; create role guest login")
    try:
        guest = ServerAddress.of(make_conninfo(empty.conninfo, user="guest"))
        with pytest.raises(Unavailable, match="run `create extension vector` in this database"):
            migrate(guest)
        with closing(connect(empty)) as connection:
            connection.execute("create extension vector")
        with pytest.raises(
            Unavailable, match="does not allow this user to read or change its tables"
        ):
            migrate(guest)
        assert migrate(empty)
        with pytest.raises(Unavailable, match="does not allow this user"):
            migrate(guest)
    finally:
        postgres.execute("drop role guest")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("drop table schema_migrations", r"has no tables of djinn; call `sync.init\(\)`"),
        (
            "delete from schema_migrations where version > 0",
            r"older djinn; call `sync.migrate\(\)` to update them",
        ),
        ("update schema_migrations set version = version + 1000", "newer djinn; update djinn"),
    ],
)
def test_another_schema_is_refused(database: ServerAddress, statement: str, message: str) -> None:
    with closing(connect(database)) as connection:
        connection.execute(statement.encode())
        with pytest.raises(Refused, match=message):
            migrations.state(connection, database)


_STAND_IN = """
create table pg_dist_partition (logicalrelid regclass, together text);
create table pg_dist_shard (logicalrelid regclass, shardid bigint);
create table role_scopes_102008 (like role_scopes);
insert into pg_dist_shard values ('role_scopes', 102008), ('server', 102009);
create function create_reference_table(text) returns void begin atomic
    insert into pg_dist_partition values ($1::regclass, null);
end;
create function create_distributed_table(name text, key text, colocate_with text)
returns void begin atomic
    insert into pg_dist_partition select $1::regclass, $2 || ' with ' || $3;
end;
create function create_distributed_function(text) returns void return null;
set allow_system_table_mods = on;
insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
select 99999, 'citus', extowner, extnamespace, false, '13.0' from pg_extension limit 1
"""
"""What djinn uses of Citus, as a record of the calls, and the copies of a node."""


@pytest.mark.skipif(bool(CLUSTER), reason="the server is a cluster")
def test_new_tables_are_distributed_and_secured_like_the_others(
    database: ServerAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = migrations.scripts()
    later = "create table later (user_id uuid not null references scopes, primary key (user_id))"
    with closing(connect(database)) as connection, connection.cursor() as cursor:
        cursor.execute(_STAND_IN.encode())
        with connection.transaction():
            catalog.distribute(cursor, database)
            catalog.secure_rows(cursor)
        known = set(cursor.execute("select * from pg_dist_partition").fetchall())
        assert ("notes", "user_id with scopes") in known and ("server", None) in known
        assert ("scopes", "user_id with none") in known
        monkeypatch.setattr(migrations, "scripts", lambda: {**scripts, 999: ("999.sql", later)})
        assert migrations.migrate(connection, database, None) == ["999.sql"]
        calls = cursor.execute("select * from pg_dist_partition").fetchall()
        assert set(calls) - known == {("later", "user_id with scopes")}
        assert len(calls) == len(known) + 1
        assert catalog.is_secured(cursor)
        # A worker reads its own copy of the grants.
        cursor.execute("insert into role_scopes_102008 values (current_user, null)")
        cursor.execute("select djinn_reads_all(), djinn_scopes()")
        assert cursor.fetchall() == [(True, [])]
