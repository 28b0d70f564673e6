import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.errors import OutsideVault, Unavailable
from djinn_memory.files import inside, lock, write_atomic

HOLD = """
import sys
from pathlib import Path
from djinn_memory.files import lock
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


@pytest.mark.parametrize("data", [b"", b"a\r\nb", b"\0" * 3_000_000])
def test_write_makes_and_replaces(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "note.md"
    for old in (None, b"old"):
        if old is not None:
            file.write_bytes(old)
        write_atomic(file, data)
        assert file.read_bytes() == data
    assert [path.name for path in tmp_path.iterdir()] == ["note.md"]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o440])
def test_write_keeps_the_mode(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "note.md"
    file.write_text("old")
    file.chmod(mode)
    write_atomic(file, b"new")
    assert stat.S_IMODE(file.stat().st_mode) == mode


def test_a_new_file_is_as_open_as_the_umask_says(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        write_atomic(tmp_path / "note.md", b"")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "note.md").stat().st_mode) == 0o640


def test_write_follows_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.md"
    link.symlink_to("real/note.md")
    write_atomic(link, b"new")
    assert link.is_symlink()
    assert (tmp_path / "real" / "note.md").read_bytes() == b"new"


def test_a_failed_write_leaves_the_old_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "folder.md").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_atomic(tmp_path / "folder.md", b"new")
    with pytest.raises(OSError, match="too long"):
        write_atomic(tmp_path / ("n" * 300), b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.md"]


def test_a_reader_never_sees_half(tmp_path: Path) -> None:
    file = tmp_path / "note.md"
    file.write_bytes(b"a" * 500_000)
    writer = (
        "import sys\nfrom pathlib import Path\nfrom djinn_memory.files import write_atomic\n"
        "print('go', flush=True)\nwhile True:\n"
        "    for byte in (b'a', b'b'):\n        write_atomic(Path(sys.argv[1]), byte * 500_000)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", writer, str(file)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout and process.stdout.readline()
    for _ in range(200):
        data = file.read_bytes()
        assert len(data) == 500_000
        assert len(set(data)) == 1
    process.kill()
    process.wait()
    assert len(set(file.read_bytes())) == 1


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


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    (root / "sub").mkdir(parents=True)
    (tmp_path / "vault-2").mkdir()
    (tmp_path / "secret.md").write_text("x")
    (root / "out").symlink_to(tmp_path)
    (root / "out.md").symlink_to("../secret.md")
    (root / "nowhere.md").symlink_to("/nowhere/at/all.md")
    (root / "circle").symlink_to("circle")
    (root / "in").symlink_to("sub")
    return root


@pytest.mark.parametrize(
    "path",
    ["..", "../secret.md", "sub/../../secret.md", "/etc/passwd", "out/secret.md", "out.md",
     "out/vault-2", "../vault-2/a.md", "nowhere.md", "in/../../secret.md", "a\0b"],
)  # fmt: skip
def test_no_way_leads_out(root: Path, path: str) -> None:
    with pytest.raises(OutsideVault):
        inside(root, path)


def test_links_in_a_circle_are_refused_or_lead_nowhere(root: Path) -> None:
    # Python 3.13 resolves them to themselves; to open that is an OSError.
    with pytest.raises((OutsideVault, OSError)):
        inside(root, "circle/a.md").read_bytes()


@pytest.mark.parametrize(
    "path", ["", ".", "a.md", "sub/a.md", "sub/../a.md", "in/a.md", "...", "é\n'\"-.md", "-rf"]
)
def test_ways_that_stay(root: Path, path: str) -> None:
    assert inside(root, path).is_relative_to(root)


def test_a_root_behind_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(root)
    assert inside(tmp_path / "linked", "a.md") == root / "a.md"
    assert inside(tmp_path / "linked", root / "a.md") == root / "a.md"


@given(st.lists(st.sampled_from(["..", ".", "a", "b", "/", "//", "~", "\\", "é", "\n"])))
def test_inside_is_inside(parts: list[str]) -> None:
    root = Path(tempfile.gettempdir()).resolve() / "djinn-no-such-vault"
    try:
        target = inside(root, "/".join(parts))
    except OutsideVault:
        return
    assert ".." not in target.parts
    assert target.parts[: len(root.parts)] == root.parts
