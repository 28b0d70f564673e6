"""Listens for commands of the same user, and runs each in the thread that serves the home.

`home.warm` is the other side, and explains what they say to each other.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Any

from djinn_memory.cli import INTERRUPTED
from djinn_memory.cli.warm.runs import Process, run
from djinn_memory.djinn import Djinn
from djinn_memory.errors import Busy, Unavailable
from djinn_memory.home import warm
from djinn_memory.home.home import Home
from djinn_memory.operations.caller import Caller, Calls
from djinn_memory.operations.wording import CommandWording
from djinn_memory.system.interrupts import ThreadRun
from djinn_memory.system.locks import lock

MOST_BYTES = 8_000_000
"""Bytes of a request. The arguments and the environment of a process are shorter."""

_PERSON = Caller(rights="person")


@contextmanager
def listening(home: Home, calls: Calls[Djinn]) -> Iterator[None]:
    """During the block, run commands of other processes, one after the other with `calls`.

    One process does this for a home. In a second one, or where the system lacks what it needs, the
    block just runs.
    """
    with ExitStack() as stack:
        with suppress(Busy, Unavailable, OSError):
            stack.enter_context(lock(home.state / "warm.lock", timeout=0))
            listener = stack.enter_context(_listener(home.state))
            threading.Thread(
                target=_accept, args=(listener, home, calls, Process()), name="warm", daemon=True
            ).start()
        yield


@contextmanager
def _listener(state: Path) -> Iterator[socket.socket]:
    """A socket in the state folder that only this user can reach."""
    if not hasattr(socket, "send_fds"):
        raise OSError("descriptors cannot be sent here")
    # Nobody else can enter this folder before the socket has its mode.
    folder, path = state / "warm.new", state / warm.SOCKET
    shutil.rmtree(folder, ignore_errors=True)
    with socket.socket(socket.AF_UNIX) as listener:
        folder.mkdir(mode=0o700)
        try:
            with warm.address(str(folder)) as place:
                listener.bind(place)
            (folder / warm.SOCKET).chmod(0o600)
            listener.listen(64)
            (folder / warm.SOCKET).replace(path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        try:
            yield listener
        finally:
            with suppress(OSError):
                path.unlink()
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)


def _accept(listener: socket.socket, home: Home, calls: Calls[Djinn], process: Process) -> None:
    while listener.fileno() >= 0:
        try:
            connection, _ = listener.accept()
        except OSError:
            # It was closed, or this process has no descriptor left.
            time.sleep(0.05)
            continue
        threading.Thread(
            target=_receive, args=(connection, home, calls, process), name="warm", daemon=True
        ).start()


def _receive(connection: socket.socket, home: Home, calls: Calls[Djinn], process: Process) -> None:
    """Read a request, and queue it. When it is dropped, its connection is closed."""
    # It is unreadable, its command is gone, or this process is ending.
    with suppress(OSError, ValueError, RuntimeError):
        connection.settimeout(warm.BEGIN_SECONDS)
        if not _from_same_user(connection):
            return
        data, descriptors, *_ = socket.recv_fds(connection, 1 << 16, 3)
        files = [FileIO(descriptor) for descriptor in descriptors]
        while not data.endswith(b"\n") and len(data) < MOST_BYTES:
            part = connection.recv(1 << 16)
            if not part:
                return
            data += part
        request = json.loads(data)
        if not process.fits(request, home):
            return
        connection.sendall(warm.READY)
        try:
            goes = connection.recv(1) == warm.GO
        except TimeoutError:
            goes = False
        if not goes:
            connection.sendall(warm.NOT_BEGUN)
            return
        turn = _Turn(connection)

        def serve(djinn: Djinn, _: Caller) -> None:
            # Its settings may have changed since.
            if process.fits(request, djinn.home):
                turn.take(djinn, request, files)

        reads = "remember" not in request.get("words", ())
        calls.begin(_PERSON, serve, CommandWording(), reads=reads)


class _Turn:
    """The place of a command in the queue. If it is dropped, the command does the work itself."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection: socket.socket | None = connection

    def take(self, djinn: Djinn, request: dict[str, Any], files: list[FileIO]) -> None:
        """Run the command."""
        connection, self._connection = self._connection, None
        with ExitStack() as stack, suppress(OSError):
            # A reader of the output waits until nobody has it open.
            for file in files:
                stack.enter_context(file)
            if connection:
                _serve(djinn, connection, request, files)

    def __del__(self) -> None:
        with suppress(OSError):
            if self._connection:
                self._connection.sendall(warm.NOT_BEGUN)


def _from_same_user(connection: socket.socket) -> bool:
    if not hasattr(socket, "SO_PEERCRED"):
        # The mode of the socket says it.
        return True
    peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return bool(struct.unpack("3i", peer)[1] == os.geteuid())


def _serve(
    djinn: Djinn, connection: socket.socket, request: dict[str, Any], files: list[FileIO]
) -> None:
    connection.settimeout(None)
    thread_run = ThreadRun()
    try:
        with thread_run.interruptible():
            threading.Thread(target=_hear, args=(connection, thread_run), daemon=True).start()
            answer = run(djinn, request, files)
    except KeyboardInterrupt:
        answer = {"code": INTERRUPTED}
    with connection:
        connection.sendall(json.dumps(answer).encode() + b"\n")
        connection.shutdown(socket.SHUT_RDWR)


def _hear(connection: socket.socket, thread_run: ThreadRun) -> None:
    """Interrupt the command when its user does. One that was killed is completed."""
    with suppress(OSError):
        if connection.recv(1) == warm.CANCEL:
            thread_run.interrupt()
