"""Has a process that keeps a home open do the work of a command: the side of the command.

The process runs the work at most once, and the command knows whether it began:

    command  a line of JSON, with descriptors
    process  READY   it can run this, and waits for GO, but no longer than the command did
    command  GO      from here on the command does not do the work itself,
    process  NOT_BEGUN  unless the process says this,
             or a line of JSON when it is done

Importing this module imports nothing else of weight, because every command does it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SOCKET = "warm.sock"
"""The name of the socket in the state folder of a home."""

BEGIN_SECONDS = 0.3
"""Seconds in which the process must be ready, and then get `GO`."""

READY, GO, CANCEL, NOT_BEGUN = b"r", b"g", b"c", b"\n"

_LONGEST = 100
"""The bytes of a path that every system accepts as the address of a socket."""


class ConnectionLostError(Exception):
    """The process ended, or is gone, after the work had begun."""


def listens(state: str) -> bool:
    """Whether a process of this user seems to listen in a state folder."""
    try:
        return os.stat(os.path.join(state, SOCKET)).st_uid == os.geteuid()
    except (OSError, AttributeError):
        return False


def mark() -> str:
    """Names this installation of djinn: a process of another one works differently."""
    package = sys.modules[__name__.partition(".")[0]]
    return f"{package.__version__} {package.__path__[0]} {sys.version}"


@contextmanager
def address(folder: str, name: str = SOCKET) -> Iterator[str]:
    """The address of a socket in a folder, whose path may be longer than a socket's address."""
    path = os.path.join(folder, name)
    if len(os.fsencode(path)) <= _LONGEST:
        yield path
        return
    # Where there is no such folder, the socket can be neither made nor reached.
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        yield f"/proc/self/fd/{descriptor}/{name}"
    finally:
        os.close(descriptor)


def ask(
    state: str,
    request: dict[str, Any],
    descriptors: tuple[int, ...] = (),
    seconds: float | None = None,
) -> dict[str, Any] | None:
    """Have the process do something and return its answer; None if it did not begin.

    Without `seconds` to wait, the first Ctrl-C cancels the work there. Raises
    `ConnectionLostError`, and `TimeoutError` after `seconds`.
    """
    import json
    import signal
    import socket

    umask = os.umask(0o077)
    os.umask(umask)
    request |= {"mark": mark(), "environment": dict(os.environ), "umask": umask}
    data = json.dumps(request).encode() + b"\n"
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(BEGIN_SECONDS)
        with address(state) as place:
            connection.connect(place)
        sent = socket.send_fds(connection, [data], descriptors) if descriptors else 0
        connection.sendall(data[sent:])
        if connection.recv(1) != READY:
            return None
        connection.sendall(GO)
    except OSError:
        return None
    connection.settimeout(seconds)
    if seconds is None:

        def cancel(*_: object) -> None:
            signal.signal(signal.SIGINT, before)
            with suppress(OSError):
                connection.sendall(CANCEL)

        before = signal.signal(signal.SIGINT, cancel)
    line = b""
    try:
        while not line.endswith(b"\n"):
            part = connection.recv(1 << 16)
            if not part:
                raise ConnectionLostError("the process that did the work has ended")
            line += part
    except TimeoutError:
        raise
    except OSError as error:
        raise ConnectionLostError(str(error)) from None
    if seconds is None:
        signal.signal(signal.SIGINT, before)
    answer: dict[str, Any] | None = None if line == NOT_BEGUN else json.loads(line)
    return answer
