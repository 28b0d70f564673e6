"""The server inside a home runs as long as a watch does, whatever runs beside it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.store.postgres.embedded import EmbeddedServer
from djinn_memory.store.postgres.servers import server_address
from tests.conftest import Run
from tests.postgres import release_all, stop_abandoned
from tests.processes.commands import start
from tests.watch.conftest import BOUND, watched


def until(happened: Callable[[], object]) -> None:
    end = time.monotonic() + BOUND
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.02)


def stopped(server: EmbeddedServer) -> bool:
    return not (server.folder / "postmaster.pid").exists()


def number(server: EmbeddedServer) -> str:
    """The number of its process; empty while it starts or if it does not run."""
    with suppress(OSError, IndexError):
        return (server.folder / "postmaster.pid").read_text(encoding="utf-8").split()[0]
    return ""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, home_template: Path) -> Home:
    """A home with a server inside and a note on it."""
    root = tmp_path_factory.mktemp("served")
    home = Home(Path(shutil.copytree(home_template, root / "home", symlinks=True)))
    with closing(Djinn(home)) as djinn:
        djinn.sync.init(embedded=True)
        djinn.remember("lesson", "Harbour lamp", "It is green.", shared=True)
        djinn.sync.run()
    return home


@pytest.fixture
def home(served: Home) -> Iterator[Home]:
    """That home, whose server does not run."""
    release_all()
    before = served.config_path.read_bytes()
    home = Home(served.root)
    home.trust(home.untrusted)
    yield Home(home.root)
    served.config_path.write_bytes(before)
    stop_abandoned(home.state / "postgres")


@pytest.fixture
def server(home: Home) -> EmbeddedServer:
    server = EmbeddedServer(home.state / "postgres")
    assert stopped(server)
    return server


@pytest.mark.few(2)
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("command", ["watch --log", "sync run --watch"])
def test_it_runs_as_long_as_a_watch(
    home: Home, server: EmbeddedServer, run: Run, command: str, end: signal.Signals
) -> None:
    watch = start(home, *command.split())
    try:
        until(server.accepts)
        first = number(server)
        for beside in ("sync status", "search lamp --backend postgres", "sync status"):
            done = run(*beside.split(), home=home.root)
            assert done.returncode == 0, done.stderr
            release_all()
            assert server.accepts() and number(server) == first
        watch.send_signal(end)
        watch.communicate(timeout=BOUND)
    finally:
        watch.kill()
    until(lambda: stopped(server))


def test_a_command_beside_it_keeps_the_server_after_it(home: Home, server: EmbeddedServer) -> None:
    with watched(home):
        until(server.accepts)
        server_address(home)
        first = number(server)
    assert server.accepts() and number(server) == first
    release_all()
    assert stopped(server)


def test_it_starts_again_after_a_crash_and_follows_the_settings(
    home: Home, server: EmbeddedServer
) -> None:
    home.edit((("watch", "poll_seconds"), 0.2))
    with watched(home) as watching:
        until(server.accepts)
        first = number(server)
        os.kill(int(first), signal.SIGKILL)
        until(lambda: number(server) not in ("", first) and server.accepts())
        home.edit((("sync", "url"), None))
        until(lambda: stopped(server))
    assert watching.of("warning") == []


def test_a_watch_goes_on_without_a_server(home: Home, server: EmbeddedServer) -> None:
    away = server.folder.rename(server.folder.with_name("away"))
    try:
        with watched(home) as watching:
            watching.until(lambda: watching.of("warning"))
            [warning] = watching.of("warning")
            assert "is not there" in warning
            (home.shared.root / "kettle.md").write_text("kettle")
            watching.until(lambda: "kettle.md" in watching.notes())
        assert not server.folder.exists()
    finally:
        away.rename(server.folder)


def test_a_server_stops_whose_user_was_killed_while_it_started(
    home: Home, server: EmbeddedServer
) -> None:
    process = start(home, "sync", "status")
    until(lambda: not stopped(server))
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    time.sleep(0.3)
    until(lambda: stopped(server) and not server.accepts())


def test_users_do_not_stop_each_others_server(home: Home, server: EmbeddedServer) -> None:
    """Processes that come and go at random, each with a server that answers all the while."""
    code = (
        "import random, sys, time; from pathlib import Path\n"
        "import psycopg\n"
        "from djinn_memory.store.postgres.embedded import EmbeddedServer\n"
        "server = EmbeddedServer(Path(sys.argv[1]))\n"
        "for _ in range(4):\n"
        "    server.start()\n"
        "    with psycopg.connect(server.conninfo()) as connection:\n"
        "        time.sleep(random.random() / 10)\n"
        "        connection.execute('select 1')\n"
        "    server.release()\n"
        "    time.sleep(random.random() / 20)\n"
    )
    users = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(server.folder)], stderr=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    for user in users:
        _, err = user.communicate(timeout=120)
        assert user.returncode == 0, err
    until(lambda: stopped(server))
