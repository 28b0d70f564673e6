"""The server inside a home: started on demand, shared by processes, stopped by the last."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from djinn_memory.errors import Refused, Unavailable
from djinn_memory.store.postgres.connection import ServerAddress, connect
from djinn_memory.store.postgres.embedded import EmbeddedServer
from tests.postgres import UNSAFE


def answers(server: EmbeddedServer) -> bool:
    try:
        with closing(connect(ServerAddress.of(server.conninfo()))) as connection:
            return connection.execute("select 1").fetchone() == (1,)
    except (Unavailable, psycopg.OperationalError):
        return False


def postmaster(server: EmbeddedServer) -> psutil.Process:
    lines = (server.folder / "postmaster.pid").read_text(encoding="utf-8").splitlines()
    return psutil.Process(int(lines[0]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data with a path that is too long for a socket, and hard to quote."""
    return tmp_path_factory.mktemp('it\'s, a "home"') / ("x" * 80) / "postgres"


@pytest.fixture
def server(folder: Path) -> Iterator[EmbeddedServer]:
    server = EmbeddedServer(folder, UNSAFE)
    server.start(create=True)
    yield server
    server.release()


def test_the_last_user_stops_the_server(server: EmbeddedServer) -> None:
    other = EmbeddedServer(server.folder)
    other.start()
    link = Path(str(conninfo_to_dict(other.conninfo())["host"]))
    server.release()
    assert answers(other)
    assert link.is_symlink()
    other.release()
    assert not link.parent.exists()
    assert not answers(other)


def test_a_killed_server_starts_again(server: EmbeddedServer) -> None:
    postmaster(server).kill()
    while answers(server):
        pass
    server.start()
    assert answers(server)


def test_a_server_whose_number_another_program_has_starts(server: EmbeddedServer) -> None:
    notice = server.folder / "postmaster.pid"
    lines = notice.read_text(encoding="utf-8").splitlines()
    server.release()
    with subprocess.Popen(["sleep", "600"]) as other:
        notice.write_text("\n".join([str(other.pid), *lines[1:]]), encoding="utf-8")
        server.start()
        other.kill()
    assert answers(server)


SCRIPT = """
import sys
from pathlib import Path
from djinn_memory.store.postgres import embedded
embedded.running(Path(sys.argv[1]))
print("started", flush=True)
sys.stdin.read()
"""


def test_the_server_of_a_killed_process_stops(server: EmbeddedServer) -> None:
    server.release()
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(server.folder)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout and process.stdout.readline() == "started\n"
        process.send_signal(signal.SIGKILL)
    until = time.monotonic() + 30
    while answers(server):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_the_data_of_another_version_is_refused(server: EmbeddedServer) -> None:
    server.release()
    version = server.folder / "PG_VERSION"
    version.write_text("17\n", encoding="ascii")
    try:
        with pytest.raises(Refused, match="was made by PostgreSQL 17, and this djinn runs 18"):
            server.start()
    finally:
        version.write_text("18\n", encoding="ascii")


def test_a_server_that_cannot_start_says_why(server: EmbeddedServer) -> None:
    server.release()
    broken = EmbeddedServer(server.folder, {"shared_buffers": "much"})
    with pytest.raises(Unavailable, match=r"does not start; look into .*server\.log \(.*much"):
        broken.start()
    broken.release()


def test_only_its_owner_can_enter_the_data(server: EmbeddedServer) -> None:
    assert server.folder.stat().st_mode & 0o077 == 0
    assert (postmaster(server).uids().real == 0) is False
    assert os.geteuid() in (0, postmaster(server).uids().real)
