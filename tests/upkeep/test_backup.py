"""A backup holds what cannot be made again, and a hostile archive changes nothing."""

from __future__ import annotations

import gzip
import io
import os
import random
import shutil
import tarfile
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import DjinnError, NotFound, Refused, Unavailable
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_vault, init
from djinn_memory.upkeep.archive import read_archive
from djinn_memory.upkeep.backups import restore_backup
from tests.conftest import Run


@pytest.fixture
def full(home: Home, tmp_path: Path) -> Djinn:
    """A home with something of everything, and an added vault elsewhere."""
    notes = tmp_path / "notes"
    (notes / ".obsidian").mkdir(parents=True)
    (notes / ".obsidian" / "app.json").write_text("{}")
    (notes / "Ünïcode 灯.md").write_text("# Lamp\n\nIt turns.\n")
    (notes / "picture.png").write_bytes(bytes(range(256)) * 300)
    (notes / "link.md").symlink_to(notes / "picture.png")
    add_vault(home, "notes", notes)
    djinn = Djinn(home)
    djinn.remember("lesson", "Harbour", "The lamp is at the pier.")
    djinn.working.set("branch", "fix-login", ttl=86_400)
    djinn.recall("lamp")
    djinn.rate("last", useful=[1, 2])
    os.utime(notes / "Ünïcode 灯.md", (1.7e9, 1.7e9))
    return djinn


@pytest.fixture
def archive(full: Djinn, tmp_path: Path) -> Path:
    return full.backups.create(tmp_path / "backup.tar.gz").file


def files(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def test_a_home_comes_back(full: Djinn, archive: Path, tmp_path: Path) -> None:
    restored = restore_backup(archive, tmp_path / "new")
    assert (restored.ledger, restored.working) == (True, True)
    vaults = tmp_path / "new" / "vaults"
    assert files(vaults / "notes") == files(tmp_path / "notes")
    assert files(vaults / "me") == files(full.home.root / "vaults" / "me")
    assert (vaults / "notes" / "Ünïcode 灯.md").stat().st_mtime == 1.7e9
    assert not (vaults / "notes" / "link.md").exists()
    again = Djinn(Home(restored.home))
    assert {vault.name: vault.id for vault in again.home.vaults} == {
        vault.name: vault.id for vault in full.home.vaults
    }
    assert again.working.get("branch").value == "fix-login"
    for title in ("Harbour", "Lamp"):
        [score] = again.scores.show(title).scores
        assert score.record.useful == 1
    assert [hit.title for hit in again.search("lamp turns").hits][:1] == ["Lamp"]
    for path in (again.home.ledger_path, vaults / "notes"):
        assert not path.stat().st_mode & 0o077


def test_only_some_vaults(full: Djinn, tmp_path: Path) -> None:
    written = full.backups.create(tmp_path / "some.tar.gz", ["shared", "me"])
    assert written.vaults == {"shared": 0, "me": 1}
    home = Home(restore_backup(written.file, tmp_path / "new").home)
    assert home.named(("notes",))[0].root == tmp_path / "notes"
    with pytest.raises(NotFound):
        full.backups.create(tmp_path / "none.tar.gz", ["nope"])


def test_what_is_left_out_is_said(full: Djinn, tmp_path: Path) -> None:
    written = full.backups.create(tmp_path / "notes" / "inside.tar.gz")
    [problem] = written.left_out
    assert (problem.what, written.problems) == ("notes/link.md", [])
    assert written.vaults["notes"] == 3
    assert not list((tmp_path / "notes").glob(".djinn-*"))


def test_no_file_is_written_over(full: Djinn, archive: Path, tmp_path: Path) -> None:
    before = archive.read_bytes()
    with pytest.raises(Refused, match="already exists"):
        full.backups.create(archive)
    assert archive.read_bytes() == before
    with pytest.raises(NotFound, match="does not exist"):
        full.backups.create(tmp_path / "no" / "b.tar.gz")
    with pytest.raises(Unavailable, match="bb cannot be written: File name too long; check"):
        full.backups.create(tmp_path / ("b" * 300))
    (tmp_path / "notes").rename(tmp_path / "away")
    with pytest.raises(NotFound, match="vault notes does not exist"):
        full.backups.create(tmp_path / "b.tar.gz")
    assert not list(tmp_path.glob(".djinn-*")) and not (tmp_path / "b.tar.gz").exists()


def test_a_state_folder_elsewhere_is_not_written(
    full: Djinn, tmp_path: Path, home_template: Path
) -> None:
    full.close()
    elsewhere = tmp_path / "state"
    full.home.state.rename(elsewhere)
    text = full.home.config_path.read_text()
    full.home.config_path.write_text(f"{text}\nstate_dir: {elsewhere}\n")
    moved = Djinn(Home(full.home.root))
    before = files(elsewhere)
    restored = restore_backup(moved.backups.create(tmp_path / "b.tar.gz").file, tmp_path / "new")
    assert {problem.what for problem in restored.problems} == {"state_dir", "notes"}
    assert Home(restored.home).state == restored.home / ".djinn"
    logs = ("-wal", "-shm")
    left = {name for name in files(elsewhere) if not name.endswith(logs)}
    assert left == {*before, "backups.json"}


def test_the_last_backups_are_kept(
    full: Djinn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    full.home.edit((("backup", "keep"), 2))
    begun, clock = datetime.now(UTC), iter(range(9))
    monkeypatch.setattr(full.runtime, "now", lambda: begun + timedelta(hours=next(clock)))
    named = full.backups.create(tmp_path / os.fsdecode(b"named\xff.tar.gz")).file
    first, second = (full.backups.create().file for _ in range(2))
    local = begun.astimezone() + timedelta(hours=1)
    folder = tmp_path / "user" / "djinn-backups"
    assert first == folder / f"{full.home.root.name}-{local:%Y-%m-%d-%H%M%S}.tar.gz"
    assert not folder.stat().st_mode & 0o077
    some = full.backups.create(vaults=["me"])
    assert some.deleted == []
    # Another program wrote into one of them, so it belongs to nobody here.
    second.write_bytes(b"mine")
    third = full.backups.create()
    fourth = full.backups.create()
    assert (third.deleted, fourth.deleted) == ([], [first])
    kept = {second, some.file, third.file, fourth.file}
    assert set(folder.iterdir()) == kept and named.is_file()
    [said] = [each for each in full.doctor().findings if each.part == "backup"]
    assert str(fourth.file) in said.what and said.severity == "ok"


def test_a_copied_home_deletes_no_backup_of_the_other(
    full: Djinn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    full.home.edit((("backup", "keep"), 1))
    first = full.backups.create().file
    shutil.copytree(full.home.root, tmp_path / "copy")
    copy = Djinn(Home(tmp_path / "copy"))
    assert copy.backups.create().deleted == [] and first.is_file()


@pytest.mark.parametrize("made", ["missing", "empty", "initialised"])
def test_an_empty_place_is_taken(archive: Path, tmp_path: Path, made: str) -> None:
    place = tmp_path / "new"
    if made == "empty":
        place.mkdir()
    elif made == "initialised":
        init(place, ("me",))[0].edit((("search", "limit"), 7))
    restored = restore_backup(archive, place)
    assert (place / "vaults" / "me" / "lessons" / "harbour.md").is_file()
    kept = place / "config.before-restore.yaml"
    assert ("limit: 7" in kept.read_text()) if made == "initialised" else not kept.exists()
    assert restored.home == place


@pytest.mark.parametrize("inside", ["note", "ledger", "file", "other"])
def test_nothing_is_written_over(archive: Path, tmp_path: Path, inside: str) -> None:
    place = tmp_path / "new"
    home, _ = init(place)
    if inside == "note":
        (place / "vaults" / "shared" / "a.md").write_text("# A\n")
    elif inside == "ledger":
        Djinn(home).gaps.report("who")
    elif inside == "file":
        (place / "a.txt").write_text("a")
    else:
        place = place / "config.yaml"
    before = files(tmp_path / "new")
    with pytest.raises(Refused, match="not empty"):
        restore_backup(archive, place)
    assert files(tmp_path / "new") == before


Change = Callable[[tarfile.TarInfo], None]


def rewritten(archive: Path, name: str, change: Change, data: bytes | None = None) -> None:
    """Change the entry `name` of an archive, and its bytes if `data` is given."""
    out = io.BytesIO()
    with tarfile.open(archive) as before, tarfile.open(fileobj=out, mode="w:gz") as after:
        for member in before:
            content = before.extractfile(member)
            assert content
            whole = content.read()
            if member.name == name:
                whole = whole if data is None else data
                change(member)
            if member.isreg():
                member.size = len(whole)
            after.addfile(member, io.BytesIO(whole) if member.isreg() else None)
    archive.write_bytes(out.getvalue())


NOTE = "vaults/me/lessons/harbour.md"


def named(path: str) -> Change:
    def change(member: tarfile.TarInfo) -> None:
        member.pax_headers = {}
        member.name = path

    return change


def linked(kind: bytes) -> Change:
    def change(member: tarfile.TarInfo) -> None:
        member.type, member.linkname = kind, "/etc/passwd"

    return change


HOSTILE: dict[str, Change] = {
    "absolute": named("/tmp/x"),
    "above": named("vaults/me/../../x"),
    "above at once": named("../x"),
    "own place": named(".djinn/index.db"),
    "hook": named("vaults/../.git/hooks/post-commit"),
    "no vault": named("vaults/x"),
    "hidden vault": named("vaults/.x/a.md"),
    "other vault": named("vaults/other/a.md"),
    "backslash": named("vaults/me/..\\..\\x"),
    "symbolic link": linked(tarfile.SYMTYPE),
    "hard link": linked(tarfile.LNKTYPE),
    "device": linked(tarfile.CHRTYPE),
    "fifo": linked(tarfile.FIFOTYPE),
    "folder": linked(tarfile.DIRTYPE),
    "twice": named("config.yaml"),
    "renamed": named("vaults/me/lessons/other.md"),
}


def refused(archive: Path, tmp_path: Path) -> str:
    """The one line with which an archive is refused; nothing is left of it."""
    around = {path for path in tmp_path.iterdir() if path.name != "new"}
    with pytest.raises(DjinnError) as caught:
        restore_backup(archive, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    assert set(tmp_path.iterdir()) == around
    line = str(caught.value)
    assert str(archive) in line and "\n" not in line and len(line) < 500
    return line


@pytest.mark.few(6)
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_name_leads_nowhere(archive: Path, tmp_path: Path, kind: str) -> None:
    rewritten(archive, NOTE, HOSTILE[kind])
    assert "not a complete djinn backup" in refused(archive, tmp_path)


def test_other_bytes_than_the_manifest_says(archive: Path, tmp_path: Path) -> None:
    rewritten(archive, NOTE, lambda _: None, b"# Another\n")
    assert "not match the manifest" in refused(archive, tmp_path)


@pytest.mark.soak
def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    archive = tmp_path / "bomb.tar.gz"
    zeros = b"\0" * (64 << 20)
    with tarfile.open(archive, "w:gz") as tar:
        for number in range(3):
            entry = tarfile.TarInfo(f"vaults/me/{number}")
            entry.size = len(zeros)
            tar.addfile(entry, io.BytesIO(zeros))
    assert "200 times as large" in refused(archive, tmp_path)
    entry = tarfile.TarInfo("././@PaxHeader")
    entry.type, entry.size = tarfile.XHDTYPE, 1 << 40
    with gzip.open(archive, "wb") as file:
        file.write(entry.tobuf(tarfile.GNU_FORMAT) + zeros)
    assert "too long" in refused(archive, tmp_path)


def test_a_truncated_archive(archive: Path, tmp_path: Path) -> None:
    whole = archive.read_bytes()
    for size in (0, 1, 9, 100, len(whole) // 2, len(whole) - 200, len(whole) - 1):
        archive.write_bytes(whole[:size])
        assert "not a complete djinn backup" in refused(archive, tmp_path)


def test_a_damaged_archive(archive: Path, tmp_path: Path) -> None:
    whole, chance = archive.read_bytes(), random.Random(9)
    content = gzip.decompress(whole)
    for _ in range(60):
        data = bytearray(whole)
        data[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        archive.write_bytes(data)
        # A bit that names another place of the same text, or means nothing, changes no file.
        if unpacked(bytes(data)) == content:
            read_archive(archive)
        else:
            refused(archive, tmp_path)


def unpacked(data: bytes) -> bytes | None:
    """The content of a compressed file, or None if it is damaged."""
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        return None


@pytest.mark.parametrize("data", [b"", b"not an archive", b"PK\x03\x04", os.urandom(5000)])
def test_no_archive(tmp_path: Path, data: bytes) -> None:
    archive = tmp_path / "x.tar.gz"
    archive.write_bytes(data)
    refused(archive, tmp_path)


def test_no_file(tmp_path: Path) -> None:
    assert "no file" in refused(tmp_path / "none.tar.gz", tmp_path)


def test_settings_that_are_none(full: Djinn, tmp_path: Path) -> None:
    full.home.config_path.write_text("vaults: 3\n")
    with pytest.raises(DjinnError):
        Djinn(Home(full.home.root)).backups.create(tmp_path / "b.tar.gz")


def test_the_commands(full: Djinn, run: Run, tmp_path: Path) -> None:
    root = full.home.root
    done = run("backup", "create", "b.tar.gz", "--json", home=root)
    assert done.returncode == 0, done.stderr
    done = run("--home", tmp_path / "new", "backup", "restore", "b.tar.gz")
    assert done.returncode == 0 and "restored " in done.stdout
