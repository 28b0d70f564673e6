"""Which paths lead into a vault that an agent may not read, whatever is there."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from djinn_memory.home.hidden_paths import HiddenPaths
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_vault, init


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home of two agents, in whose vaults lie vaults of the other."""
    home, _ = init(tmp_path / "home", ("finn", "grace"))
    vaults = home.root / "vaults"
    (vaults / "grace" / "decisions" / "deep").mkdir(parents=True)
    (vaults / "grace" / "decisions" / "lamp.md").write_text("The lamp.\n")
    (vaults / "grace" / "out").symlink_to(vaults / "shared")
    (vaults / "finn" / "in").symlink_to(vaults / "grace")
    (vaults / "finn" / "deep").symlink_to(vaults / "grace" / "decisions")
    (vaults / "finn" / "through").symlink_to(vaults / "grace" / "out" / "note.md")
    (vaults / "finn" / "loop").symlink_to("loop")
    (vaults / "shared" / "note.md").write_text("A note.\n")
    for place, agent in (("grace/club", "finn"), ("shared/hers", "grace")):
        (vaults / place).mkdir()
        add_vault(home, place.partition("/")[2], vaults / place, agent=agent)
    return Home(home.root)


HIDDEN = [
    "grace", "grace/", "grace/decisions", "grace/decisions/lamp.md", "grace/decisions/lamp.md/",
    "grace/decisions/deep", "grace/decisions/lamp.md/x", "grace/nothing", "grace/nothing/x.md",
    "grace/.trash/x.md", "finn/../grace/decisions", "./grace/./decisions", "shared/hers",
    "shared/hers/x.md", "finn/in", "finn/in/decisions/lamp.md", "finn/in/nothing", "finn/deep",
    "finn/deep/nothing", "finn/deep/../club", "grace/decisions/../../shared/note.md",
    "grace/nothing/../../shared/note.md", "grace/out/note.md", "finn/through", "../.djinn",
    "../.djinn/index.db",
]  # fmt: skip
OPEN = [
    "", "shared", "shared/note.md", "shared/nothing", "finn", "finn/nothing", "grace/club",
    "grace/club/x.md", "finn/loop", "finn/loop/x", "gracelike", "nothing/grace", "../config.yaml",
    "/", "/no/such/folder", "shared/../finn", "shared/\0",
]  # fmt: skip


def test_a_path_into_a_hidden_vault_or_through_one(home: Home) -> None:
    for path in HIDDEN:
        assert home.root / "vaults" / path in HiddenPaths(home, "finn"), path


def test_a_path_to_what_is_read(home: Home) -> None:
    for path in OPEN:
        assert home.root / "vaults" / path not in HiddenPaths(home, "finn"), path


def test_each_agent_reads_its_own(home: Home) -> None:
    hides, vaults = HiddenPaths(home, "grace"), home.root / "vaults"
    for path in ("grace/decisions", "grace/nothing", "grace/out/note.md", "shared/hers"):
        assert vaults / path not in hides
    for path in ("finn", "finn/nothing", "finn/through", "grace/club", "grace/club/x.md"):
        assert vaults / path in hides


def test_an_agent_that_is_limited_to_domains_reads_no_file_of_a_vault(home: Home) -> None:
    home.edit((("access", "grace"), ["work"]))
    hides = HiddenPaths(Home(home.root), "grace")
    assert home.root / "vaults" / "shared" / "note.md" in hides
    assert home.root / "vaults" / "grace" / "decisions" in hides
    assert home.root / "elsewhere.md" not in hides


def test_a_relative_path(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home.root / "vaults" / "grace" / "decisions")
    hides = HiddenPaths(home, "finn")
    assert Path("lamp.md") in hides and Path("nothing") in hides and Path("../club/x.md") in hides
    monkeypatch.chdir(home.root / "vaults" / "finn")
    assert Path("../grace/nothing") in hides and Path("../shared/note.md") not in hides


def test_a_vault_that_was_added_by_another_name(home: Home, tmp_path: Path) -> None:
    shelf, link = tmp_path / "shelf", tmp_path / "link"
    shelf.mkdir()
    link.symlink_to(shelf)
    add_vault(home, "shelf", link, agent="grace")
    hides = HiddenPaths(Home(home.root), "finn")
    assert shelf / "nothing" in hides and link / "nothing" in hides


def test_a_vault_whose_folder_is_missing(home: Home, tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    add_vault(home, "shelf", shelf, agent="grace")
    shelf.rmdir()
    assert shelf / "x" in HiddenPaths(Home(home.root), "finn")


@pytest.fixture
def other_name(home: Home, tmp_path: Path) -> Iterator[Path]:
    """Another name of grace's vault, as one in another case is where case does not count."""
    place = tmp_path / "GRACE"
    place.mkdir()
    vault = home.root / "vaults" / "grace"
    bind = ["mount", "--bind", str(vault), str(place)]
    if os.name != "posix" or subprocess.run(bind, capture_output=True, check=False).returncode:
        pytest.xfail("nothing may be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_another_name_of_the_folder(home: Home, other_name: Path) -> None:
    hides = HiddenPaths(home, "finn")
    assert other_name / "decisions" in hides and other_name / "nothing" in hides
