"""A disk that is full: one line, nothing torn, and the next run goes on."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Unavailable
from djinn_memory.home.home import Home
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
    extract,
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
           remember, revise, checkpoint, hold, promote, extract)  # fmt: skip


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
        # That a note is new is no fault, and what is written is acknowledged.
        remarks = ("there was no note ", "The note is saved but not indexed")
        lines = [line for line in lines if not line.startswith(remarks)]
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


def fill_up(disk: Path, kilobytes: int) -> None:
    """Leave so much room on a disk, beside a file `ballast`."""
    room = os.statvfs(disk)
    ballast = b"\0" * max(0, room.f_bavail * room.f_frsize - kilobytes * 1024)
    (disk / "ballast").write_bytes(ballast)


def crowded(site: Site, disk: Path, kilobytes: int, arguments: Arguments) -> int:
    """As `told`, with so much room on the disk."""
    fill_up(disk, kilobytes)
    try:
        return told(site, arguments)
    finally:
        (disk / "ballast").unlink()


QUESTIONS: tuple[Arguments, ...] = (
    ("memory", "search", "kettle"), ("recall", "kettle"), ("wake", "--task", "kettle"), ("wake",),
    ("context", "kettle"),
    ("memory", "show", "Kettle"), ("memory", "list"), ("memory", "stats"), ("status",),
    ("show", "Kettle", "--why"), ("gap", "list"), ("fact", "list"), ("document", "list"),
    ("session", "working", "list"),
)  # fmt: skip
"""What answers without room as on a disk that is only read from."""


def asked(root: Path) -> Home:
    """A home that was asked something before, with a note that the index has not read."""
    home, _ = init(root)
    home.edit((("embedding", "provider"), "hashing"))
    shared = home.root / "vaults" / "shared"
    (shared / "kettle.md").write_text("---\ntitle: Kettle\n---\nA kettle whistles.")
    with Djinn(home) as djinn:
        djinn.index()
        djinn.recall("kettle")
        djinn.rate(useful=[1], gap="Why it whistles.")
        djinn.working.set("pot", "a kettle")
    (shared / "new.md").write_text("A new kettle.")
    return home


def answers(home: Home, arguments: Arguments, file_limit: int | None = None) -> str:
    """What a question prints that is answered without room, with warnings at most."""
    process = start(home, *arguments, file_limit=file_limit)
    out, err = process.communicate(timeout=HANG)
    assert process.returncode == 0, (arguments, out, err)
    assert "Traceback" not in err, (arguments, err)
    assert not any(line.startswith("error") for line in err.splitlines()), (arguments, err)
    return out


def test_a_recall_needs_no_room(tmp_path: Path) -> None:
    home = asked(tmp_path / "home")
    assert "A kettle whistles." in answers(home, ("recall", "kettle"), file_limit=0)


@pytest.mark.soak
@pytest.mark.parametrize("kilobytes", [0, 8, 40, 80, 200])
def test_questions_need_no_room(small_disk: Path, kilobytes: int) -> None:
    home = asked(small_disk / "home")
    fill_up(small_disk, kilobytes)
    for arguments in QUESTIONS:
        out = answers(home, arguments)
        if "kettle" in arguments or "show" in arguments:
            assert "kettle" in out.lower(), (arguments, out)
    (small_disk / "ballast").unlink()
    with Djinn(home) as djinn:
        assert {hit.path for hit in djinn.search("kettle").hits} == {"kettle.md", "new.md"}
        assert djinn.scores.show("Kettle").scores[0].record.useful == 1


@pytest.mark.soak
def test_a_process_that_lives_on_writes_again_when_there_is_room(small_disk: Path) -> None:
    home = asked(small_disk / "home")
    for opened_before in (True, False):
        djinn = Djinn(home, resident=True)
        if opened_before:
            djinn.search("kettle")
        fill_up(small_disk, 0)
        answer = djinn.recall("kettle")
        assert answer.memories and answer.request_id is None
        parts = {problem.what for problem in answer.problems}
        assert parts <= {"index", str(home.index_path), "ledger"}
        with pytest.raises(Unavailable, match="disk is full"):
            djinn.rate(useful=[1])
        with pytest.raises(Unavailable, match=r"No space left .*; nothing was changed"):
            djinn.remember("lesson", "Lamp", "A lamp.")
        (small_disk / "ballast").unlink()
        assert djinn.recall("kettle").request_id
        assert djinn.rate(useful=[1]).judged
        djinn.close()
    assert djinn.remember("lesson", "Lamp", "A lamp.").searchable != "later"


DIES = """
import os, sys
from pathlib import Path
from djinn_memory.djinn import Djinn
djinn = Djinn.open(sys.argv[1])
Path(sys.argv[1], "vaults", "shared", "last.md").write_text("The last kettle.")
djinn.rate(useful=[1])
djinn.search("last")
os.kill(os.getpid(), 9)
"""


@pytest.mark.soak
@pytest.mark.parametrize("shared_memory", [True, False])
def test_what_a_killed_process_wrote_is_read_without_room(
    small_disk: Path, shared_memory: bool
) -> None:
    home = asked(small_disk / "home")
    subprocess.run([sys.executable, "-c", DIES, str(home.root)], check=False)
    assert (home.state / "ledger.db-wal").stat().st_size
    if not shared_memory:
        for path in home.state.glob("*-shm"):
            path.unlink()
    fill_up(small_disk, 0)
    out = answers(home, ("recall", "kettle"))
    assert "usage and ratings" in out
    assert "The last kettle." in out
    assert "warning" not in answers(home, ("gap", "list"))
    process = start(home, "doctor")
    out, _ = process.communicate(timeout=HANG)
    assert "looked at" not in out
    assert "damaged" not in out


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
