"""A home whose disk is full: one line names the file, nothing is torn, and the next run goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Unavailable
from djinn_memory.home.home import Home
from djinn_memory.sync.verification import compare
from tests.indexing.vaults import fill
from tests.postgres import DatabaseServer
from tests.sync.homes import HASHING, SyncedHome, register

TEXT = "# Note\n\n" + "The lamp of the harbour is lit at dusk.\n" * 100


@pytest.fixture
def homes(
    tmp_path: Path, home_template: Path, postgres: DatabaseServer
) -> Iterator[tuple[SyncedHome, SyncedHome]]:
    with postgres.migrated(HASHING) as address:
        register(address)
        yield (
            SyncedHome(tmp_path / "anna", home_template, address),
            SyncedHome(tmp_path / "ben", home_template, address),
        )


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 8 MB, where a test may make one."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.xfail("no disk may be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill_up(disk: Path, kilobytes: int) -> None:
    """Leave so much room on a disk."""
    room = os.statvfs(disk)
    ballast = b"\0" * max(0, room.f_bavail * room.f_frsize - kilobytes * 1024)
    (disk / "ballast").write_bytes(ballast)


def move_vault(home: SyncedHome, place: Path) -> None:
    """Let the vault of a home be another folder."""
    shutil.move(home.root, place)
    home.root.symlink_to(place)
    home.home.edit((("vaults", "shared", "path"), str(place)))


@pytest.mark.soak
def test_a_vault_without_room_for_some_files(
    homes: tuple[SyncedHome, SyncedHome], small_disk: Path
) -> None:
    anna, ben = homes
    move_vault(ben, small_disk / "vault")
    anna.write("edited.md", "# Note\n")
    anna.write("both.md", "# Note\n")
    anna.sync()
    ben.sync()
    for name in ("a.md", "edited.md", "both.md", "b.md"):
        anna.write(name, TEXT * 20)
    anna.write("picture.png", "x" * 90_000)
    anna.write("small.md", "# Small\n")
    anna.write("deep/er/small.png", "small")
    anna.sync()
    own = TEXT.replace("dusk", "dawn") * 20
    ben.write("both.md", own)
    fill_up(small_disk, 40)
    for _ in range(2):
        result = ben.sync()
        assert result.waiting == ["a.md", "b.md", "both.md", "edited.md", "picture.png"]
        [problem] = ben.problems
        assert problem.what == "shared/both.md"
        assert problem.why == (
            "cannot be written: No space left on device; make room, then run the command again"
        )
        notes = ben.notes()
        assert sorted(notes) == ["both.md", "deep/er/small.png", "edited.md", "small.md"]
        assert (notes["both.md"], notes["edited.md"]) == (own.encode(), b"# Note\n")
        assert [*small_disk.rglob(".djinn-*")] == []
    (small_disk / "ballast").unlink()
    assert len(ben.sync().conflicts) == 1
    assert ben.problems == []
    anna.sync()
    assert ben.notes() == anna.notes()
    assert own.encode() in anna.notes().values()


@pytest.mark.few(1)
@pytest.mark.parametrize("kilobytes", [0, 100, 400])
def test_a_state_without_room(
    homes: tuple[SyncedHome, SyncedHome], small_disk: Path, kilobytes: int
) -> None:
    anna, ben = homes
    ben.home.edit((("state_dir",), str(small_disk / "state")))
    ben.home = Home(ben.home.root)
    ben.djinn = Djinn(ben.home)
    fill(anna.root, 5)
    anna.sync()
    ben.sync()
    for number in range(60):
        anna.write(f"new/{number}.md", f"{TEXT}\nword{number}\n")
    anna.sync()
    fill_up(small_disk, kilobytes)
    for _ in range(2):
        with pytest.raises(Unavailable, match=rf"^{small_disk}/state/\S+\.db cannot be ") as caught:
            ben.sync()
        assert "\n" not in str(caught.value)
        assert {data for path, data in ben.notes().items() if path in anna.notes()} <= {
            *anna.notes().values()
        }
    (small_disk / "ballast").unlink()
    ben.sync()
    assert ben.notes() == anna.notes()
    with ben.link() as link:
        assert compare(link)[1] == []
    assert not ben.sync().received
