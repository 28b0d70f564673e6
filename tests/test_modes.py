"""Whose files are: what djinn keeps for the user alone is open to nobody else, by any umask."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.setup import add_agent, add_vault, init
from djinn_memory.store.salvage import recover
from djinn_memory.system.files import create_private
from djinn_memory.upkeep.requests import DoctorFinding
from djinn_memory.watch.service import install
from tests.conftest import Run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")

BODY = "The lamp at the harbour is green. " * 8


@pytest.fixture(params=[0o000, 0o022], ids=["umask 000", "umask 022"])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes(root: Path) -> dict[str, int]:
    """The rights on everything at and below a folder."""
    paths = (root, *root.rglob("*"))
    return {str(path): stat.S_IMODE(path.lstat().st_mode) for path in paths}


def check(djinn: Djinn, umask: int) -> None:
    """The state and the private vaults are the user's alone; the shared vault is as open as can."""
    home = djinn.home
    for root in (home.state, *(vault.root for vault in home.vaults if vault.agent == vault.name)):
        wrong = {
            path: oct(mode)
            for path, mode in modes(root).items()
            if mode != (0o700 if Path(path).is_dir() else 0o600)
        }
        assert wrong == {}
    for folder in (home.root, home.shared.root.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    assert stat.S_IMODE(home.config_path.stat().st_mode) == 0o600
    for path, mode in modes(home.shared.root).items():
        assert mode == (0o777 if Path(path).is_dir() else 0o666) & ~umask, path


def _operations(djinn: Djinn, tmp_path: Path) -> Iterator[Callable[[], object]]:
    source = tmp_path / "report.txt"
    source.write_text(BODY)
    settings = {"agent": "grace"}
    yield lambda: djinn.remember("decision", "Lamp", BODY, **settings)
    yield lambda: djinn.remember("decision", "Lamp", BODY + "Red.", existing="revise", **settings)
    yield lambda: djinn.remember("lesson", "Shared lamp", "Ask first.", shared=True)
    yield lambda: djinn.facts.set("boat", "name", "Otter", **settings)
    yield lambda: djinn.facts.set("boat", "name", "Heron", **settings)
    yield lambda: djinn.facts.forget("name", "boat", **settings)
    yield lambda: djinn.working.set("tea", "green", short=True, **settings)
    for _ in range(3):
        yield lambda: djinn.working.get("tea", **settings)
    yield djinn.maintain
    yield lambda: djinn.summary.set("All is well.", **settings)
    yield lambda: djinn.summary.set("All is better.", **settings)
    yield lambda: djinn.wake("the harbour", **settings)
    yield lambda: djinn.context("the harbour", **settings)
    yield lambda: djinn.checkpoint("Half of it.", **settings)
    yield lambda: djinn.sleep("Done.", **settings)
    yield lambda: djinn.recall("lamp", **settings)
    yield lambda: djinn.gaps.report("Where is the key?", **settings)
    yield lambda: djinn.documents.ingest([source], vault="grace", **settings)
    source.write_text(BODY + "More.")
    yield lambda: djinn.documents.ingest([source], vault="grace", **settings)
    yield lambda: djinn.documents.remove("report", **settings)
    yield lambda: djinn.memories.delete("Lamp", **settings)
    yield lambda: djinn.index(rebuild=True)
    yield lambda: djinn.keys.add("laptop")
    yield lambda: recover(djinn.home.ledger_path)
    yield lambda: djinn.home.index_path.write_bytes(b"no database" * 1000)
    yield lambda: djinn.search("lamp", **settings)
    yield lambda: djinn.doctor(fix=True)
    yield lambda: install(djinn.home, system="darwin")


@pytest.mark.few(1)
def test_what_an_operation_makes_is_the_users_alone(
    tmp_path: Path, umask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    home, _ = init(tmp_path / "home", ("finn",))
    home.edit((("embedding", "provider"), "hashing"))
    add_agent(home, "grace")
    djinn = Djinn(home)
    check(djinn, umask)
    for operation in _operations(djinn, tmp_path):
        operation()
        check(djinn, umask)
    # The files beside a database exist while it is open.
    assert list(home.state.glob("*-wal")) and list(home.state.glob("*-shm"))
    djinn.close()
    check(djinn, umask)


def test_a_folder_that_was_added_stays_as_it_was(tmp_path: Path, umask: int) -> None:
    home, _ = init(tmp_path / "home", ("finn",))
    home.edit((("embedding", "provider"), "hashing"))
    folder = tmp_path / "notes"
    folder.mkdir(0o750)
    (folder / "a.md").write_text(BODY)
    (folder / "a.md").chmod(0o640)
    add_vault(home, "notes", folder, agent="finn")
    before = modes(folder)
    djinn = Djinn(home)
    (tmp_path / "lamp.txt").write_text(BODY)
    djinn.documents.ingest([tmp_path / "lamp.txt"], vault="notes")
    djinn.memories.delete("notes:a.md")
    after = modes(folder)
    assert after[str(folder)] == before[str(folder)] == 0o750 & ~umask
    assert after[str(folder / ".trash" / "a.md")] == 0o640
    assert after[str(folder / "documents" / "lamp.md")] == 0o666 & ~umask
    assert not [finding for finding in djinn.doctor().findings if "notes" in finding.what
                and finding.severity != "ok"]  # fmt: skip


def test_the_log_of_an_index_run_is_the_users_alone(tmp_path: Path, run: Run, umask: int) -> None:
    root = tmp_path / "home"
    assert run("init", root).returncode == 0
    assert run("config", "set", "embedding.provider", "hashing", home=root).returncode == 0
    assert run("index", "--background", home=root).returncode == 0
    assert stat.S_IMODE((root / ".djinn" / "index.log").stat().st_mode) == 0o600


def test_a_file_with_a_new_text_is_never_open_meanwhile(tmp_path: Path) -> None:
    from djinn_memory.system import files

    note = tmp_path / "a.md"
    note.write_text("a")
    note.chmod(0o600)
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        fchmod = os.fchmod
        patch.setattr(
            os, "fchmod", lambda fd, mode: (seen.append(os.fstat(fd).st_mode), fchmod(fd, mode))
        )
        files.replace(note, b"b", b"a")
    assert [stat.S_IMODE(mode) for mode in seen] == [0o600]


def test_doctor_closes_a_home_of_an_earlier_version(djinn: Djinn) -> None:
    djinn.remember("decision", "Lamp", BODY)
    home = djinn.home
    private = home.personal("me").root
    for root in (home.state, private):
        for path in (root, *root.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)

    def found() -> dict[str, DoctorFinding]:
        findings = djinn.doctor().findings
        return {finding.part: finding for finding in findings if finding.severity != "ok"}

    findings = found()
    for part, root in (("state", home.state), ("vault me", private)):
        assert findings[part].severity == "warning" and findings[part].fixable
        assert findings[part].remedy == f"chmod -R go-rwx {root}"
        root.chmod(0o700)
    # In a closed folder it is no more than a hint.
    findings = found()
    assert "changes" in findings["state"].what
    assert {findings[part].severity for part in ("state", "vault me")} == {"hint"}
    shared = modes(home.shared.root)
    mended = {finding.part for finding in djinn.doctor(fix=True).findings if finding.fixed}
    assert {"state", "vault me"} <= mended
    assert modes(home.shared.root) == shared
    check(djinn, 0o022)


def test_making_a_database_keeps_the_locks_on_one_that_exists(djinn: Djinn) -> None:
    fcntl = pytest.importorskip("fcntl")
    path = djinn.home.index_path
    djinn.remember("decision", "Lamp", BODY)
    take = f"import fcntl; fcntl.lockf(open({str(path)!r}, 'rb+'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    with path.open("rb+") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        create_private(path)
        taken = subprocess.run([sys.executable, "-c", take], capture_output=True, text=True)
    assert "BlockingIOError" in taken.stderr
