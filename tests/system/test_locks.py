import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from djinn_memory.errors import Busy, Unavailable
from djinn_memory.system.locks import is_locked, lock, lock_holder

HOLD = """
import sys
from pathlib import Path
from djinn_memory.system.locks import lock
with lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def hold(path: Path) -> subprocess.Popen[str]:
    """A process that holds the lock until its stdin closes or it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout and process.stdout.readline() == "held\n"
    return process


def test_a_lock_excludes_another_process(tmp_path: Path) -> None:
    path = tmp_path / "locks" / "vault.lock"
    holder = hold(path)
    with pytest.raises(Unavailable, match="another djinn process"), lock(path, timeout=0.1):
        pass
    holder.communicate("")
    with lock(path, timeout=5):
        pass


def test_a_killed_holder_leaves_no_lock(tmp_path: Path) -> None:
    holder = hold(tmp_path / "home.lock")
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with lock(tmp_path / "home.lock", timeout=0):
        pass


def test_a_failure_under_a_lock_releases_it(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), lock(tmp_path / "new" / "home.lock"):
        raise ZeroDivisionError
    with lock(tmp_path / "new" / "home.lock", timeout=0):
        pass


def test_a_lock_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "home.lock"):
        with pytest.raises(Unavailable, match=f"{path} cannot be locked"), lock(path, timeout=0):
            pass


def test_a_failure_of_the_work_is_not_the_locks(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), lock(tmp_path / "home.lock"):
        (tmp_path / "gone").read_bytes()


def test_a_lock_says_who_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "home.lock"
    assert lock_holder(path) is None
    process = hold(path)
    assert lock_holder(path) == process.pid
    assert is_locked(path)
    with pytest.raises(Busy, match=rf"\(pid {process.pid}\)"), lock(path, timeout=0.1):
        pass
    assert lock_holder(path) == process.pid
    process.communicate("")
    assert not is_locked(path)


def test_to_ask_who_holds_a_lock_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "some.lock"
    assert not is_locked(path)
    assert not path.exists()
    with lock(path):
        assert is_locked(path)
        assert lock_holder(path) == os.getpid()
    before = path.read_bytes(), path.stat().st_mtime_ns
    assert not is_locked(path)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
