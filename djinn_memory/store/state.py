"""A home's databases and locks. Each database is opened at its first use."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Literal

import apsw

from djinn_memory.errors import DjinnError, IndexMissing, Unavailable
from djinn_memory.home import access
from djinn_memory.home.home import Home
from djinn_memory.models import Problem, Vault
from djinn_memory.notes.vault import hidden
from djinn_memory.store import faults, index, sqlite
from djinn_memory.store.busy import Patience
from djinn_memory.store.index import meta
from djinn_memory.store.sqlite import STORE_ERRORS, explained
from djinn_memory.system.disks import ChangeWatch
from djinn_memory.system.files import file_id, leftovers_below
from djinn_memory.system.locks import lock

if TYPE_CHECKING:
    from djinn_memory.store.expiring import WorkingStore
    from djinn_memory.store.index.local.sqlite_index import SqliteIndex
    from djinn_memory.store.ledger import Ledger
    from djinn_memory.store.vector_cache import EmbeddingCache


STALLED_SECONDS = 30.0
"""A process that holds a lock but writes nothing for this many seconds counts as stalled."""

RESIDENT_KB = 65_536
"""Size in KB of the part of the index that a long-lived process keeps in memory. It holds more than
the vectors of 20,000 windows."""


SCRATCH_SECONDS = 60.0
"""Age in seconds of a scratch file that is no longer being written. A note takes milliseconds."""

GRANT_TRIES = 3
"""How often an index is divided again that another process divides by other settings."""


class State:
    """The databases in a home's state folder. Faults that were repaired are added to `problems`."""

    def __init__(
        self,
        home: Home,
        problems: list[Problem],
        *,
        resident: bool = False,
        read_only: bool = False,
    ) -> None:
        """A `resident` process answers many queries and keeps more in memory.

        A `read_only` process records no events; see `ReadOnlyLedger`.
        """
        self.home = home
        self._read_only = read_only
        self.problems = problems
        self.change_watch = ChangeWatch(hidden) if resident else None
        """Knows which vaults are unchanged; None in a process that answers once."""
        self._ledger_patience = Patience()
        self._file_ids: dict[str, tuple[int, int] | None] = {}
        self._tidied = set[str]()
        """The vaults from which this process removed scratch files."""

    @cached_property
    def index(self) -> apsw.Connection:
        """The index. It is created when missing, and writable when the disk allows it."""
        path = self._opening("index", self.home.index_path)
        missing = IndexMissing(
            f"there is no index at {path} and none can be written; "
            "check the folder's permissions, or set state_dir in config.yaml"
        )
        connection = sqlite.connect_or_read(
            lambda write: index.open_index(path, write=write), path, missing
        )
        if self.change_watch and not sqlite.read_only(connection):
            # Imported here: a process that answers one question holds nothing.
            from djinn_memory.store.index.local.sqlite_vectors import hold

            connection.pragma("cache_size", -RESIDENT_KB)
            hold(connection)
        return connection

    @contextlib.contextmanager
    def reading(self, vaults: Sequence[Vault]) -> Iterator[SqliteIndex]:
        """The index of some vaults. All reads in the block see one state of it."""
        from djinn_memory.store.index.local.sqlite_index import SqliteIndex

        limited = any(vault.reader for vault in vaults)
        for _ in range(GRANT_TRIES):
            if limited:
                self.apply_grants()
            with explained(self.home.index_path), sqlite.snapshot(self.index):
                # A process that still has other settings may divide the index in between.
                if not limited or self._divided():
                    every = access.opened(self.home.vaults)
                    yield SqliteIndex(self.index, vaults, every, self._token_signs)
                    return
        raise Unavailable(
            "another process uses other settings of access; restart it, then run this again"
        )

    def _divided(self) -> bool:
        """Whether the index is divided by the current grants."""
        from djinn_memory.store.index import compartments

        return compartments.grants(self.index) == compartments.folded(self.home.grants)

    def apply_grants(self) -> None:
        """Divide the index by the current grants, if they changed.

        This happens before a limited agent reads it. Raises `Unavailable` if the index cannot be
        written.
        """
        from djinn_memory.store.index import memory_rows

        with explained(self.home.index_path):
            if self._divided():
                return
            self.need_writable()
            with sqlite.transaction(self.index):
                memory_rows.regroup(self.index, self.home.grants)

    def _token_signs(self, identity: str, hashes: Sequence[bytes]) -> Mapping[bytes, bytes]:
        with explained(self.home.embeddings_path):
            return self.cache.token_signs(identity, hashes)

    @cached_property
    def cache(self) -> EmbeddingCache:
        """The cache of vectors. It survives a rebuild of the index."""
        from djinn_memory.store.vector_cache import EmbeddingCache

        return EmbeddingCache(self._opening("cache", self.home.embeddings_path))

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger of events. It cannot be rebuilt."""
        from djinn_memory.store.ledger.ledger import Ledger, ReadOnlyLedger

        kind = ReadOnlyLedger if self._read_only else Ledger
        return kind(self.home.ledger_path, self.home.config.scoring, self._ledger_patience)

    @cached_property
    def working(self) -> WorkingStore:
        """Working memory. Its values expire."""
        from djinn_memory.store.expiring import ReadOnlyWorkingStore, open_working

        store = open_working(self.home)
        return ReadOnlyWorkingStore(store) if self._read_only else store

    @property
    def ledger_if_any(self) -> Ledger | None:
        """The ledger, or None before the first event."""
        return None if sqlite.empty(self.home.ledger_path) else self.ledger

    @property
    def writable(self) -> bool:
        """Whether the index can be written."""
        return not sqlite.read_only(self.index)

    def need_writable(self) -> None:
        """Raise `Unavailable` when the index cannot be written."""
        if not self.writable:
            raise Unavailable(
                f"{self.home.state} cannot be written; check its permissions and the room on its "
                "disk, or set state_dir in config.yaml"
            )

    @contextlib.contextmanager
    def lock(
        self, what: Literal["index", "embed"] = "index", *, timeout: float | None = None
    ) -> Iterator[None]:
        """Lock out other processes that index notes or embed.

        Without `timeout`, wait as long as the holder makes progress, which its writes to the
        databases show. Raises `Unavailable` when it stalls, or after `timeout` seconds.
        """
        # Embedding writes both databases. A model behind a server may be slow for a batch.
        embeds = what == "embed"
        patience = self.home.config.embedding.timeout if embeds else 0

        def pulse() -> object:
            return self.index.pragma("data_version"), self.cache.version if embeds else 0

        state_lock = lock(
            self.home.state / f"{what}.lock",
            timeout=STALLED_SECONDS + patience if timeout is None else timeout,
            pulse=pulse if timeout is None else None,
        )
        with state_lock, explained(self.home.index_path):
            yield

    @contextlib.contextmanager
    def vault_lock(self, vault: Vault, *, timeout: float | None = None) -> Iterator[None]:
        """Lock out other writers of a vault in this home, for the duration of one write.

        Removes at once the scratch files that a killed writer left behind. Raises `Busy` after
        `timeout` seconds, or when the holder stalls.
        """
        seconds = STALLED_SECONDS if timeout is None else timeout
        with lock(self.vault_lock_path(vault), timeout=seconds) as killed:
            if killed or vault.id not in self._tidied:
                self._tidied.add(vault.id)
                for path in leftovers_below(vault.root, self.scratch_seconds(vault)):
                    with contextlib.suppress(OSError):
                        path.unlink()
            yield

    def vault_lock_path(self, vault: Vault) -> Path:
        """The file of the lock of a vault."""
        name = vault.id.replace("/", "-").replace(":", "-")
        return self.home.state / "locks" / f"{name}.lock"

    def scratch_seconds(self, vault: Vault) -> float:
        """The age in seconds of scratch files that nobody writes while the vault's lock is free."""
        # Another home may have the same vault, and a lock of its own.
        return -math.inf if vault.root.is_relative_to(self.home.root) else SCRATCH_SECONDS

    def rename_vault(self, before: str, after: str) -> None:
        """Give a vault another id in the index, so that its notes are not read again."""
        from djinn_memory.store.index import memories

        if self.writable:
            with self.lock(), explained(self.home.index_path), sqlite.transaction(self.index):
                memories.rename_vault(self.index, before, after)

    def close(self) -> None:
        """Close the files. The next use of a database opens it again."""
        for name in ("index", "cache", "ledger", "working"):
            self._close(name)

    def renew(self) -> None:
        """Close an index and a cache that another process has set aside.

        A read-only index is closed too, because the disk may be writable again.
        """
        for name, path in self._derived.items():
            before = self._file_ids.get(name)
            if name in self.__dict__ and before and file_id(path) != before:
                self._close(name)
        if "index" in self.__dict__ and not self.writable:
            self._close("index")

    def repair(self, error: Exception) -> None:
        """Set aside damaged files, or raise the error that an operation met, with a remedy."""
        if not self.set_aside_after(error):
            with explained(self.home.index_path):
                raise error

    def set_aside_after(self, error: Exception) -> bool:
        """Set aside the index or cache if damage to it may have caused an error.

        Returns whether to try again, also when another process has rebuilt the index.
        """
        if isinstance(error, DjinnError | OSError | apsw.BusyError):
            path = str(self.home.index_path)
            damaged = isinstance(error, STORE_ERRORS)
            return damaged and self.set_aside_damaged(suspected=error.args[0].startswith(path))
        unfitting = isinstance(error, apsw.ConstraintError)
        if isinstance(error, apsw.Error | UnicodeDecodeError) and not unfitting:
            certain = apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError
            return self.set_aside_damaged(suspected=isinstance(error, certain))
        # Rows that do not fit together may raise any error, of SQLite or of Python. So may a
        # mistake in djinn: for one and the same error the index is made anew only once.
        frames = walk_tb(error.__traceback__)
        # The frames of apsw, which is written in C, have no name.
        places = ((frame.f_globals.get("__name__", ""), line) for frame, line in frames)
        *_, place = (place for place in places if place[0].startswith("djinn_memory."))
        mark = f"{type(error).__name__} {place}"
        with contextlib.suppress(*STORE_ERRORS, DjinnError):
            if not self.writable or meta.get(self.index, "remade") == mark:
                return False
        self.set_aside_damaged(suspected=True)
        meta.put(self.index, "remade", mark)
        return True

    def set_aside_damaged(self, *, suspected: bool = False) -> bool:
        """Rename a damaged index and a damaged cache; returns whether new ones will be created.

        A `suspected` index is renamed even when no check finds damage to it or to the cache. Other
        processes that met the same damage wait, and then find the new databases.
        """
        if not os.access(self.home.state, os.W_OK):
            raise Unavailable(
                f"{self.home.state} holds a damaged index and cannot be written; "
                "correct the permissions of the folder"
            )
        path, before = self.home.index_path, self._file_ids.get("index")
        for name in self._derived:
            self._close(name)
        with self.lock(timeout=30):
            faults = dict(self.faults())
            replaced = before is not None and file_id(path) != before
            if suspected and not faults and not replaced and path.exists():
                faults[path] = "cannot be read"
            for path, fault in faults.items():
                aside = set_aside(path)
                rebuilt = " and rebuilt" if path == self.home.index_path else ""
                why = f"{fault}; set aside as {aside.name}{rebuilt}"
                self.problems.append(Problem(str(path), why))
            return bool(faults) or (suspected and replaced)

    def faults(self) -> Iterator[tuple[Path, str]]:
        """The path and the fault of the index and of the cache, where unusable."""
        from djinn_memory.store import vector_cache

        if fault := index.fault(self.home.index_path):
            yield self.home.index_path, fault
        if fault := faults.fault(self.home.embeddings_path, vector_cache.SCHEMA):
            yield self.home.embeddings_path, fault

    @property
    def _derived(self) -> dict[str, Path]:
        return {"index": self.home.index_path, "cache": self.home.embeddings_path}

    def _opening(self, name: str, path: Path) -> Path:
        # Read before the file is opened. A file replaced in between is then opened once more.
        self._file_ids[name] = file_id(path)
        return path

    def _close(self, name: str) -> None:
        if name == "index" and self.change_watch:
            # The next index was not compared with the vaults.
            self.change_watch.close()
        database = self.__dict__.pop(name, None)
        if database is not None:
            database.close()


def set_aside(path: Path) -> Path:
    """Rename a database and SQLite's files beside it; returns the new path."""
    aside = aside_name(path)
    try:
        path.rename(aside)
        for more in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                Path(f"{path}{more}").rename(f"{aside}{more}")
    except OSError:
        raise Unavailable(
            f"{path} is damaged and cannot be moved away; correct the folder's permissions"
        ) from None
    return aside


def aside_name(path: Path) -> Path:
    """A free name for a damaged database, with the current time."""
    first = f"{path.name}.corrupt-{time.strftime('%Y%m%d-%H%M%S')}"
    names = itertools.chain([first], (f"{first}-{number}" for number in itertools.count(2)))
    return next(
        path.with_name(name)
        for name in names
        if not any(os.path.lexists(path.with_name(f"{name}{end}")) for end in ("", "-wal", "-shm"))
    )
