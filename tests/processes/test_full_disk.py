"""A disk that is full: one line, nothing torn, and the next run goes on."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.setup import init
from tests.indexing.vaults import fill
from tests.processes.commands import HANG, start, strays
from tests.processes.site import (
    Arguments,
    Kind,
    Site,
    checkpoint,
    complete,
    delete,
    describe,
    djinn_does,
    hold,
    index,
    ingest,
    promote,
    rebuild,
    remember,
    remove,
    reprocess,
    revise,
    setting,
    whole,
)
from tests.servers import ModelServer

pytestmark = pytest.mark.skipif(os.name != "posix", reason="has no limits")


def search(site: Site) -> Arguments:
    site.save()
    return "memory", "search", "kettle"


def first_index(site: Site) -> Arguments:
    for leftover in [*site.home.state.glob("index.db*"), *site.home.state.glob("embed*.db*")]:
        leftover.unlink()
    return ("index",)


def delete_known(site: Site) -> Arguments:
    arguments = delete(site)
    djinn_does(site, "index")
    return arguments


WRITERS = (index, rebuild, first_index, ingest, reprocess, delete_known, remove, setting, describe,
           remember, revise, checkpoint, hold, promote)  # fmt: skip


def made(root: Path, server: ModelServer, incoming: Path) -> Site:
    home, _ = init(root)
    home.edit((("embedding", "provider"), "hashing"), (("search", "sweep_ms"), 5000))
    fill(home.root / "vaults" / "shared", 40)
    incoming.mkdir()
    site = Site(home, incoming, server, random.Random(5))
    site.written |= {path.read_text() for path in site.shared.iterdir()}
    (site.me / "documents").mkdir()
    Djinn(home).index()
    djinn_does(site, "ingest", site.file("paper-0.txt"), site.file("paper-1.txt"))
    return site


def told(site: Site, arguments: Arguments, file_limit: int | None = None) -> int:
    """Run a command where the disk is full, which it must say in a line; its exit code."""
    process = start(site.home, *arguments, file_limit=file_limit)
    out, err = process.communicate(timeout=HANG)
    lines = err.strip().splitlines()
    assert "Traceback" not in err, (arguments, err)
    assert process.returncode in (0, 1, 5), (arguments, out, err)
    if process.returncode == 5:
        # One line, behind those of files that had failed before the rest was given up.
        assert all(line.startswith("failed: ") for line in lines[:-1]), (arguments, err)
        assert lines[-1].startswith("error: "), (arguments, err)
    if process.returncode == 1:
        assert lines, arguments
        assert all(line.startswith(("failed: ", "warning: ")) for line in lines), (arguments, err)
    whole(site)
    return process.returncode


def squeeze(site: Site, kinds: Sequence[Kind], told: Callable[[Arguments], int]) -> None:
    """Run each command where there is no room, and then where there is."""
    failed = 0
    for kind in kinds:
        arguments = kind(site)
        failed += told(arguments) > 0
        djinn_does(site, *arguments)
        whole(site)
        complete(site)
    print(f"{failed} of {len(kinds)} found no room")
    djinn_does(site, "index")
    assert strays(site.home) == []


@pytest.mark.soak
def test_files_may_not_grow(tmp_path: Path, server: ModelServer) -> None:
    site = made(tmp_path / "home", server, tmp_path / "incoming")
    limits = cycle((0, 20, 300))
    squeeze(site, WRITERS, lambda arguments: told(site, arguments, next(limits) * 1024))


@pytest.mark.soak
@pytest.mark.parametrize("kilobytes", [0, 8, 60, 200, 400, 900])
def test_files_may_not_grow_beyond(tmp_path: Path, server: ModelServer, kilobytes: int) -> None:
    site = made(tmp_path / "home", server, tmp_path / "incoming")
    squeeze(site, WRITERS, lambda arguments: told(site, arguments, kilobytes * 1024))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 24 MB, where a test may make one."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.xfail("no disk may be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def crowded(site: Site, disk: Path, kilobytes: int, arguments: Arguments) -> int:
    """As `told`, with so much room on the disk."""
    ballast, room = disk / "ballast", os.statvfs(disk)
    ballast.write_bytes(b"\0" * max(0, room.f_bavail * room.f_frsize - kilobytes * 1024))
    try:
        return told(site, arguments)
    finally:
        ballast.unlink()


@pytest.mark.soak
def test_the_disk_has_no_room(small_disk: Path, tmp_path: Path, server: ModelServer) -> None:
    site = made(small_disk / "home", server, tmp_path / "incoming")
    rooms = cycle((8, 60, 300))
    squeeze(site, (*WRITERS, search), lambda one: crowded(site, small_disk, next(rooms), one))


@pytest.mark.soak
@pytest.mark.parametrize("kilobytes", [0, 8, 60, 200, 400, 900])
def test_the_disk_has_room_for_so_much(
    small_disk: Path, tmp_path: Path, server: ModelServer, kilobytes: int
) -> None:
    site = made(small_disk / "home", server, tmp_path / "incoming")
    squeeze(site, (*WRITERS, search), lambda one: crowded(site, small_disk, kilobytes, one))
