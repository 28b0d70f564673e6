"""`djinn watch` as a user and a service manager meet it: a process, its lines, its end."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from djinn_memory.home.home import Home
from tests.conftest import Run
from tests.indexing.content import content
from tests.indexing.vaults import fill
from tests.processes.commands import fresh

Start = Callable[..., subprocess.Popen[str]]

BOUND = 60.0


@pytest.fixture
def start(home: Home) -> Iterator[Start]:
    """Start `djinn watch`; what is left of it in the end is killed."""
    running: list[subprocess.Popen[str]] = []

    def call(*arguments: str, **options: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "djinn_memory", "--home", str(home.root), "watch", *arguments],
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options},
        )  # type: ignore[call-overload]
        running.append(process)
        return process

    yield call
    for process in running:
        process.kill()
        process.communicate()


def read_until(process: subprocess.Popen[str], text: str) -> list[str]:
    """The lines up to the one that has `text`."""
    assert process.stdout
    lines = []
    for line in process.stdout:
        lines.append(line)
        if text in line:
            return lines
    raise AssertionError((lines, process.stderr and process.stderr.read()))


@pytest.mark.few(2)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_0(start: Start, shared: Path, number: signal.Signals) -> None:
    process = start("--log")
    read_until(process, "searchable")
    (shared / "a.md").write_text("kettle")
    lines = read_until(process, "1 new (a.md)")
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d shared: 1 new", lines[-1])
    process.send_signal(number)
    _, err = process.communicate(timeout=BOUND)
    assert process.returncode == 0
    assert err == ""


@pytest.mark.soak
def test_a_signal_ends_it_in_the_midst_of_work(start: Start, shared: Path, home: Home) -> None:
    fill(shared, 600)
    process = start("--log")
    read_until(process, "watching")
    time.sleep(1)
    process.terminate()
    process.communicate(timeout=BOUND)
    assert process.returncode == 0
    again = start("--log")
    lines = read_until(again, "600 notes searchable")
    assert not [line for line in lines if "warning" in line]


def test_a_signal_ends_it_while_a_server_does_not_answer(
    start: Start, home: Home, shared: Path
) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        home.edit(
            (("embedding", "provider"), "ollama"),
            (("embedding", "model"), "silent"),
            (("embedding", "url"), f"http://127.0.0.1:{server.getsockname()[1]}"),
        )
        home.trust(home.untrusted)
        (shared / "a.md").write_text("kettle")
        process = start("--log")
        server.accept()
        process.terminate()
        process.communicate(timeout=BOUND)
        assert process.returncode == 0


def test_a_second_one_is_told_who_is_there(start: Start, run: Run, home: Home) -> None:
    process = start("--log")
    read_until(process, "searchable")
    second = run("watch", home=home.root)
    assert second.returncode == 5
    assert f"process {process.pid} already watches" in second.stderr
    assert len(second.stderr.strip().splitlines()) == 1
    status = json.loads(run("status", "--json", home=home.root).stdout)
    assert status["watcher"] == process.pid
    process.kill()
    process.communicate()
    # A killed one leaves nothing behind that keeps the next from starting.
    assert json.loads(run("status", "--json", home=home.root).stdout)["watcher"] is None
    read_until(start("--log"), "searchable")


def test_json_is_an_object_a_line(start: Start, shared: Path) -> None:
    process = start("--json")
    read_until(process, '"idle"')
    (shared / "\x1b[31mred.md").write_text("---\ntitle: [\n---\nkettle")
    lines = read_until(process, '"warning"') + read_until(process, '"idle"')
    assert {json.loads(line)["schema"] for line in lines} == {"djinn.watch/1"}
    assert "\x1b" not in "".join(lines)


def test_a_person_sees_one_line(start: Start, shared: Path) -> None:
    ours, theirs = pty.openpty()
    process = start(stdout=theirs, stderr=theirs, stdin=theirs)
    os.close(theirs)
    shown = ""

    def see(text: str) -> None:
        nonlocal shown
        end = time.monotonic() + BOUND
        while text not in shown:
            assert time.monotonic() < end, shown
            shown += os.read(ours, 10_000).decode()

    see("watching shared, me, 0 notes searchable")
    (shared / "a.md").write_text("kettle")
    see("1 note searchable")
    process.send_signal(signal.SIGINT)
    with suppress(OSError):
        see("stopped watching shared, me")
    assert process.wait(BOUND) == 0
    assert "Traceback" not in shown
    os.close(ours)


def test_what_is_wrong_is_one_line(run: Run, home: Home, tmp_path: Path) -> None:
    for arguments, code, text in (
        (["--vault", "nobody"], 4, "no vault 'nobody'"),
        (["--bogus"], 2, "bogus"),
    ):
        done = run("watch", *arguments, home=home.root)
        assert done.returncode == code
        assert text in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
    assert run("watch", home=tmp_path / "nowhere").returncode == 4


@pytest.mark.skipif(sys.platform != "linux", reason="systemd is Linux's")
def test_a_service_is_installed(run: Run, home: Home, tmp_path: Path) -> None:
    config = tmp_path / "xdg"
    done = run("watch", "--install-service", home=home.root, XDG_CONFIG_HOME=str(config))
    assert done.returncode == 0, done.stderr
    [path] = config.rglob("*.service")
    assert done.stdout.splitlines()[0] == f"wrote {path}"
    assert f"systemctl --user enable --now {path.stem}" in done.stdout
    told = run("watch", "--install-service", "--json", home=home.root, XDG_CONFIG_HOME=str(config))
    assert json.loads(told.stdout)["path"] == str(path)
    command = re.search(r"ExecStart=(.*)", path.read_text())
    assert command
    words = [word.strip('"') for word in command[1].split('" "')]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    read_until(process, "searchable")
    process.terminate()
    assert process.wait(BOUND) == 0


@pytest.mark.soak
@pytest.mark.skipif(sys.platform != "linux", reason="prlimit is Linux's")
def test_a_disk_that_is_full_for_a_while(start: Start, shared: Path, home: Home) -> None:
    import resource

    process = start("--log")
    read_until(process, "searchable")
    _, most = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    # Python ignores the signal that comes with it, so this is the error of a full disk.
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (50_000, most))
    fill(shared, 60)
    assert "full or failing" in read_until(process, "warning")[-1]
    time.sleep(1)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most, most))
    lines = read_until(process, "60 notes searchable")
    assert not [line for line in lines if "warning" in line]
    process.terminate()
    process.wait(BOUND)
    assert content(home.index_path) == fresh(home)
