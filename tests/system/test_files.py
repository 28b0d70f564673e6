import itertools
import os
import stat
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.errors import Changed, OutsideVault
from djinn_memory.system import files
from djinn_memory.system.files import create, inside, replace, write_atomic
from tests.examples import examples


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


def test_a_write_that_fails_names_the_file(tmp_path: Path) -> None:
    for write in (write_atomic, create):
        with pytest.raises(FileNotFoundError) as failure:
            write(tmp_path / "missing" / "note.md", b"new")
        assert failure.value.filename == str(tmp_path / "missing" / "note.md")


def test_a_reader_never_sees_half(tmp_path: Path) -> None:
    file = tmp_path / "note.md"
    file.write_bytes(b"a" * 500_000)
    writer = (
        "import sys\nfrom pathlib import Path\nfrom djinn_memory.system.files import write_atomic\n"
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


def test_create_overwrites_nothing(tmp_path: Path) -> None:
    create(tmp_path / "note.md", b"one")
    with pytest.raises(FileExistsError):
        create(tmp_path / "note.md", b"two")
    (tmp_path / "link.md").symlink_to("nowhere")
    with pytest.raises(FileExistsError):
        create(tmp_path / "link.md", b"two")
    assert (tmp_path / "note.md").read_bytes() == b"one"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.md", "note.md"]


def test_of_many_who_create_one_does(tmp_path: Path) -> None:
    def attempt(number: int) -> int:
        try:
            create(tmp_path / "note.md", bytes([number]) * 1000)
        except FileExistsError:
            return 0
        return 1

    for _ in range(30):
        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(attempt, range(8))) == 1
        data = (tmp_path / "note.md").read_bytes()
        assert (len(data), len(set(data))) == (1000, 1)
        (tmp_path / "note.md").unlink()


def test_replace_writes_over_what_was_read_only(tmp_path: Path) -> None:
    note = tmp_path / "note.md"
    note.write_bytes(b"one")
    note.chmod(0o600)
    replace(note, b"two", b"one")
    assert note.read_bytes() == b"two"
    assert stat.S_IMODE(note.stat().st_mode) == 0o600
    (tmp_path / "link.md").symlink_to("note.md")
    replace(tmp_path / "link.md", b"three", b"two")
    assert (tmp_path / "link.md").is_symlink()
    with pytest.raises(Changed, match="was changed by another program"):
        replace(note, b"four", b"two")
    assert note.read_bytes() == b"three"
    note.unlink()
    with pytest.raises(Changed):
        replace(note, b"four", b"three")
    assert [path.name for path in tmp_path.iterdir()] == ["link.md"]


EDITS = """
import sys, time
from pathlib import Path
note, style = Path(sys.argv[1]), sys.argv[2]
for number in range(int(sys.argv[3])):
    text = f"{number}:" + "x" * 5000
    if style == "in place":
        note.write_text(text)
    else:
        note.with_name("note.swp").write_text(text)
        note.with_name("note.swp").replace(note)
    time.sleep(number % 7 * 0.0001)
    for _ in range(3):
        found = note.read_text()
        for _ in range(100):
            if found.startswith(f"{number}:"):
                break
            # Between an exchange and the one back the other's text may be seen, but not for long:
            # for as long as this machine lets nobody work on.
            time.sleep(0.05)
            found = note.read_text()
        if not found.startswith(f"{number}:"):
            sys.exit(f"{number} is lost: {found[:20]}")
"""


@pytest.mark.few(1)
@pytest.mark.skipif(sys.platform != "linux", reason="cannot exchange two files")
@pytest.mark.parametrize("style", ["in place", "rename"])
def test_what_an_editor_saves_at_the_worst_moment_stays(tmp_path: Path, style: str) -> None:
    note = tmp_path / "note.md"
    note.write_bytes(b"0:")
    saves = examples(1500, 0.3)
    editor = subprocess.Popen(
        [sys.executable, "-c", EDITS, str(note), style, str(saves)],
        stderr=subprocess.PIPE,
        text=True,
    )
    written = refused = 0
    while editor.poll() is None:
        was = note.read_bytes()
        if not was:
            continue
        try:
            replace(note, was + b"+", was)
            written += 1
        except Changed:
            refused += 1
    assert editor.communicate()[1] == ""
    assert written
    assert refused
    assert note.read_bytes().startswith(f"{saves - 1}:".encode())
    assert [path.name for path in tmp_path.iterdir()] == ["note.md"]


@pytest.mark.skipif(sys.platform != "linux", reason="cannot exchange two files")
def test_of_two_saves_at_the_worst_moment_the_later_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "note.md"
    note.write_bytes(b"one")
    swap = files._swap()
    assert swap
    saves = [b"two", b"three", b"four"]

    def save() -> None:
        if saves:
            (tmp_path / "note.swp").write_bytes(saves.pop(0))
            (tmp_path / "note.swp").replace(note)

    def meanwhile(one: Path, other: Path) -> None:
        save()
        swap(one, other)
        assert (again := next(times)) < 10, again
        save()

    times = itertools.count()
    monkeypatch.setattr(files, "_swap", lambda: meanwhile)
    with pytest.raises(Changed):
        replace(note, b"mine", b"one")
    assert note.read_bytes() == b"four"
    assert [path.name for path in tmp_path.iterdir()] == ["note.md"]


def test_what_a_kill_left_is_swept_by_the_next_who_writes_there(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom djinn_memory.system.files import create\n"
        "create(Path(sys.argv[1]), b'text')"
    )
    old, young = (f".djinn-{digit * 16}.tmp" for digit in "01")
    for name in (old, young, ".djinn-mine.tmp", "djinn.tmp"):
        (tmp_path / name).write_bytes(b"half")
    for name in (old, ".djinn-mine.tmp", "djinn.tmp"):
        os.utime(tmp_path / name, (1, 1))
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "note.md")], check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        young, ".djinn-mine.tmp", "djinn.tmp", "note.md",
    ]  # fmt: skip
