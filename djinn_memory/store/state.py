"""A home's databases and their lock, each opened when it is first needed."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import apsw

from djinn_memory.errors import IndexMissing, Unavailable
from djinn_memory.home.home import Home
from djinn_memory.models import Problem, Progress, ProgressCallback, Vault, silent
from djinn_memory.notes.vault.walk import hidden
from djinn_memory.store import index, sqlite
from djinn_memory.store.index import matrix
from djinn_memory.store.sqlite import DamagedDatabase, DiskFull, explained
from djinn_memory.system.change_watch import ChangeWatch
from djinn_memory.system.files import file_id
from djinn_memory.system.locks import lock

if TYPE_CHECKING:
    from djinn_memory.store.expiring import WorkingStore
    from djinn_memory.store.index.sqlite_index import SqliteIndex
    from djinn_memory.store.ledger import Ledger
    from djinn_memory.store.vector_cache import EmbeddingCache


STALLED_SECONDS = 30.0
"""A process that writes nothing for so long is not waited for any more."""

RESIDENT_KB = 65_536
"""Of the index that a long process keeps in memory: the vectors of 20,000 windows, and more."""


class State:
    """What lies in a home's state folder. What goes wrong but is overcome is told in `problems`."""

    def __init__(
        self,
        home: Home,
        problems: list[Problem],
        *,
        resident: bool = False,
        read_only: bool = False,
    ) -> None:
        """`resident` is for a process that answers many questions: it keeps more in memory.

        With `read_only` nothing that happens is noted, see `store.reading`.
        """
        self.home = home
        self._read_only = read_only
        self.problems = problems
        self.change_watch = ChangeWatch(hidden) if resident else None
        """Tells which vaults are unchanged; None in a process that answers once."""
        self._lying: dict[str, tuple[int, int] | None] = {}

    @cached_property
    def index(self) -> apsw.Connection:
        """The index, writable where the disk lets it be, made when there is none."""
        path = self._opening("index", self.home.index_path)
        try:
            connection = index.open_index(path)
            if self.change_watch:
                connection.pragma("cache_size", -RESIDENT_KB)
                matrix.hold(connection)
            return connection
        except (DamagedDatabase, DiskFull):
            raise
        except (Unavailable, OSError) as error:
            if not path.exists():
                raise IndexMissing(
                    f"there is no index at {path} and none can be written; "
                    "check the folder's permissions, or set state_dir in config.yaml"
                ) from None
            try:
                return index.open_index(path, write=False)
            except Unavailable:
                # One of an older version answers nothing until it can be written.
                raise error from None

    @contextlib.contextmanager
    def reading(self, vaults: Sequence[Vault]) -> Iterator[SqliteIndex]:
        """The index of some vaults; all that is read inside is of one state of it."""
        from djinn_memory.store.index.sqlite_index import SqliteIndex

        with sqlite.snapshot(self.index):
            yield SqliteIndex(self.index, vaults)

    @cached_property
    def cache(self) -> EmbeddingCache:
        """The vectors made so far, which outlive the index."""
        from djinn_memory.store.vector_cache import EmbeddingCache

        return EmbeddingCache(self._opening("cache", self.home.embeddings_path))

    @cached_property
    def ledger(self) -> Ledger:
        """What happened, which cannot be made again."""
        from djinn_memory.store.ledger import Ledger

        if self._read_only:
            from djinn_memory.store.read_only import ReadOnlyLedger

            return ReadOnlyLedger(self.home.ledger_path, self.home.config.scoring)
        return Ledger(self.home.ledger_path, self.home.config.scoring)

    @cached_property
    def working(self) -> WorkingStore:
        """Working memory, which expires."""
        from djinn_memory.store.expiring import open_working

        opened = open_working(self.home)
        if self._read_only:
            from djinn_memory.store.read_only import ReadOnlyWorkingStore

            return ReadOnlyWorkingStore(opened)
        return opened

    @property
    def ledger_if_any(self) -> Ledger | None:
        """The ledger, None where nothing has happened yet."""
        return self.ledger if self.home.ledger_path.exists() else None

    @property
    def writable(self) -> bool:
        """Whether the index can be written."""
        return not self.index.readonly("main")

    def need_writable(self) -> None:
        """Raise `Unavailable` when the index cannot be written."""
        if not self.writable:
            raise Unavailable(
                f"{self.home.state} cannot be written; check its permissions, "
                "or set state_dir in config.yaml"
            )

    @contextlib.contextmanager
    def lock(
        self,
        what: Literal["index", "embed"] = "index",
        *,
        timeout: float | None = None,
        progress: ProgressCallback = silent,
    ) -> Iterator[None]:
        """Hold the index against others who read notes, or who embed.

        Without `timeout` this waits as long as its holder gets on, which shows in what is written
        into the databases. Raises `Unavailable` when it does not, or after `timeout` seconds.
        """
        # Who embeds writes both; a model behind a server may take its time for a batch.
        embeds = what == "embed"
        patience = self.home.config.embedding.timeout if embeds else 0
        held = lock(
            self.home.state / f"{what}.lock",
            timeout=STALLED_SECONDS + patience if timeout is None else timeout,
            pulse=lambda: timeout is not None or self._written(cache=embeds),
            waiting=lambda text: progress(Progress("wait", 0, None, text)),
        )
        with held, explained(self.home.index_path):
            yield

    def _written(self, *, cache: bool) -> tuple[int, int]:
        """Another value after another process has written into the databases."""
        return self.index.pragma("data_version"), self.cache.version if cache else 0

    def vault_lock(self, vault: Vault) -> contextlib.AbstractContextManager[None]:
        """Hold a vault against other writers of this home, for as long as one write takes."""
        name = vault.id.replace("/", "-").replace(":", "-")
        return lock(self.home.state / "locks" / f"{name}.lock", timeout=STALLED_SECONDS)

    def close(self) -> None:
        """Release the files; what is asked for next opens them again."""
        for name in ("index", "cache", "ledger", "working"):
            self._close(name)

    def renew(self) -> None:
        """Let go of an index and a cache that were set aside meanwhile by another process."""
        for name, path in self._derived.items():
            before = self._lying.get(name)
            if name in self.__dict__ and before and file_id(path) != before:
                self._close(name)

    def set_aside_damaged(self, *, index_too: bool = False) -> bool:
        """Rename what is damaged of index and cache; whether anything was.

        With `index_too` also an index of which no check says what is wrong. Others who found the
        same wait, and then see what was made in its place.
        """
        if not os.access(self.home.state, os.W_OK):
            raise Unavailable(
                f"{self.home.state} holds a damaged index and cannot be written; "
                "mend the folder's permissions"
            )
        for name in self._derived:
            self._close(name)
        with self.lock(timeout=30):
            found = False
            faults = dict(self.faults())
            if index_too and self.home.index_path.exists():
                faults.setdefault(self.home.index_path, "cannot be read")
            for path, fault in faults.items():
                aside = set_aside(path)
                anew = " and made anew" if path == self.home.index_path else ""
                why = f"{fault}; set aside as {aside.name}{anew}"
                self.problems.append(Problem(str(path), why))
                found = True
            return found

    def faults(self) -> Iterator[tuple[Path, str]]:
        """What is wrong with index and cache, of each that is useless."""
        from djinn_memory.store import vector_cache

        for name, path in self._derived.items():
            wrong = (
                index.fault(path) if name == "index" else sqlite.fault(path, vector_cache.SCHEMA)
            )
            if wrong:
                yield path, wrong

    @property
    def _derived(self) -> dict[str, Path]:
        return {"index": self.home.index_path, "cache": self.home.embeddings_path}

    def _opening(self, name: str, path: Path) -> Path:
        # Taken before it is opened: if it is replaced in between, it seems to be, and that is well.
        self._lying[name] = file_id(path)
        return path

    def _close(self, name: str) -> None:
        if name == "index" and self.change_watch:
            # What the next one holds is not what was compared with the vaults.
            self.change_watch.close()
        opened = self.__dict__.pop(name, None)
        if opened is not None:
            opened.close()


def set_aside(path: Path) -> Path:
    """Rename a database, and what SQLite keeps beside it; returns where it lies now."""
    aside = aside_name(path)
    try:
        path.rename(aside)
        for more in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                Path(f"{path}{more}").rename(f"{aside}{more}")
    except OSError:
        raise Unavailable(
            f"{path} is damaged and cannot be moved away; mend the folder's permissions"
        ) from None
    return aside


def aside_name(path: Path) -> Path:
    """A free name for a damaged database, which tells when it was set aside."""
    first = f"{path.name}.corrupt-{time.strftime('%Y%m%d-%H%M%S')}"
    names = itertools.chain([first], (f"{first}-{number}" for number in itertools.count(2)))
    return next(
        path.with_name(name)
        for name in names
        if not any(os.path.lexists(path.with_name(f"{name}{end}")) for end in ("", "-wal", "-shm"))
    )
