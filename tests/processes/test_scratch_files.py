"""Scratch files of killed processes: who writes next removes them, and doctor names them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_vault
from djinn_memory.store.state import SCRATCH_SECONDS
from tests.conftest import Run

KILLED = """
import os, signal, sys

def kill(event, arguments):
    moved = event in ("os.link", "os.rename") and str(arguments[0])
    if moved and (".djinn-" in moved or moved.endswith("/plan")) and "MOVED" in moved:
        os.kill(os.getpid(), signal.SIGKILL)

from djinn_memory.cli.start import main
sys.addaudithook(kill)
main()
"""
"""Kills itself before it moves a new file to its place below MOVED."""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="has no SIGKILL")


def killed(home: Home, *words: str, moved: str = "/vaults/") -> None:
    program = KILLED.replace("MOVED", moved)
    done = subprocess.run(
        [sys.executable, "-c", program, "--home", str(home.root), *words], check=False
    )
    assert done.returncode == -signal.SIGKILL


def left(folder: Path) -> list[Path]:
    return sorted(folder.rglob(".djinn-*"))


def write(djinn: Djinn) -> None:
    djinn.facts.set("anna", "city", "Rome")


def merge(djinn: Djinn) -> None:
    djinn.entities.merge("Rob", "Robert")


@pytest.mark.parametrize("then", [write, merge])
def test_the_next_that_writes_removes_what_a_killed_one_left(
    home: Home, run: Run, then: Callable[[Djinn], None]
) -> None:
    with Djinn(home) as djinn:
        djinn.entities.add("Robert", "person")
        djinn.entities.add("Rob", "person")
        killed(home, "fact", "set", "anna", "street", "Quay")
        [scratch] = left(home.root / "vaults")
        named = run("doctor", home=home.root)
        assert f"an interrupted process left {scratch.name}" in named.stdout
        # This process has written before.
        then(djinn)
    assert left(home.root / "vaults") == []
    assert "interrupted process" not in run("doctor", home=home.root).stdout


def test_doctor_removes_them_too(home: Home, run: Run) -> None:
    killed(home, "fact", "set", "anna", "street", "Quay")
    run("doctor", "--fix", home=home.root)
    assert left(home.root / "vaults") == []


def test_what_another_home_writes_into_an_added_vault_stays(home: Home, tmp_path: Path) -> None:
    """Each home has a lock of its own for a vault outside of it."""
    (tmp_path / "notes").mkdir()
    add_vault(home, "notes", tmp_path / "notes")
    home.reread()
    young = tmp_path / "notes" / ".djinn-0123456789abcdef.tmp"
    old = tmp_path / "notes" / ".djinn-fedcba9876543210.tmp"
    for path, age in ((young, 0.0), (old, SCRATCH_SECONDS + 1)):
        path.write_text("half")
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime - age))
    [vault] = [vault for vault in home.vaults if vault.name == "notes"]
    with Djinn(home) as djinn, djinn._state.vault_lock(vault):
        assert left(tmp_path / "notes") == [young]


def test_a_killed_change_leaves_nothing(home: Home) -> None:
    with Djinn(home) as djinn:
        djinn.entities.add("Robert", "person")
        djinn.entities.add("Rob", "person")
    killed(home, "entity", "merge", "Rob", "Robert", moved="/changes/")
    with Djinn(home) as djinn:
        merge(djinn)
    assert left(home.root) == []
