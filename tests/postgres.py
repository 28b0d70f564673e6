"""A real PostgreSQL server for tests: one in each test process, with an empty database per test.

Every test module has these fixtures. `database` is the address of an empty, migrated database.

With the address of a Citus cluster in `DJINN_TEST_CITUS_URL`, all tests use that cluster instead:
each test has a schema of its own there, whose tables are distributed. Its role must be a superuser.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from djinn_memory.store.postgres import catalog, embedded, migrations
from djinn_memory.store.postgres.connection import ServerAddress, connect
from djinn_memory.store.postgres.embedded import as_owner
from djinn_memory.store.postgres.migrations import VectorModel
from tests import routing

PREFIX = "djinn-test-postgres-"
MODEL = VectorModel("test", 384, 1.0, 0.0)
UNSAFE = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off",
          "shared_buffers": "128MB"}  # fmt: skip
"""Settings that are faster and lose data when the machine fails."""

CLUSTER = os.environ.get("DJINN_TEST_CITUS_URL")
"""The database of a Citus cluster on which the tests run."""

_names = count(1)


def database_of(address: ServerAddress) -> str:
    """The name of a database, or of the schema of a cluster that stands for it."""
    parts = conninfo_to_dict(address.conninfo)
    schema = re.match(r"-c search_path=(\w+)", str(parts.get("options", "")))
    return schema[1] if schema else str(parts["dbname"])


class DatabaseServer:
    """A running server and its databases."""

    copies = True
    """Whether databases can be copied."""

    def __init__(self, server: embedded.EmbeddedServer) -> None:
        self.server = server
        self._templates: dict[VectorModel, str] = {}

    def address(self, database: str = embedded.DATABASE) -> ServerAddress:
        """The address of a database."""
        return ServerAddress.of(self.server.conninfo(database))

    def execute(self, statement: str) -> None:
        """Run a statement as the superuser, outside a transaction."""
        routing.release()
        with closing(connect(self.address())) as connection:
            connection.execute(statement.encode())

    def create(self, template: str = "template0") -> str:
        """Create a database, and return its name."""
        name = f"test_{next(_names)}"
        self.execute(f"create database {name} template {template} strategy file_copy")
        return name

    def copy(self, address: ServerAddress) -> ServerAddress:
        """The address of a new database, which is equal to the one at `address`.

        Skips the test on a cluster, whose databases cannot be copied.
        """
        return self.address(self.create(database_of(address)))

    def drop(self, database: str) -> None:
        """Drop a database, whoever uses it."""
        self.execute(f"drop database if exists {database} with (force)")

    @contextmanager
    def migrated(self, model: VectorModel = MODEL) -> Iterator[ServerAddress]:
        """An empty database with djinn's tables, which is dropped afterwards."""
        if model not in self._templates:
            template = self.create()
            address = self.address(template)
            with closing(connect(address)) as connection:
                migrations.migrate(connection, address, model)
            self._templates[model] = template
        name = self.create(self._templates[model])
        try:
            yield self.address(name)
        finally:
            self.drop(name)


class ClusterServer(DatabaseServer):
    """A Citus cluster. A schema stands for a database."""

    copies = False

    def __init__(self, url: str) -> None:
        self._url = url
        for extension in ("vector", "pg_trgm"):
            with suppress(psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedFile):
                self.execute(f"create extension if not exists {extension} schema public")

    @property
    def server(self) -> embedded.EmbeddedServer:  # type: ignore[override]
        pytest.skip("the files of a cluster cannot be changed")

    def address(self, database: str = "public") -> ServerAddress:
        # The coordinator resolves the names of tables. Few shards are made faster.
        options = f"-c search_path={database},public -c citus.shard_count=4"
        return ServerAddress.of(make_conninfo(self._url, options=options))

    def create(self, template: str = "") -> str:
        name = f"test_{os.getpid()}_{next(_names)}"
        self.execute(f"create schema {name}")
        return name

    def copy(self, address: ServerAddress) -> ServerAddress:
        pytest.skip("the schemas of a cluster cannot be copied")

    def drop(self, database: str) -> None:
        self.execute(f"drop schema if exists {database} cascade")

    @contextmanager
    def migrated(self, model: VectorModel = MODEL) -> Iterator[ServerAddress]:
        name = self.create()
        address = self.address(name)
        try:
            with closing(connect(address)) as connection:
                migrations.migrate(connection, address, model)
                with connection.transaction(), connection.cursor() as cursor:
                    catalog.distribute(cursor, address)
            yield address
        finally:
            self.drop(name)


def temporary() -> str:
    """The folder for temporary files of tests."""
    return os.environ.get("PYTEST_DEBUG_TEMPROOT") or tempfile.gettempdir()


@contextmanager
def running() -> Iterator[DatabaseServer]:
    """A server of its own, in a temporary folder; it ends with the block."""
    root = Path(tempfile.mkdtemp(prefix=PREFIX, dir=temporary()))
    server = embedded.EmbeddedServer(root / "data", UNSAFE)
    try:
        server.start(create=True)
        yield DatabaseServer(server)
    finally:
        server.release()
        shutil.rmtree(root, ignore_errors=True)


@contextmanager
def debian_server() -> Iterator[ServerAddress]:
    """A server of Debian's PostgreSQL packages, which have pg_trgm and no pgvector."""
    programs = max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)
    if programs is None:
        pytest.skip("no PostgreSQL of Debian here; apt-get install postgresql")
    root = Path(tempfile.mkdtemp(prefix=PREFIX, dir=temporary()))
    data = root / "data"
    data.mkdir(mode=0o700)
    if os.geteuid() == 0:
        os.chown(data, pwd.getpwnam("nobody").pw_uid, -1)

    def run(program: str, *arguments: str) -> None:
        command = [*as_owner(data), str(programs / program), "-D", str(data), *arguments]
        subprocess.run(command, check=True, cwd=data, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip

    try:
        run("initdb", "-U", "djinn", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
        run("pg_ctl", "-w", "-l", "server.log", "-o", "-k . -c fsync=off -c listen_addresses=''",
            "start")  # fmt: skip
        yield ServerAddress.of(
            make_conninfo(host=str(data), port=5432, user="djinn", dbname="postgres")
        )
    finally:
        with suppress(subprocess.CalledProcessError):
            run("pg_ctl", "-w", "-m", "immediate", "stop")
        shutil.rmtree(root, ignore_errors=True)


def release_all() -> None:
    """Release every embedded server that this process uses."""
    while embedded._servers:
        embedded._servers.popitem()[1].release()


def stop_abandoned(folder: Path) -> bool:
    """Stop a server that no process uses, for example because its user was killed.

    Returns whether none runs now.
    """
    server = embedded.EmbeddedServer(folder)
    server._usage = embedded._usage(folder)
    server.release()
    return not server.accepts()


def _remove_abandoned() -> None:
    """Stop the servers of test processes that were killed."""
    for root in Path(temporary()).glob(f"{PREFIX}*"):
        if (root / "data.in-use").exists() and stop_abandoned(root / "data"):
            shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[DatabaseServer]:
    """The server of this test process. Statements of djinn must name their scope."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("psycopg.connection.Cursor", routing.RoutedCursor)
        if CLUSTER:
            yield ClusterServer(CLUSTER)
            return
        _remove_abandoned()
        with running() as databases:
            yield databases


@pytest.fixture(autouse=True)
def _release_embedded() -> Iterator[None]:
    """Stop the servers inside homes that a test started."""
    yield
    release_all()


@pytest.fixture
def database(postgres: DatabaseServer) -> Iterator[ServerAddress]:
    """An empty database with djinn's tables, for vectors of 384 dimensions."""
    with postgres.migrated() as address:
        yield address
