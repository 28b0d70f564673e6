"""Homes, their users and a server, whatever happens to them: what must hold in the end.

Every text that a user writes has a word of its own. A word may only vanish if a user removed it: by
deleting a file that held it, or by replacing its line. Every rating counts once in each home and on
the server.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import unicodedata
from contextlib import closing
from pathlib import Path
from random import Random

from djinn_memory.djinn import Djinn
from djinn_memory.store.postgres.connection import ServerAddress, connect
from djinn_memory.sync import events
from djinn_memory.sync.notes.files import BaseTexts, VaultFiles
from djinn_memory.sync.notes.names import path_key
from djinn_memory.sync.requests import VaultExchange
from djinn_memory.sync.run import exchange
from tests.postgres import DatabaseServer, database_of
from tests.sync.homes import SyncedHome

NAMES = (
    "a",
    "b",
    "A",
    "Ab",
    "\u00fc",
    "u\u0308",
    "folder/a",
    "folder/B",
    "Folder/c",
    "deep/er/x",
    "data.txt",
    "folder/Data.txt",
)
"""Few names, so that homes meet at them. Two differ by their Unicode form, others by case, and some
are of attachments."""

_COUNTS = (
    "select agent_id, memory_id, access_count, valuation_count, useful_count, not_useful_count "
    "from memory_scores order by agent_id, memory_id"
)
_WORD = re.compile(rb"word\d+")
YEAR = 31_557_600


def _file(name: str) -> str:
    return name if name.endswith(".txt") else f"{name}.md"


class FoldingFiles(VaultFiles):
    """The files of a vault on a file system that ignores case and the form of Unicode."""

    folds = True

    def _place(self, path: str) -> Path:
        return spelled(self.vault.root, super()._place(path).relative_to(self.vault.root.resolve()))

    def move(self, path: str, target: str) -> None:
        source = self._place(path)
        if path_key(path) == path_key(target):
            source.rename(source.with_name(Path(target).name))
            return
        super().move(path, target)


def spelled(root: Path, relative: Path) -> Path:
    """A path as it is on the disk, if a folding file system knows it under another spelling."""
    place = root.resolve()
    for part in relative.parts:
        entries = list(place.iterdir()) if place.is_dir() else []
        same = [entry.name for entry in entries if path_key(entry.name) == path_key(part)]
        place /= same[0] if same else part
    return place


class FoldingHome(SyncedHome):
    """A home on a file system that ignores case and the form of Unicode."""

    def vault_files(self) -> VaultFiles:
        return FoldingFiles(self.home.shared)


class World:
    """Three homes, a server, and the words that users wrote."""

    def __init__(self, root: Path, template: Path, server: DatabaseServer, address: ServerAddress):
        self.server, self.address = server, address
        self.homes = [
            SyncedHome(root / "anna", template, address),
            SyncedHome(root / "ben", template, address),
            FoldingHome(root / "cleo", template, address),
        ]
        # Ben merges changes of different lines.
        ben = self.homes[1]
        ben.base_texts = BaseTexts(ben.home.state / "sync-texts")
        self.words: set[bytes] = set()
        self.removed: set[bytes] = set()
        self.ratings = 0
        self.kills = 0
        self.changes = [0] * len(self.homes)
        self._backup: ServerAddress | None = None
        self._unused: list[ServerAddress] = []

    def _fresh(self) -> str:
        word = f"word{len(self.words)}"
        self.words.add(word.encode())
        return word

    def _at(self, home: SyncedHome, name: str) -> Path:
        if isinstance(home, FoldingHome):
            return spelled(home.root, Path(name))
        return home.root / name

    def write(self, who: int, name: str, years: int = 0) -> None:
        """A user writes a new note, or adds a line to an old one."""
        home = self.homes[who]
        path = self._at(home, _file(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(f"{self._fresh()}\n".encode())
        self._date(path, years)

    def edit(self, who: int, pick: int, where: int, years: int = 0) -> None:
        """A user replaces a line of a note."""
        if path := self._pick(who, pick):
            lines = path.read_bytes().splitlines(keepends=True)
            at = where % (len(lines) + 1)
            self.removed |= {word for line in lines[at : at + 1] for word in _WORD.findall(line)}
            lines[at : at + 1] = [f"{self._fresh()}\n".encode()]
            path.write_bytes(b"".join(lines))
            self._date(path, years)

    def rename(self, who: int, pick: int, name: str) -> None:
        """A user renames a note, unless the name is taken."""
        home = self.homes[who]
        if path := self._pick(who, pick):
            target = self._at(home, _file(name))
            if path_key(str(target)) == path_key(str(path)) and isinstance(home, FoldingHome):
                path.rename(path.with_name(Path(_file(name)).name))
            elif not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                path.rename(target)

    def delete(self, who: int, pick: int) -> None:
        """A user deletes a note."""
        if path := self._pick(who, pick):
            self.removed |= set(_WORD.findall(path.read_bytes()))
            path.unlink()

    def rate(self, who: int, pick: int, *, useful: bool = True) -> None:
        """An agent rates a note. A useful rating is a use, too."""
        if (path := self._pick(who, pick)) and path.suffix == ".md":
            name = f"shared:{path.relative_to(self.homes[who].root).as_posix()}"
            self.homes[who].djinn.rate(**{"useful" if useful else "not_useful": [name]})
            self.ratings += 1

    def sync(self, who: int) -> VaultExchange:
        """A home runs to the end: notes, then events."""
        home = self.homes[who]
        with home.link() as link:
            result = exchange(link)
            events.exchange(link)
            home.problems = link.problems
        return result

    def kill(self, who: int, seconds: float) -> None:
        """A home runs and is killed after some time, if it still runs then."""
        home = self.homes[who]
        home.djinn.close()
        child = os.fork()
        if child == 0:
            # What a killed process leaves behind: no handler runs, no transaction is ended.
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))
            try:
                home.djinn = Djinn(home.home)
                self.sync(who)
            except BaseException:
                os._exit(3)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert not os.WIFEXITED(status) or os.WEXITSTATUS(status) == 0
        self.kills += os.WIFSIGNALED(status)

    def back_up_server(self) -> None:
        """The server is backed up."""
        if self.server.copies:
            self._unused += [self._backup] if self._backup else []
            self._backup = self.server.copy(self.address)

    def restore_server(self) -> None:
        """The server is restored from its backup, if there is one."""
        if self._backup:
            self._unused.append(self.address)
            self.address = self.server.copy(self._backup)
            for home in self.homes:
                home.address = self.address

    def _pick(self, who: int, pick: int) -> Path | None:
        home = self.homes[who]
        notes = sorted(home.notes())
        return home.root / notes[pick % len(notes)] if notes else None

    def _date(self, path: Path, years: int) -> None:
        """Date a file as a clock does that is years ahead or behind."""
        if years:
            time = path.stat().st_mtime + years * YEAR
            os.utime(path, (time, time))

    def settle(self) -> None:
        """All homes run until none changes anything; then all must be equal, and no word lost."""
        for _ in range(12):
            results = [self.sync(who) for who in range(len(self.homes))]
            if not any(r.sent or r.received or r.removed or r.withdrawn for r in results):
                break
        else:
            raise AssertionError("the homes do not come to rest")
        assert [r.waiting for r in results] == [[]] * len(results), [h.problems for h in self.homes]
        first = self.homes[0].notes()
        by_key = {path_key(path): data for path, data in first.items()}
        assert len(by_key) == len(first)
        for home in self.homes[1:]:
            if isinstance(home, FoldingHome):
                # It keeps the spelling of folders that it had already.
                assert {path_key(path): data for path, data in home.notes().items()} == by_key
            else:
                assert home.notes() == first
        present = {word for data in first.values() for word in _WORD.findall(data)}
        assert self.words - self.removed - present == set()
        self._check_ratings()

    def _check_ratings(self) -> None:
        counts = []
        for home in self.homes:
            ledger = home.djinn.runtime.state.ledger
            counts.append(ledger.rows(_COUNTS))
            assert ledger.rows("select count(*) from memory_valuations") == [(self.ratings,)]
        with closing(connect(self.address)) as connection:
            rows = connection.execute(_COUNTS.encode()).fetchall()
            counts.append([(agent.partition("-")[0], *numbers) for agent, *numbers in rows])
            held = connection.execute("select count(*) from memory_valuations").fetchall()
        assert held == [(self.ratings,)]
        assert counts == [counts[0]] * len(counts)

    def step(self, dice: Random, *, sync: float = 0.15, kill: float = 0.02) -> None:
        """Something that happens at random."""
        who, years = dice.randrange(len(self.homes)), dice.choice((0, 0, -7, 5))
        chance = dice.random()
        if chance < sync:
            self.sync(who)
        elif chance < sync + kill:
            self.kill(who, dice.uniform(0.02, 0.5))
        else:
            self.changes[who] += 1
            self._edit_at_random(dice, who, years)

    def _edit_at_random(self, dice: Random, who: int, years: int) -> None:
        chance = dice.random()
        if chance < 0.1:
            self.rate(who, dice.randrange(100), useful=dice.random() < 0.5)
        if chance < 0.4:
            self.write(who, dice.choice(NAMES), years)
        elif chance < 0.65:
            self.edit(who, dice.randrange(100), dice.randrange(20), years)
        elif chance < 0.85:
            self.rename(who, dice.randrange(100), dice.choice(NAMES))
        else:
            self.delete(who, dice.randrange(100))

    def close(self) -> None:
        for home in self.homes:
            home.djinn.close()
            shutil.rmtree(home.home.root, ignore_errors=True)
        for address in filter(None, (*self._unused, self._backup, self.address)):
            self.server.drop(database_of(address))


assert unicodedata.normalize("NFC", NAMES[5]) == NAMES[4]
