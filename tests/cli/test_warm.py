"""Commands in a process that keeps the home open: the same to the byte, and each write once."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from djinn_memory.cli import INTERRUPTION
from djinn_memory.djinn import Djinn
from djinn_memory.home import warm
from djinn_memory.home.home import Home
from djinn_memory.system.locks import lock
from tests.indexing.vaults import fill

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="has no such sockets")

DJINN = [sys.executable, "-m", "djinn_memory"]

BOUND = 60.0


class Watch:
    """A real `djinn watch`, whose lines are in a file."""

    def __init__(self, home: Home, **environment: str) -> None:
        self.home = home
        self.log = home.root.parent / f"{home.root.name}.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*DJINN, "--home", str(home.root), "watch", "--log"],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env={**os.environ, **environment},
            )  # fmt: skip
        until(lambda: "searchable" in self.log.read_text())
        until(lambda: warm.listens(str(home.state)))

    def end(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)
        self.process.wait(BOUND)


def until(holds: object) -> None:
    end = time.monotonic() + BOUND
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def filled(home: Home, shared: Path) -> Home:
    """An indexed home with some notes."""
    fill(shared, 6)
    (shared / "kettle.md").write_text("---\ntype: lesson\n---\n# Kettle\n\nThe kettle boils.\n")
    djinn = Djinn(home)
    djinn.index()
    djinn.close()
    return home


@pytest.fixture
def watch(filled: Home) -> Iterator[Watch]:
    """A watch of the filled home."""
    started = Watch(filled)
    yield started
    if started.process.poll() is None:
        started.process.send_signal(signal.SIGCONT)
        started.end(signal.SIGKILL)


def djinn(
    home: Home, *words: str | bytes, stdin: bytes = b"", **environment: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*DJINN, "--home", str(home.root), *words],
        input=stdin, capture_output=True, check=False, timeout=BOUND,
        env={**os.environ, **environment},
    )  # fmt: skip


def ran_there(done: subprocess.CompletedProcess[bytes]) -> bool:
    return b"running already" in done.stderr


def warmly(home: Home, *words: str, **environment: str) -> bool:
    """Whether a command runs in the other process."""
    done = subprocess.run(
        [*DJINN, "--timings", "--home", str(home.root), *words],
        capture_output=True, check=True, timeout=BOUND, env={**os.environ, **environment},
    )  # fmt: skip
    return ran_there(done)


def titles(home: Home, title: str) -> int:
    """The number of notes with a title."""
    return sum(
        f"title: {title}\n" in path.read_text() for path in (home.root / "vaults").rglob("*.md")
    )


VARIES = re.compile(
    rb"\b(rec|mem)_\w+|\d\d:\d\d:\d\d(\.\d+)?|\"(milliseconds|ms|seconds|tokens)\": [\d.]+"
    rb"|/[^ \"]*/(own|twin)\b|pytest-\d+"
)
"""What differs between two runs of the same command."""


def fixed(data: bytes) -> bytes:
    return VARIES.sub(b"*", data)


def files(home: Home) -> dict[str, bytes]:
    """The notes, without ids and times, and their modes."""
    return {
        f"{path.relative_to(home.root)} {path.stat().st_mode:o}": fixed(path.read_bytes())
        for path in sorted((home.root / "vaults").rglob("*.md"))
    }


COMMANDS: list[tuple[list[str | bytes], bytes]] = [
    (["search", "kettle"], b""),
    (["memory", "search", "kettle", "--json"], b""),
    (["search", "-"], b"kettle\n"),
    (["search", ""], b""),
    (["search", "kettle", "--nonsense"], b""),
    (["search", "kettle", "--mode", "words", "--limit", "1"], b""),
    (["recall", "kettle"], b""),
    (["recall", "kettle", "--json"], b""),
    (["recall", "kettle", "--profile", "nonsense"], b""),
    (["context", "boil the kettle"], b""),
    (["context", "boil the kettle", "--json"], b""),
    (["show", "Kettle"], b""),
    (["show", "kettle.md", "--json"], b""),
    (["show", "nothing"], b""),
    (["show", "nothing", "--json"], b""),
    (["show", b"caf\xe9"], b""),
    (["list"], b""),
    (["memory", "list", "--json"], b""),
    (["list", "--offset", "-1"], b""),
    (["remember", "lesson", "Kettles hiss", "They do."], b""),
    (["remember", "lesson", "Piped", "-", "--shared", "--json"], b"from a pipe\n"),
    (["remember", "lesson", "Piped", "-", "--shared"], b"another text\n"),
    (["remember", "lesson", "Binary", "-"], b"\xff\xfe\x00"),
    (["remember", "lesson", "Empty", "-"], b""),
    (["remember", "lesson", "Key", "the key is sk-ant-api03-" + "a1B2" * 20], b""),
    (["list"], b""),
]  # fmt: skip


@pytest.mark.parametrize("step", [6, pytest.param(1, marks=pytest.mark.soak)])
def test_a_command_is_the_same_to_the_byte(filled: Home, tmp_path: Path, step: int) -> None:
    twin = Home(Path(shutil.copytree(filled.root, tmp_path / "twin" / filled.root.name)))
    djinn(twin, "index")
    djinn(filled, "index")
    watch = Watch(filled)
    try:
        for words, stdin in COMMANDS[::step]:
            there, here = djinn(filled, *words, stdin=stdin), djinn(twin, *words, stdin=stdin)
            place = os.fsencode(twin.root), os.fsencode(filled.root)
            assert there.returncode == here.returncode, (words, there, here)
            # Notes of one second are listed in the order of their ids, which are drawn.
            order = sorted if "list" in words else list
            lines = fixed(here.stdout.replace(*place)).split(b"\n")
            assert order(fixed(there.stdout).split(b"\n")) == order(lines), words
            assert fixed(there.stderr) == fixed(here.stderr.replace(*place)), words
        assert files(filled) == files(twin)
        assert warmly(filled, "list")
        assert not warmly(twin, "list")
    finally:
        watch.end()
    assert not warm.listens(str(filled.state))
    assert "warning" not in watch.log.read_text()
    assert "kettle" not in watch.log.read_text()


def at_a_terminal(home: Home, *words: str) -> bytes:
    """What a command writes to a terminal of 50 columns."""
    code = (
        "import fcntl, os, struct, sys, termios; "
        "fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('4H', 20, 50, 0, 0)); "
        "os.execv(sys.executable, [sys.executable, '-m', 'djinn_memory', *sys.argv[1:]])"
    )
    parts: list[bytes] = []

    def read(descriptor: int) -> bytes:
        parts.append(os.read(descriptor, 1 << 16))
        return parts[-1]

    child, descriptor = pty.fork()
    if not child:
        os.environ["TERM"] = "xterm-256color"
        os.execv(sys.executable, [sys.executable, "-c", code, "--home", str(home.root), *words])
    try:
        while read(descriptor):
            pass
    except OSError:
        # The terminal is closed.
        pass
    os.waitpid(child, 0)
    os.close(descriptor)
    return fixed(b"".join(parts))


@pytest.mark.parametrize(
    "words",
    [["search", "kettle"], ["list"], ["show", "Kettle"], ["recall", "kettle", "--no-pager"],
     ["show", "Kettle", "--no-pager"], ["show", "Kettle"], ["recall", "kettle"]],
)  # fmt: skip
@pytest.mark.few(4)
@pytest.mark.parametrize("lines", [4, 500])
def test_a_command_at_a_terminal(
    watch: Watch, words: list[str], lines: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own process starts the pager."""
    pager = tmp_path / "pager"
    pager.write_text(f"#!/bin/sh\nps -o ppid= $PPID >> {tmp_path}/started\nexec cat\n")
    pager.chmod(0o755)
    monkeypatch.setenv("PAGER", str(pager))
    monkeypatch.setenv("LINES", str(lines))
    there = at_a_terminal(watch.home, "--timings", *words)
    assert b"which was running already" in b" ".join(there.split())
    watch.end()
    assert without_timings(there) == without_timings(at_a_terminal(watch.home, "--timings", *words))
    started = tmp_path / "started"
    pages = words[0] in ("show", "recall") and "--no-pager" not in words and lines == 4
    assert started.exists() == pages
    if pages:
        assert {int(line) for line in started.read_text().split()} == {os.getpid()}


def without_timings(shown: bytes) -> bytes:
    """What was shown before the line that `--timings` adds at the end."""
    return shown.rpartition(b"timings: ")[0]


class Relay:
    """Stands between a command and a real watch, and does something to the watch at a step."""

    def __init__(self, watch: Watch, at: str, act: Callable[[], None]) -> None:
        self.at, self.act = at, act
        self.place = watch.home.state / warm.SOCKET
        self.real = watch.home.state / "real.sock"
        self.place.rename(self.real)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.place))
        self.listener.listen()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def step(self, name: str) -> None:
        if name == self.at:
            self.act()

    def run(self) -> None:
        command, _ = self.listener.accept()
        process = socket.socket(socket.AF_UNIX)
        process.settimeout(BOUND)
        with command, process, contextlib.suppress(OSError):
            self.step("connected")
            process.connect(str(self.real))
            data, numbers, *_ = socket.recv_fds(command, 1 << 20, 3)
            self.step("asked")
            try:
                socket.send_fds(process, [data], numbers)
            finally:
                for number in numbers:
                    os.close(number)
            self.pass_on(process, command, "ready")
            # The process may have said that it does not begin.
            with contextlib.suppress(BrokenPipeError):
                self.pass_on(command, process, "go")
            self.step("begun")
            self.pass_on(process, command, "done")

    def pass_on(self, source: socket.socket, target: socket.socket, name: str) -> None:
        data = source.recv(1 << 16)
        if not data:
            raise OSError
        self.step(name)
        target.sendall(data)


STEPS = ("connected", "asked", "ready", "go", "begun", "done")


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
@pytest.mark.few(4)
def test_a_write_happens_once(watch: Watch, step: str, number: int) -> None:
    def act() -> None:
        watch.process.send_signal(number)
        if number == signal.SIGKILL:
            watch.process.wait(BOUND)
        else:
            late = threading.Timer(1, watch.process.send_signal, [signal.SIGCONT])
            late.start()

    relay = Relay(watch, step, act)
    done = djinn(watch.home, "remember", "lesson", "Moles", "They dig.")
    relay.thread.join(BOUND)
    relay.listener.close()
    if done.returncode:
        # It had begun, for all that the command knows.
        assert (done.returncode, number) == (5, signal.SIGKILL)
        assert b"look for it before you repeat the command" in done.stderr
        assert step in STEPS[STEPS.index("ready") :]
    time.sleep(1.5 if number == signal.SIGSTOP else 0)
    written = titles(watch.home, "Moles")
    assert written == 1 if done.returncode == 0 else written <= 1
    assert djinn(watch.home, "search", "Moles").returncode == 0


@pytest.mark.parametrize("step", ["ready", "go", "begun"])
@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
@pytest.mark.few(2)
def test_a_command_that_is_stopped(watch: Watch, step: str, number: int) -> None:
    commands: list[subprocess.Popen[bytes]] = []

    def act() -> None:
        commands[0].send_signal(number)
        if number == signal.SIGKILL:
            commands[0].wait(BOUND)
        else:
            threading.Timer(1, commands[0].send_signal, [signal.SIGCONT]).start()

    relay = Relay(watch, step, act)
    commands.append(
        subprocess.Popen(
            [*DJINN, "--home", str(watch.home.root), "remember", "lesson", "Moles", "They dig."],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    )
    relay.thread.join(BOUND)
    relay.listener.close()
    commands[0].communicate(timeout=BOUND)
    time.sleep(0.5)
    begun = step != "ready" or number == signal.SIGSTOP
    assert titles(watch.home, "Moles") == begun
    relay.place.unlink()
    relay.real.rename(relay.place)
    assert warmly(watch.home, "search", "Moles")


def test_ctrl_c_cancels_there(watch: Watch) -> None:
    home = watch.home
    with lock(home.state / "index.lock"), lock(home.state / "ledger.lock"):
        command = subprocess.Popen(
            [*DJINN, "--home", str(home.root), "remember", "lesson", "Moles", "They dig."],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        time.sleep(1)
        command.send_signal(signal.SIGINT)
        _, err = command.communicate(timeout=BOUND)
    assert (command.returncode, err.decode().splitlines()[-1:]) == (130, [INTERRUPTION])
    assert titles(home, "Moles") <= 1
    assert warmly(home, "search", "kettle")


@pytest.mark.parametrize(
    "environment",
    [{"TZ": "Asia/Tokyo"}, {"DJINN_SEARCH__LIMIT": "3"}, {"LC_ALL": "C"}, {"OPENAI_API_KEY": "k"}],
)
def test_another_environment_is_not_served(watch: Watch, environment: dict[str, str]) -> None:
    assert not warmly(watch.home, "search", "kettle", **environment)


def test_the_variables_of_a_terminal_are_its_own(watch: Watch) -> None:
    assert warmly(watch.home, "search", "kettle", COLUMNS="40", NO_COLOR="1", DJINN_SESSION="s")
    assert warmly(watch.home, "search", "kettle")


def test_what_is_not_served(watch: Watch, tmp_path: Path) -> None:
    state = str(watch.home.state)
    request = {"root": str(watch.home.root), "words": ["list"]}
    mask = os.umask(0o77)
    assert warm.ask(state, dict(request), (0, 1, 2)) is None
    os.umask(mask)
    assert warm.ask(state, {**request, "root": str(tmp_path)}, (0, 1, 2)) is None
    mark = warm.mark
    try:
        warm.mark = lambda: mark() + "x"
        assert warm.ask(state, dict(request), (0, 1, 2)) is None
    finally:
        warm.mark = mark
    with Path(os.devnull).open("w") as nowhere:
        descriptor = nowhere.fileno()
        assert warm.ask(state, dict(request), (0, descriptor, descriptor)) == {
            "code": 0,
            "pages": [],
        }


def test_a_socket_of_a_dead_process(watch: Watch) -> None:
    watch.end(signal.SIGKILL)
    assert warm.listens(str(watch.home.state))
    assert not warmly(watch.home, "search", "kettle")
    again = Watch(watch.home)
    assert warmly(watch.home, "search", "kettle")
    again.end()
    assert not warm.listens(str(watch.home.state))


def test_closed_stdout(watch: Watch) -> None:
    for redirect, code in ((">&-", 0), ("| true", 0), (">/dev/full", 5)):
        line = f"{sys.executable} -m djinn_memory --home {watch.home.root} list {redirect}"
        done = subprocess.run(["bash", "-c", line], capture_output=True, check=False)
        assert done.returncode == code, (redirect, done)
    assert warmly(watch.home, "list")


def test_a_long_path(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 40)
    shutil.copytree(home.root, folder)
    watch = Watch(Home(folder))
    assert warmly(watch.home, "list")
    watch.end()


def test_a_hook_is_answered_there(watch: Watch) -> None:
    event = {"hook_event_name": "SessionStart", "session_id": "s1", "cwd": "/", "source": "startup"}
    words = ["hook", "--client", "claude-code"]
    there = djinn(watch.home, *words, stdin=json.dumps(event).encode())
    watch.end()
    here = djinn(watch.home, *words, stdin=json.dumps(event).encode())
    assert (there.returncode, here.returncode) == (0, 0)
    assert bool(there.stdout) == bool(here.stdout)


@pytest.mark.soak
def test_sixteen_at_once(watch: Watch) -> None:
    for _ in range(3):
        running = []
        for number in range(16):
            title = f"Mole {number} {time.monotonic_ns()}"
            words = ["search", "kettle"]
            if number % 2:
                words = ["remember", "lesson", title, title, "--force"]
            process = subprocess.Popen(
                [*DJINN, "--home", str(watch.home.root), *words],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            running.append((process, title if number % 2 else ""))
        for process, title in running:
            _, err = process.communicate(timeout=BOUND)
            assert process.returncode == 0, err
            assert not title or titles(watch.home, title) == 1
