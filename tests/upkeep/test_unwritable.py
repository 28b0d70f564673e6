"""Upkeep that cannot write, is killed, or runs twice at once: nothing half done, nothing twice."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import DjinnError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from djinn_memory.upkeep.registry import JOBS
from djinn_memory.upkeep.requests import MaintenanceReport
from tests.upkeep.chores import chores, content

pytestmark = pytest.mark.skipif(os.name != "posix", reason="mounts and kills")

RUN = """
import sys
from datetime import datetime
from pathlib import Path
from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home

now = datetime.fromisoformat(sys.argv[2])
Djinn(Home(Path(sys.argv[1])), clock=lambda: now).maintain()
"""

Chores = tuple[Path, datetime]


def made(root: Path) -> Chores:
    home, _ = init(root)
    home.edit((("embedding", "provider"), "hashing"))
    return root, chores(home)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Chores:
    return made(tmp_path_factory.mktemp("chores") / "home")


def maintain(root: Path, now: datetime) -> MaintenanceReport:
    with Djinn(Home(root), clock=lambda: now) as djinn:
        return djinn.maintain()


def settled(root: Path, now: datetime) -> dict[str, str]:
    """The notes when nothing is left to do, without ids and times of writing."""
    for _ in range(3):
        report = maintain(root, now)
        assert report.problems == ()
    assert report.deeds == ()
    with Djinn(Home(root), clock=lambda: now) as djinn:
        files = content(djinn)[0]
    return {path: _normal(data.decode()) for path, data in files.items()}


def _normal(text: str) -> str:
    text = re.sub(r"mem[_-][0-9a-z]{16}", "ID", text)
    return re.sub(r"(?m)^(updated|created|last_verified): .*$", r"\1: TIME", text)


@pytest.fixture(scope="module")
def undisturbed(template: Chores, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root, now = template
    return settled(shutil.copytree(root, tmp_path_factory.mktemp("once") / "home"), now)


def mount(*options: str) -> bool:
    return not subprocess.run(["mount", *options], capture_output=True, check=False).returncode


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 40 MB, where a test may make one."""
    place = tmp_path / "disk"
    place.mkdir()
    if not mount("-t", "tmpfs", "-o", "size=40m", "tmpfs", str(place)):
        pytest.xfail("no disk may be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_read_only_home_is_one_line_for_each_job(template: Chores, disk: Path) -> None:
    root, now = template
    home = shutil.copytree(root, disk / "home")
    before = {path: path.read_bytes() for path in disk.rglob("*") if path.is_file()}
    assert mount("-o", "remount,ro", str(disk))
    report = maintain(home, now)
    assert report.deeds == ()
    lines = [problem for problem in report.problems if problem.what.startswith("task ")]
    assert len({line.what for line in lines}) == len(lines) == len(JOBS)
    assert all("Read-only file system" in line.why for line in lines)
    assert before == {path: path.read_bytes() for path in disk.rglob("*") if path.is_file()}


@pytest.mark.soak
def test_two_runs_at_once_do_everything_once(
    template: Chores, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    root, now = template
    home = shutil.copytree(root, tmp_path / "home")
    with ThreadPoolExecutor(2) as pool:
        reports = [*pool.map(lambda _: maintain(home, now), range(2))]
    assert [report.problems for report in reports] == [(), ()]
    # What was reported by one was not done by the other.
    whats = [action.what for report in reports for action in report.deeds]
    assert len(whats) == len(set(whats))
    assert settled(home, now) == undisturbed


@pytest.mark.soak
@pytest.mark.parametrize("kilobytes", [0, 8, 40, 100, 200, 400, 800, 1600])
def test_a_full_disk_delays_and_loses_nothing(
    template: Chores, undisturbed: dict[str, str], disk: Path, kilobytes: int
) -> None:
    root, now = template
    home = shutil.copytree(root, disk / "home")
    room = os.statvfs(disk)
    ballast = max(0, room.f_bavail * room.f_frsize - kilobytes * 1024)
    (disk / "ballast").write_bytes(b"\0" * ballast)
    try:
        report = maintain(home, now)
        print(kilobytes, len(report.deeds), report.problems)
    except DjinnError as error:
        print(kilobytes, error)
    (disk / "ballast").unlink()
    assert settled(home, now) == undisturbed


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(30))
def test_a_killed_run_is_completed_by_the_next(
    template: Chores, undisturbed: dict[str, str], tmp_path: Path, seed: int
) -> None:
    root, now = template
    home = shutil.copytree(root, tmp_path / "home")
    dice = random.Random(seed)
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", RUN, str(home), now.isoformat()])
        time.sleep(dice.uniform(0.3, 3))
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert settled(home, now) == undisturbed
