"""The extensions of a server: pgvector, which djinn needs, and pg_trgm, which makes facts faster.

The embedded server has no pg_trgm, and Debian's PostgreSQL 15 has no pgvector. On the latter,
vectors are arrays here, so that all but searches by meaning can be tested.
"""

from __future__ import annotations

import hashlib
from contextlib import closing
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from psycopg.conninfo import make_conninfo

from djinn_memory.errors import Unavailable
from djinn_memory.store.postgres import migrations, queries
from djinn_memory.store.postgres.connection import ServerAddress, connect
from tests.postgres import CLUSTER, MODEL, DatabaseServer, debian_server

SCOPE = UUID(int=1)
FACTS = (
    "insert into memory_facts (user_id, id, category, key, value, history, djinn_id, note_id, rev) "
    "select %s, gen_random_uuid(), 'Maren', 'n' || number, "
    "md5(number::text) || ' road ' || number || '%%', '[]', 'x', %s, 1 "
    "from generate_series(1, 20000) as number"
)


def refusal(address: ServerAddress) -> str:
    """Why a server is not prepared, with what to do."""
    with closing(connect(address)) as connection, pytest.raises(Unavailable) as caught:
        migrations.migrate(connection, address, MODEL)
    return str(caught.value)


@pytest.mark.skipif(bool(CLUSTER), reason="the server is a cluster")
def test_an_old_pgvector(postgres: DatabaseServer) -> None:
    address = postgres.address(postgres.create())
    with closing(connect(address)) as connection:
        connection.execute("create extension vector")
        connection.execute("set allow_system_table_mods = on")
        connection.execute("update pg_extension set extversion = '0.7.4' where extname = 'vector'")
    line = refusal(address)
    assert "has pgvector 0.7.4, and djinn needs 0.8 or newer; install it on the server" in line


def test_an_old_server_with_trigrams() -> None:
    with debian_server() as address:
        assert "; upgrade the server to PostgreSQL 16 or newer, and install it on" in refusal(
            address
        )
        with closing(connect(address)) as connection:
            connection.execute(
                "create view pg_available_extensions as "
                "select 'vector' as name, '0.8.0' as default_version, null as installed_version"
            )
            first = make_conninfo(address.conninfo, options="-c search_path=public,pg_catalog")
            line = refusal(ServerAddress.of(first))
            assert "runs PostgreSQL 15, and djinn needs 16 or newer; upgrade the server" in line
            connection.execute("create extension pg_trgm")
            for number, (_, script) in migrations.scripts().items():
                if number < 3:
                    columns = script.replace("vector({dimensions})", "real[]")
                    connection.execute(columns.encode())
            connection.execute("insert into scopes (user_id, name) values (%s, 'shared')", (SCOPE,))
            note = uuid4()
            connection.execute(
                "insert into notes (user_id, note_id, path, path_key, content, hash, size, rev, "
                "home_id) values (%s, %s, 'a.md', 'a.md', '', '', 0, 1, %s)",
                (SCOPE, note, note),
            )
            with connection.cursor() as cursor:
                cursor.execute(FACTS, (SCOPE, note))
                cursor.execute("vacuum analyze memory_facts")
                answers = queries.search(cursor, "ROAD 1299%", None, datetime.now(UTC))
                assert [fact.key for fact in answers] == ["n1299"]
                rare = hashlib.md5(b"1299").hexdigest()[4:16]
                plan = cursor.execute(
                    b"explain " + queries.BY_TEXT.encode(),
                    {"text": f"%{rare}%", "scope": SCOPE, "at": datetime.now(UTC), "limit": 15},
                ).fetchall()
            for column in ("category", "key", "value"):
                assert f"memory_facts_{column}_text" in repr(plan)
