"""The same tables on a real Citus cluster, whose address is in `DJINN_TEST_CITUS_URL`."""

from __future__ import annotations

import os
from contextlib import closing
from uuid import uuid4

import pytest

from djinn_memory.errors import Unavailable
from djinn_memory.store.postgres import catalog
from djinn_memory.store.postgres.connection import (
    ServerAddress,
    connect,
    reading,
    snapshot,
    writing,
)
from djinn_memory.store.postgres.scopes import register, scopes, take_numbers
from djinn_memory.store.postgres.values import copying
from tests.postgres import CLUSTER

COLUMNS = "user_id, note_id, path, path_key, content, hash, size, rev, home_id"


@pytest.mark.skipif(not CLUSTER, reason="no cluster; name its database in DJINN_TEST_CITUS_URL")
class TestCluster:
    """What a plain server cannot show."""

    # CI takes a test that is left out for a failure, and has no cluster.
    __test__ = bool(CLUSTER) or os.environ.get("CI") != "true"

    def test_all_tables_are_distributed(self, database: ServerAddress) -> None:
        with closing(connect(database)) as connection, connection.cursor() as cursor:
            assert catalog.is_distributed(cursor)
            catalog.distribute(cursor, database)
            cursor.execute(
                "select partmethod::text, count(*), count(distinct colocationid) "
                "from pg_dist_partition join pg_class on pg_class.oid = logicalrelid "
                "where relnamespace = current_schema()::regnamespace group by 1"
            )
            assert {method: counts for method, *counts in cursor} == {
                "h": [len(catalog.scoped_tables(cursor)), 1],
                "n": [len(catalog.UNSCOPED), 1],
            }

    def test_scopes_are_written_read_and_removed(self, database: ServerAddress) -> None:
        first, second = uuid4(), uuid4()
        with closing(connect(database)) as connection:
            with connection.transaction(), connection.cursor() as cursor:
                assert register(cursor, first, "one") and register(cursor, second, "two")
            for scope in (first, second, second):
                with writing(connection, database, scope) as writer:
                    take_numbers(writer.tx, scope, 2)
                    name = f"{writer.rev}.md"
                    with copying(writer.tx, "notes", COLUMNS) as copy:
                        copy.write_row(
                            (scope, uuid4(), name, name, b"b", b"h", 1, writer.rev, uuid4())
                        )
            with reading(connection, database) as cursor:
                known = {scope.user_id: (scope.rev, scope.notes) for scope in scopes(cursor)}
            assert known == {first: (1, 1), second: (2, 2)}
            connection.execute("delete from scopes where user_id = %s", (second,))
            assert connection.execute("select count(*) from notes").fetchone() == (1,)

    def test_a_reader_sees_one_state_of_a_node(self, database: ServerAddress) -> None:
        scope = uuid4()
        names = "select name from scopes where user_id = %s"
        with (
            closing(connect(database)) as connection,
            closing(connect(database)) as other,
            other.cursor() as cursor,
        ):
            register(cursor, scope, "one")
            with reading(connection, database) as reader:
                assert reader.execute(names, (scope,)).fetchall() == [("one",)]
                cursor.execute("update scopes set name = 'two' where user_id = %s", (scope,))
                assert reader.execute(names, (scope,)).fetchall() == [("one",)]
            with snapshot(connection, database, (), [f"{names[:-2]}'{scope}'"]) as (tx, [listed]):
                assert listed == [("two",)]
                cursor.execute("update scopes set name = 'three' where user_id = %s", (scope,))
                assert tx.execute(names, (scope,)).fetchall() == listed


@pytest.mark.skipif(bool(CLUSTER), reason="the server is a cluster")
def test_a_server_without_citus_says_so(database: ServerAddress) -> None:
    with (
        closing(connect(database)) as connection,
        connection.cursor() as cursor,
        pytest.raises(Unavailable, match="has no extension citus"),
    ):
        catalog.distribute(cursor, database)
