"""djinn through PgBouncer, which gives each transaction the next free connection."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.store.postgres.connection import ServerAddress, connect
from djinn_memory.store.postgres.embedded import as_owner
from djinn_memory.store.postgres.servers import URL
from tests.postgres import CLUSTER, PREFIX, DatabaseServer, temporary

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH')}:/usr/sbin")

SETTINGS = """
[databases]
{database} = host={host} port={port}
[pgbouncer]
pool_mode = transaction
default_pool_size = 2
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = any
logfile = {folder}/log
"""


@contextmanager
def pooled(address: ServerAddress) -> Iterator[ServerAddress]:
    """The address of a PgBouncer in front of a server."""
    if PROGRAM is None:
        pytest.skip("no PgBouncer here; apt-get install pgbouncer")
    parts: dict[str, Any] = conninfo_to_dict(address.conninfo)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        listen = free.getsockname()[1]
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=temporary()))
    file = folder / "pgbouncer.ini"
    file.write_text(
        SETTINGS.format(
            database=parts["dbname"], host=parts["host"], listen=listen, folder=folder,
            port=f"{parts.get('port') or 5432} user={parts['user']}",
        )
    )  # fmt: skip
    folder.chmod(0o777)
    process = subprocess.Popen(
        [*as_owner(Path(parts["host"])), PROGRAM, "-q", str(file)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", listen)) == 0:
                    break
            time.sleep(0.05)
        yield ServerAddress.of(
            make_conninfo(
                host="127.0.0.1", port=listen, user=parts["user"], dbname=parts["dbname"],
                password=parts.get("password"),
            )
        )  # fmt: skip
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.skipif(bool(CLUSTER), reason="the server is a cluster")
def test_a_home_uses_a_server_through_a_pooler(
    postgres: DatabaseServer, djinn: Djinn, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = postgres.create()
    try:
        with pooled(postgres.address(database)) as address:
            monkeypatch.setenv(URL, address.conninfo)
            home = Djinn(Home(djinn.home.root))
            assert home.sync.init().applied
            for number in range(30):
                home.facts.set(category="lamp", key=f"n{number}", value="green", shared=True)
            # Others of the pool use its connections in between.
            with closing(connect(address)) as other, other.transaction():
                other.execute("set local statement_timeout = 1234")
                assert home.sync.run().vaults[0].sent == 30
                assert other.execute("show statement_timeout").fetchone() == ("1234ms",)
            assert not home.sync.verify().drifts
            assert home.search(query="green lamp", backend="postgres").hits
            assert home.sync.backfill(all=True, batch=10).notes == 30
            assert home.sync.facts(query="green").facts
            home.close()
            with closing(connect(address)) as other:
                assert other.execute("show statement_timeout").fetchone() == ("0",)
    finally:
        postgres.drop(database)
