"""Row-level security: each role sees the scopes that were granted to it, whatever it sets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from djinn_memory.errors import Unavailable
from djinn_memory.store.postgres import catalog
from djinn_memory.store.postgres.connection import (
    ServerAddress,
    connect,
    explained,
    writing,
)
from djinn_memory.store.postgres.values import copying
from tests.indexing.vaults import fill
from tests.postgres import CLUSTER, DatabaseServer
from tests.sync.homes import SCOPE, SyncedHome, register
from tests.sync.pushes import HASHING

SHARED, ANNA, BOB = UUID(int=1), UUID(int=2), UUID(int=3)
NOTE = (
    "insert into notes (user_id, note_id, path, path_key, content, hash, size, rev, home_id) "
    "values (%s, %s, 'a.md', 'a.md', 'text', 'hash', 4, 1, %s)"
)


@pytest.fixture
def database(postgres: DatabaseServer) -> Iterator[ServerAddress]:
    """A database for the vectors of homes in tests."""
    with postgres.migrated(HASHING) as address:
        yield address


@pytest.fixture
def secured(database: ServerAddress) -> Iterator[ServerAddress]:
    """A database with the shared vault and a vault each of anna and bob; carol reads all."""
    roles = ("anna", "bob", "carol", "nobody")
    with closing(connect(database)) as owner:
        with owner.transaction(), owner.cursor() as cursor:
            catalog.change_in_order(cursor)
            for scope in (SHARED, ANNA, BOB):
                cursor.execute("insert into scopes (user_id, name) values (%s, 'x')", (scope,))
                cursor.execute(NOTE, (scope, uuid4(), uuid4()))
            catalog.secure_rows(cursor)
            for role in roles:
                cursor.execute(f"create role {role} login".encode())
            cursor.executemany(
                "insert into role_scopes (role_name, user_id) values (%s, %s)",
                [("anna", SHARED), ("anna", ANNA), ("bob", SHARED), ("bob", BOB), ("carol", None)],
            )
        yield database
        for role in roles:
            owner.execute(f"drop owned by {role}; drop role {role}".encode())


def connected(database: ServerAddress, role: str) -> Any:
    return connect(ServerAddress.of(make_conninfo(database.conninfo, user=role)))


def seen(connection: Any) -> set[UUID]:
    """The scopes whose rows a role sees, in any table."""
    # On a cluster each test has a schema of its own.
    named = re.search(r"search_path=(\w+)", connection.info.get_parameters().get("options", ""))
    schema = named[1] if named else "public"
    rows = connection.execute(
        f"select user_id from {schema}.scopes union select user_id from {schema}.notes"
    )
    return {scope for (scope,) in rows}


@pytest.mark.parametrize(
    ("role", "scopes"),
    [
        ("anna", {SHARED, ANNA}),
        ("bob", {SHARED, BOB}),
        ("carol", {SHARED, ANNA, BOB}),
        ("nobody", set()),
    ],
)
def test_a_role_sees_its_scopes(secured: ServerAddress, role: str, scopes: set[UUID]) -> None:
    with closing(connected(secured, role)) as connection:
        assert seen(connection) == scopes


def test_no_setting_shows_a_role_more(secured: ServerAddress) -> None:
    with closing(connected(secured, "anna")) as connection:
        connection.execute(
            "create temp table role_scopes as select 'anna'::name as role_name, "
            "'00000000-0000-0000-0000-000000000003'::uuid as user_id"
        )
        settings = connection.execute(
            "select name, setting, vartype, enumvals from pg_settings where context = 'user'"
        ).fetchall()
        assert len(settings) > 100
        for name, value, kind, choices in settings:
            others = {"bool": ["on", "off"], "enum": choices or []}.get(kind, [value])
            for other in [*others, "pg_temp, public"] if name == "search_path" else others:
                with suppress(psycopg.Error):
                    connection.execute("select set_config(%s, %s, false)", (name, other))
            # With row_security = off, PostgreSQL refuses the query. Citus has more such settings.
            with suppress(psycopg.Error if CLUSTER else psycopg.errors.InsufficientPrivilege):
                assert seen(connection) == {SHARED, ANNA}, name
            connection.execute("select set_config('row_security', 'on', false)")
            if CLUSTER:
                with suppress(psycopg.errors.ActiveSqlTransaction):
                    connection.execute("select set_config(%s, %s, false)", (name, value))


@pytest.mark.few(6)
@pytest.mark.parametrize(
    "statement",
    [
        "set role bob",
        "set session authorization bob",
        "insert into role_scopes values ('anna', '00000000-0000-0000-0000-000000000003')",
        "update role_scopes set user_id = '00000000-0000-0000-0000-000000000003'",
        "alter table notes no force row level security",
        "alter table notes disable row level security",
        "drop policy djinn_read on notes",
        "create or replace function djinn_scopes() returns uuid[] return null",
        "truncate notes",
        "update server set identity = 'mine'",
        "insert into scopes (user_id, name) values (gen_random_uuid(), 'mine')",
        "update notes set user_id = '00000000-0000-0000-0000-000000000003'",
    ],
)
def test_a_role_cannot_widen_its_rights(secured: ServerAddress, statement: str) -> None:
    with closing(connected(secured, "anna")) as connection:
        with pytest.raises(psycopg.Error) as caught:
            connection.execute(statement.encode())
        # Citus refuses first what changes a scope.
        refused = {"42501", "0A000"} if CLUSTER else {"42501"}
        assert caught.value.sqlstate in refused
        assert seen(connection) == {SHARED, ANNA}


def test_rights_to_all_tables_grant_no_vaults(secured: ServerAddress) -> None:
    with closing(connect(secured)) as owner:
        schema = owner.execute("select current_schema()").fetchone()
        owner.execute(f"grant all on all tables in schema {(schema or ('',))[0]} to anna".encode())
    with closing(connected(secured, "anna")) as connection:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("insert into role_scopes values ('anna', %s)", (BOB,))
        assert connection.execute("update role_scopes set user_id = null").rowcount == 0
        assert seen(connection) == {SHARED, ANNA}


def test_the_rows_of_others_cannot_be_changed(secured: ServerAddress) -> None:
    for role, deleted in (("anna", 2), ("carol", 0)):
        with closing(connected(secured, role)) as connection:
            with connection.transaction(force_rollback=True):
                assert connection.execute("delete from notes").rowcount == deleted
            with (
                pytest.raises(Unavailable, match="does not allow this user"),
                explained(secured),
            ):
                connection.execute(NOTE, (BOB, uuid4(), uuid4()))


def test_a_role_writes_into_its_scopes(secured: ServerAddress) -> None:
    with (
        closing(connected(secured, "anna")) as connection,
        writing(connection, secured, SHARED) as writer,
    ):
        columns = "user_id, note_id, path, path_key, content, hash, size, rev, home_id"
        for number in range(2):
            with copying(writer.tx, "notes", columns) as copy:
                copy.write_row(
                    (SHARED, uuid4(), f"{number}.md", f"{number}.md", b"b", b"h", 1, 1, ANNA)
                )
    with closing(connected(secured, "bob")) as connection:
        count = connection.execute(
            "select count(*) from notes where user_id = %s", (SHARED,)
        ).fetchone()
    assert count == (3,)


def test_a_role_exchanges_notes(
    secured: ServerAddress, tmp_path: Path, home_template: Path
) -> None:
    address = ServerAddress.of(make_conninfo(secured.conninfo, user="anna"))
    with closing(connect(secured)) as owner:
        register(secured)
        owner.execute("insert into role_scopes values ('anna', %s), ('bob', %s)", (SCOPE, SCOPE))
    first = SyncedHome(tmp_path / "first", home_template, address)
    fill(first.root, 3)
    first.djinn.index()
    assert first.sync().sent == 3
    as_bob = ServerAddress.of(make_conninfo(secured.conninfo, user="bob"))
    second = SyncedHome(tmp_path / "second", home_template, as_bob)
    assert second.sync().received == 3
    assert second.notes() == first.notes()


def test_the_owner_keeps_the_scopes_that_it_had(secured: ServerAddress) -> None:
    with closing(connect(secured)) as owner, owner.cursor() as cursor:
        assert catalog.is_secured(cursor)
        rows = cursor.execute(
            "select count(*) from role_scopes where role_name = current_user"
        ).fetchone()
    assert rows == (3,)
