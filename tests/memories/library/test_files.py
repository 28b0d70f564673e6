import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from djinn_memory.documents.note import extension, stem
from djinn_memory.errors import Changed, OutsideVault, Refused
from djinn_memory.memories.library import files
from djinn_memory.models import Vault
from djinn_memory.notes.slugs import fold
from tests.examples import examples


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    (tmp_path / "vault").mkdir()
    return Vault("v", tmp_path / "vault", "id")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.pdf"
    path.write_bytes(b"%PDF-1")
    return path


def listed(vault: Vault) -> dict[str, bytes]:
    return {
        path.relative_to(vault.root).as_posix(): path.read_bytes()
        for path in sorted(vault.root.rglob("*"))
        if path.is_file() or path.is_symlink()
    }


HOSTILE = [
    "../../etc/passwd.pdf",
    "CON.pdf",
    ".pdf",
    "x" * 300 + ".pdf",
    "😀.pdf",
    "a\0b.pdf",
    "trailing....",
    "a.日本",
    "\udcff\ud800.pdf",
    "/",
    "..",
    "",
    "a\nb.pdf",
    "nul",
    "é.MD",
    "~/.ssh.pdf",
    "-rf.pdf",
    "a.tar.gz",
    "C:\\x.pdf",
    "\u202efdp.exe",
    "a.pdf.md",
]


@settings(
    max_examples=examples(50),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.sampled_from(HOSTILE) | st.text(max_size=20), max_size=4))
def test_documents_have_places_of_their_own_in_the_vault(
    vault: Vault, source: Path, names: list[str]
) -> None:
    before = {fold(name) for name in listed(vault)}
    for name in names:
        where = files.place(vault, stem(name), extension(name, "text/plain"), "copy")
        assert where.original
        files.put(vault, where, name.encode("utf-8", "replace"), source, "copy")
        for path in (where.note, where.original):
            assert fold(path) not in before
            before.add(fold(path))
            folder, base = path.split("/")
            assert folder == "documents"
            assert len(os.fsencode(base)) <= 130
            assert (
                base == base.strip(" .-")
                and base.isprintable()
                and not set(base) & set('<>:"\\|?*')
            )
        assert where.note.endswith(".md") and not where.original.lower().endswith(".md")
    assert {fold(name) for name in listed(vault)} == before


def test_a_place_is_free_for_both_files(vault: Vault) -> None:
    assert files.place(vault, "A b", ".pdf", "copy") == files.DocumentPlace(
        "documents/a-b.md", "documents/a-b.pdf"
    )
    folder = vault.root / "documents"
    folder.mkdir()
    (folder / "A-B.PDF").touch()
    (folder / "a-b-2.md").symlink_to("nowhere")
    assert files.place(vault, "A b", ".pdf", "copy").note == "documents/a-b-3.md"
    assert files.place(vault, "A b", ".pdf", "no") == files.DocumentPlace(
        "documents/a-b-3.md", None
    )
    assert files.place(vault, "A b", ".txt", "link").note == "documents/a-b.md"


def test_a_folder_that_leads_out_of_the_vault(vault: Vault, source: Path, tmp_path: Path) -> None:
    (vault.root / "documents").symlink_to(tmp_path)
    with pytest.raises(OutsideVault):
        files.place(vault, "a", ".pdf", "copy")
    with pytest.raises(OutsideVault):
        files.put(vault, files.DocumentPlace("documents/a.md", None), b"a", source, "no")


def test_originals_are_copied_linked_or_left(vault: Vault, source: Path) -> None:
    for keep in ("copy", "link", "no"):
        where = files.place(vault, keep, ".pdf", keep)
        files.put(vault, where, b"note", source, keep)
    folder = vault.root / "documents"
    assert sorted(path.name for path in folder.iterdir()) == [
        "copy.md",
        "copy.pdf",
        "link.md",
        "link.pdf",
        "no.md",
    ]
    assert (folder / "copy.pdf").read_bytes() == b"%PDF-1"
    assert not (folder / "copy.pdf").is_symlink()
    assert (folder / "link.pdf").readlink() == source
    # A link that is put again is replaced: what it leads to is the user's own file.
    other = source.with_name("other")
    other.write_bytes(b"other")
    files.put(
        vault,
        files.DocumentPlace("documents/link.md", "documents/link.pdf"),
        b"2",
        other,
        "copy",
        replaced=b"note",
    )
    assert (folder / "link.pdf").read_bytes() == b"other"
    assert source.read_bytes() == b"%PDF-1"


def test_a_read_only_vault_stays_as_it_is(vault: Vault, source: Path) -> None:
    closed = Vault("v", vault.root, "id", read_only=True)
    with pytest.raises(Refused):
        files.put(closed, files.DocumentPlace("documents/a.md", None), b"a", source, "no")
    assert not list(vault.root.iterdir())


NEW = files.DocumentPlace("documents/a.md", "documents/a.pdf")


def retire(vault: Vault, note: str, original: str | None, version: int) -> str:
    """Copy what is there into the history, as if another version were written in its place."""
    data = (vault.root / note).read_bytes()
    with files.retired(vault, note, data, original, version) as place:
        return place


def test_nothing_is_left_of_what_cannot_be_copied(vault: Vault, tmp_path: Path) -> None:
    for missing in (tmp_path / "gone", tmp_path):
        with pytest.raises(OSError):
            files.put(vault, NEW, b"note", missing, "copy")
        assert listed(vault) == {}


@pytest.mark.parametrize("in_the_way", ["a.md", "a.pdf"])
@pytest.mark.parametrize("keep", ["copy", "link"])
def test_nothing_is_left_where_a_folder_is_in_the_way(
    vault: Vault, source: Path, in_the_way: str, keep: files.Keep
) -> None:
    (vault.root / "documents" / in_the_way).mkdir(parents=True)
    with pytest.raises(OSError):
        files.put(vault, NEW, b"note", source, keep)
    assert listed(vault) == {}


FULL = """
import resource, sys, signal
from pathlib import Path
from djinn_memory.memories.library import files
from djinn_memory.models import Vault
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), -1))
where = files.DocumentPlace("documents/a.md", "documents/a.pdf")
try:
    root = Path(sys.argv[1])
    note = root / where.note
    was = note.read_bytes() if note.exists() else None
    vault = Vault("v", root, "id")
    files.put(vault, where, b"n" * 5000, Path(sys.argv[2]), "copy", replaced=was)
except OSError as error:
    sys.exit(f"full: {error.errno}")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits")
@pytest.mark.parametrize("room", [1000, 4000])
def test_a_disk_that_is_full_changes_nothing(vault: Vault, source: Path, room: int) -> None:
    """With 4,000 bytes the original can be copied, but not the note."""
    assert resource.RLIMIT_FSIZE
    source.write_bytes(b"n" * 3000)
    for before in ({}, {"documents/a.md": b"old", "documents/a.pdf": b"old original"}):
        for name, data in before.items():
            (vault.root / name).write_bytes(data)
        done = subprocess.run(
            [sys.executable, "-c", FULL, vault.root, source, str(room)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.stderr.startswith("full: 27"), done.stderr
        assert listed(vault) == before


def test_versions_lie_in_the_history(vault: Vault, source: Path) -> None:
    files.put(vault, NEW, b"one", source, "copy")
    assert retire(vault, NEW.note, NEW.original, 1) == "documents/.history/a.v1.md"
    # A run that was broken off here does the same again.
    assert retire(vault, NEW.note, NEW.original, 1) == "documents/.history/a.v1.md"
    source.write_bytes(b"%PDF-2")
    files.put(vault, NEW, b"two", source, "copy", replaced=b"one")
    retire(vault, NEW.note, NEW.original, 2)
    retire(vault, NEW.note, None, 10)
    assert listed(vault) == {
        "documents/a.md": b"two",
        "documents/a.pdf": b"%PDF-2",
        "documents/.history/a.v1.md": b"one",
        "documents/.history/a.v1.pdf": b"%PDF-1",
        "documents/.history/a.v2.md": b"two",
        "documents/.history/a.v2.pdf": b"%PDF-2",
        "documents/.history/a.v10.md": b"two",
    }


def test_the_history_overwrites_nothing(vault: Vault, source: Path) -> None:
    files.put(vault, NEW, b"one", source, "copy")
    retire(vault, NEW.note, NEW.original, 1)
    moved = vault.root / "moved" / "a.md"
    moved.parent.mkdir()
    moved.write_bytes(b"another")
    assert retire(vault, "moved/a.md", None, 1) == "documents/.history/a.v1-2.md"
    assert (vault.root / "documents/.history/a.v1.md").read_bytes() == b"one"


def test_a_link_is_retired_as_a_link(vault: Vault, source: Path) -> None:
    files.put(vault, NEW, b"one", source, "link")
    retire(vault, NEW.note, NEW.original, 1)
    assert (vault.root / "documents/.history/a.v1.pdf").readlink() == source
    with pytest.raises(FileNotFoundError):
        retire(vault, "documents/none.md", None, 1)


def test_a_version_that_is_not_replaced_leaves_no_history(vault: Vault, source: Path) -> None:
    files.put(vault, NEW, b"one", source, "copy")
    source.write_bytes(b"%PDF-2")
    (vault.root / NEW.note).write_bytes(b"an editor's")
    with (
        pytest.raises(Changed, match="was changed by another program"),
        files.retired(vault, NEW.note, b"one", NEW.original, 1),
    ):
        files.put(vault, NEW, b"two", source, "copy", replaced=b"one")
    assert listed(vault) == {"documents/a.md": b"an editor's", "documents/a.pdf": b"%PDF-1"}


@pytest.mark.parametrize("keep", ["copy", "link"])
def test_an_original_that_a_kill_left_alone_is_taken(
    vault: Vault, source: Path, keep: files.Keep
) -> None:
    files.put(vault, NEW, b"one", source, keep)
    (vault.root / NEW.note).unlink()
    other = source.with_name("other")
    other.write_bytes(b"%PDF-2")
    assert files.place(vault, "A", ".pdf", keep, other).note == "documents/a-2.md"
    where = files.place(vault, "A", ".pdf", keep, source)
    assert where == NEW
    files.put(vault, where, b"two", source, keep)
    assert listed(vault) == {"documents/a.md": b"two", "documents/a.pdf": b"%PDF-1"}


def test_a_file_that_came_meanwhile_is_not_overwritten(vault: Vault, source: Path) -> None:
    (vault.root / "documents").mkdir()
    for name in ("a.pdf", "a.md"):
        mine = vault.root / "documents" / name
        mine.write_bytes(b"mine")
        with pytest.raises(FileExistsError):
            files.put(vault, NEW, b"note", source, "copy")
        assert listed(vault) == {f"documents/{name}": b"mine"}
        mine.unlink()


def test_who_holds_bytes_now(vault: Vault) -> None:
    assert files.holder(vault, "x", 0, set()) is None
    folder = vault.root / "documents"
    folder.mkdir()
    os.mkfifo(folder / "0.md")
    (folder / "1.md").mkdir()
    (folder / "2.md").write_bytes(b"\xff\xfe\0binary")
    (folder / "3.md").write_text("---\nsha256: other\n---\n")
    (folder / "4.md").write_text("---\nsha256: x\n---\n" + "text" * 100_000)
    assert files.holder(vault, "x", 0, set()) == "documents/4.md"
    assert files.holder(vault, "x", 0, {"documents/4.md"}) is None
    os.utime(folder / "4.md", ns=(0, 10**18))
    assert files.holder(vault, "x", 10**18 + 2 * 10**9, set()) == "documents/4.md"
    assert files.holder(vault, "x", 10**18 + 4 * 10**9, set()) is None
