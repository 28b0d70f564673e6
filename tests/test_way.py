"""The way through the code from a command to its SQL or its file is short, and as documented."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from types import FrameType

import pytest

from djinn_memory.home.home import Home
from djinn_memory.store.postgres.connection import ServerAddress
from djinn_memory.store.postgres.servers import URL
from djinn_memory.system import files
from tests.conftest import Run
from tests.pages.fenced import ROOT
from tests.postgres import DatabaseServer
from tests.sync.homes import HASHING

PACKAGE = "djinn_memory."
GROUND = ("errors", "models", "system", "secrets", "home", "notes")
"""The packages that every other may use. They are no part of a way."""

COMMAND = "cli.command"
"""The module in which each way begins."""

Ways = list[list[str]]
IsEnd = Callable[[FrameType, str, object], bool]
"""Tells a call that ends a way, from a frame, the kind of an event and a called C function."""


@contextmanager
def ways_to(is_end: IsEnd) -> Iterator[Ways]:
    """The modules on the stack at each call that ends a way, without repeated neighbours."""
    ways: Ways = []

    def profile(frame: FrameType, event: str, called: object) -> None:
        if event in ("call", "c_call") and is_end(frame, event, called):
            ways.append(_way(frame))

    sys.setprofile(profile)
    try:
        yield ways
    finally:
        sys.setprofile(None)


def _way(frame: FrameType) -> list[str]:
    names = [name for name, _ in groupby(reversed([*_modules(frame)]))]
    return names[names.index(COMMAND) :]


def _modules(frame: FrameType | None) -> Iterator[str]:
    while frame:
        name = frame.f_globals.get("__name__", "")
        if name.startswith(PACKAGE) and name.split(".")[1] not in GROUND:
            yield name.removeprefix(PACKAGE)
        frame = frame.f_back


def searches_words(frame: FrameType, event: str, called: object) -> bool:
    """Whether SQLite runs a statement that finds chunks by their words."""
    runs = event == "c_call" and getattr(called, "__qualname__", "") == "Connection.execute"
    return runs and any("bm25(" in text for text in frame.f_locals.values() if type(text) is str)


def creates_note(frame: FrameType, event: str, called: object) -> bool:
    """Whether the file of a note is created."""
    return frame.f_code is files.create.__code__ and frame.f_locals["path"].suffix == ".md"


def sends_note(frame: FrameType, event: str, called: object) -> bool:
    """Whether a statement is sent that writes the rows of notes to a server."""
    psycopg = frame.f_globals.get("__name__", "").startswith("psycopg")
    copies = psycopg and frame.f_code.co_name == "copy" and event == "call"
    return copies and frame.f_locals["statement"].startswith(b"copy notes (")


@pytest.fixture
def address(postgres: DatabaseServer) -> Iterator[ServerAddress]:
    """An empty server for vectors of the home's model."""
    with postgres.migrated(HASHING) as address:
        yield address


def check(ways: Ways, hops: int) -> None:
    """Check that all ways are the same, and that it is short and documented."""
    assert ways
    [*way] = ways[0]
    print(" > ".join(way))
    assert all(other == way for other in ways), ways
    assert len(way) - 1 <= hops
    assert len({*way}) == len(way), "a module is entered twice"
    assert f"`{' > '.join(way)}`" in (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def test_the_way_of_a_search(home: Home, shared: Path, run: Run) -> None:
    (shared / "tides.md").write_text("# Tides\n\nThe harbour has two tides a day.\n")
    with ways_to(searches_words) as ways:
        done = run("search", "harbour tides", "--mode", "words", home=home.root)
    assert "Tides" in done.stdout, done
    check(ways, hops=6)


def test_the_way_of_a_remember(home: Home, run: Run) -> None:
    with ways_to(creates_note) as ways:
        done = run("remember", "decision", "Harbour lamp", "Two lamps after all.", home=home.root)
    assert done.returncode == 0, done
    check(ways, hops=7)


def test_the_way_of_a_note_to_the_server(
    home: Home, shared: Path, run: Run, address: ServerAddress
) -> None:
    (shared / "tides.md").write_text("# Tides\n\nThe harbour has two tides a day.\n")
    server = {URL: address.conninfo}
    assert run("sync", "init", home=home.root, **server).returncode == 0
    with ways_to(sends_note) as ways:
        done = run("sync", "run", home=home.root, **server)
    assert done.returncode == 0, done
    check(ways, hops=8)
