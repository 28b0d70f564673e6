"""Commands that remove and bring back notes, while synchronization runs in another process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from djinn_memory.home.home import Home
from djinn_memory.store.postgres.connection import ServerAddress
from djinn_memory.store.postgres.servers import URL
from tests.indexing.vaults import fill
from tests.postgres import DatabaseServer
from tests.processes.commands import HANG, start
from tests.sync.homes import HASHING, SyncedHome

ROUNDS = 10
BUSY = 5
"""The exit code of a command that found the home in use."""


class Site:
    """Two homes that share a vault, and an agent in the first one."""

    def __init__(self, root: Path, template: Path, address: ServerAddress) -> None:
        self.homes = [
            SyncedHome(root / name, template, address).home for name in ("first", "second")
        ]
        self.dice = Random(3)
        self.secrets: list[str] = []
        fill(self.homes[0].root / "vaults" / "shared", 20)
        for home in self.homes:
            self.done(home, "sync", "init")
            self.done(home, "sync", "run")

    def done(self, home: Home, *arguments: str, code: tuple[int, ...] = (0,)) -> str:
        """Run a command to its end, which has one of these exit codes and no traceback."""
        process = start(home, *arguments)
        out, err = process.communicate(timeout=HANG)
        assert "Traceback" not in err, (arguments, err)
        assert process.returncode in code, (arguments, process.returncode, out, err)
        return out

    def beside(self, *arguments: str) -> None:
        """Run a command in the first home while it synchronizes; again, if that was busy."""
        running = start(self.homes[0], "sync", "run")
        time.sleep(self.dice.uniform(0, 1.5))
        process = start(self.homes[0], *arguments)
        out, err = process.communicate(timeout=HANG)
        _, told = running.communicate(timeout=HANG)
        assert "Traceback" not in err + told, (arguments, err, told)
        # A run that found notes in use names them, and leaves them to the next one.
        assert running.returncode in (0, 1, BUSY), (running.returncode, told)
        assert process.returncode in (0, BUSY), (arguments, process.returncode, out, err)
        if process.returncode == BUSY:
            self.done(self.homes[0], *arguments)

    def note(self, number: int) -> str:
        """A new note with a word of its own; its path."""
        word = f"verschwiegen{number}"
        path = f"note-{number}.md"
        text = f"# Note {number}\n\nThe {word} lies under the third stone of the pier.\n"
        (self.homes[0].root / "vaults" / "shared" / path).write_text(text)
        return path

    def settle(self) -> None:
        """Both homes run until they rest; then they are equal to each other and to the server."""
        for home in (*self.homes, *self.homes):
            self.done(home, "sync", "run")
        for home in self.homes:
            self.done(home, "sync", "verify")
        first, second = map(files, self.homes)
        assert first == second


def files(home: Home) -> dict[str, bytes]:
    """The notes of the shared vault."""
    root = home.root / "vaults" / "shared"
    return {
        file.name: file.read_bytes()
        for file in root.rglob("*")
        if file.is_file() and not any(part[0] == "." for part in file.relative_to(root).parts)
    }


@pytest.fixture
def site(
    tmp_path: Path, home_template: Path, postgres: DatabaseServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Site]:
    with postgres.migrated(HASHING) as address:
        monkeypatch.setenv(URL, address.conninfo)
        yield Site(tmp_path, home_template, address)


@pytest.mark.soak
def test_purge(site: Site) -> None:
    for number in range(ROUNDS):
        path = site.note(number)
        for home in site.homes[: site.dice.choice((0, 1, 2))]:
            site.done(home, "sync", "run")
        site.beside("memory", "purge", "--yes", path)
    site.settle()
    for home in site.homes:
        held = [
            p for p in home.root.rglob("*") if p.is_file() and b"verschwiegen" in p.read_bytes()
        ]
        assert held == []


@pytest.mark.soak
def test_delete_and_restore(site: Site) -> None:
    for number in range(ROUNDS):
        path = site.note(number)
        site.done(site.homes[0], "sync", "run")
        site.beside("memory", "delete", "--yes", f"shared:{path}")
        assert path not in files(site.homes[0])
        site.beside("memory", "restore", path)
        assert path in files(site.homes[0])
    site.settle()


@pytest.mark.soak
def test_undo(site: Site) -> None:
    path = site.homes[0].root / "vaults" / "shared" / "links.md"
    for number in range(ROUNDS):
        broken = f"# Links {number}\n\nSee [[target#it-turns]].\n\n"
        (path.parent / "target.md").write_text("# Target\n\n## It turns\n\ntext\n")
        path.write_text(broken)
        site.done(site.homes[0], "lint", "--fix", code=(0, 1))
        assert path.read_text() != broken
        site.beside("undo", "--yes")
        assert path.read_text() == broken
    site.settle()


@pytest.mark.soak
def test_remove_an_agent(site: Site) -> None:
    home = site.homes[0]
    for number in range(ROUNDS):
        agent = f"agent{number}"
        site.done(home, "agent", "add", agent)
        home.edit((("sync", "vaults"), ["shared", agent]))
        site.done(home, "remember", "fact", f"The stone {number}", "It lies under the pier.",
                  "--agent", agent)  # fmt: skip
        site.done(home, "sync", "init")
        site.beside("agent", "remove", "--yes", agent)
    site.settle()
