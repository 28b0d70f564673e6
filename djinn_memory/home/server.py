"""The process that serves a home over HTTP. There is at most one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from djinn_memory.home.home import Home
from djinn_memory.system import locks
from djinn_memory.system.locks import is_locked

PORT = 8770
"""The port of a server, unless the user chooses another."""


def address_of(home: Home) -> str:
    """The address at which this home is served now, else that of a server without options."""
    lock_path, place = _paths(home)
    if is_locked(lock_path):
        with suppress(OSError):
            return place.read_text("utf-8")
    return f"http://127.0.0.1:{PORT}/"


@contextmanager
def claim(home: Home) -> Iterator[Callable[[str], object]]:
    """Become the server of this home. Yields a function that stores the address.

    Raises `Busy` with the process and the address of any server that already is.
    """
    lock_path, place = _paths(home)

    def taken(holder: str) -> str:
        where = f"{home.root} at {address_of(home)}"
        return f"{holder} already serves {where}; use that server, or stop it first"

    with locks.claim(lock_path, taken):
        yield lambda address: place.write_text(address, "utf-8")
        with suppress(OSError):
            place.unlink()


def _paths(home: Home) -> tuple[Path, Path]:
    return home.state / "serve.lock", home.state / "serve.url"
