"""The inbox: while vaults are watched, files dropped into a folder become documents."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue

from djinn_memory.documents.pool import FileStarted
from djinn_memory.documents.sources import Source, sources
from djinn_memory.embedding.registry import ModelRegistry
from djinn_memory.errors import ConfigError, DjinnError, Remedy
from djinn_memory.home.home import Home
from djinn_memory.memories.library.ingest import ingest
from djinn_memory.memories.library.requests import FileOutcome, IngestOptions
from djinn_memory.models import Vault, silent
from djinn_memory.store.sqlite import STORE_ERRORS
from djinn_memory.store.state import State
from djinn_memory.system.files import expand, file_version
from djinn_memory.watch.heard import Heard, Notice

SETTLE_SECONDS = 1.0
"""A file that changed within this time may be incomplete."""

LOOK_SECONDS = SETTLE_SECONDS / 2
"""Seconds between two checks of unsettled files."""

UNFINISHED = frozenset({".part", ".partial", ".crdownload", ".download", ".tmp", ".temp", ".!ut"})
"""The suffixes that browsers and copiers give to incomplete files."""

Mark = tuple[int, int, int]

FAILURES: tuple[type[Exception], ...] = (*STORE_ERRORS, DjinnError, OSError)
"""Errors after which a watch and its inbox continue."""


def inbox_folder(home: Home, named: str, vaults: Iterable[Vault]) -> Path:
    """The folder in the setting `inbox`. Raises `ConfigError` for an unsuitable folder."""
    folder = (home.root / expand(named)).resolve()
    own = (home.config_path, home.state, *(vault.root for vault in vaults))
    if any(path.resolve().is_relative_to(folder) for path in own):
        raise ConfigError(
            f"{folder} contains files that djinn needs; choose a separate folder for the inbox"
        )
    if folder.is_relative_to(home.state):
        raise ConfigError(f"{folder} is used by djinn; choose another folder")
    if not folder.is_relative_to(home.root) and home.own.inbox != named:
        # A cloned home must not fetch files from this disk.
        raise ConfigError(
            f"{folder} is outside the home, so only your personal settings may name it",
            Remedy("config.set", {"user": True, "key": "inbox", "value": named}),
        )
    if not folder.is_dir():
        raise ConfigError(f"the folder {folder} does not exist; create it")
    return folder


class UnsettledFiles:
    """Files that may still be being written. File times are not used, because clocks differ."""

    def __init__(self) -> None:
        self._since: dict[str, tuple[Mark | None, float]] = {}

    def __bool__(self) -> bool:
        return bool(self._since)

    def add(self, path: str) -> None:
        """Wait for a file to settle."""
        self._since.setdefault(path, (None, 0.0))

    def ready(self, now: float, settled: Mapping[str, Mark]) -> dict[str, Mark]:
        """Remove and return the files that have not changed for a while.

        Files that no longer exist, or whose current version was already settled, are removed but
        not returned.
        """
        ready = {}
        for path, (before, since) in list(self._since.items()):
            mark = _mark(path)
            if mark is None or mark == settled.get(path):
                del self._since[path]
            elif mark != before:
                self._since[path] = mark, now
            elif now - since >= SETTLE_SECONDS:
                del self._since[path]
                ready[path] = mark
        return ready


class Inbox:
    """A thread that ingests the files of a folder, and files that arrive in it.

    `settled` are the versions of files that were ingested or refused.
    """

    def __init__(self, home: Home, folder: Path, heard: Heard, settled: dict[str, Mark]) -> None:
        self.folder = folder
        self._home = home
        self._heard = heard
        self._offered: SimpleQueue[str] = SimpleQueue()
        self._settled = settled
        self._ending = threading.Event()
        # The thread words problems as the watch does.
        run = partial(copy_context().run, self._run)
        self._thread = threading.Thread(target=run, name="inbox", daemon=True)
        self._thread.start()
        self.look()

    def offer(self, path: str) -> None:
        """Ingest a file when it is no longer being written."""
        if Path(path).suffix.lower() not in UNFINISHED:
            self._offered.put(path)

    def look(self) -> None:
        """Ingest the files of the folder that were not ingested before."""
        with suppress(OSError):
            for source in sources([self.folder], recursive=True)[0]:
                self.offer(str(source.path))

    def close(self) -> None:
        """Stop the thread. A file that is being read is read again by the next watch."""
        self._ending.set()
        self._offered.put("")
        self._thread.join(0.2)
        if self._thread.is_alive():
            end_children()
            self._thread.join(0.5)

    def _run(self) -> None:
        waiting = UnsettledFiles()
        looked = 0.0
        while not self._ending.is_set():
            with suppress(Empty):
                waiting.add(self._offered.get(timeout=LOOK_SECONDS if waiting else None))
            # Not after each: one file that is written for long must not hold up the others.
            if time.monotonic() - looked >= LOOK_SECONDS:
                looked = time.monotonic()
                if ready := waiting.ready(looked, self._settled):
                    self._ingest(ready)

    def _ingest(self, ready: dict[str, Mark]) -> None:
        state = State(self._home, [])
        try:
            report = ingest(
                state,
                ModelRegistry(self._home),
                IngestOptions(),
                [Source(Path(path), Path(path).name) for path in ready],
                embed=False,
                tell=self._tell,
                progress=silent,
            )
            self._settled |= ready
            for problem in report.problems:
                self._warn(problem.what, problem.why)
        except FAILURES as error:
            self._warn("inbox", " ".join(str(error).split()))
        finally:
            state.close()

    def _tell(self, event: FileStarted | object) -> None:
        if not isinstance(event, FileOutcome):
            return
        if event.status == "failed":
            self._warn(event.file, event.why or "cannot be read")
        elif event.status == "ingested":
            text = f"{event.filename} -> {event.vault}/{event.path}"
            self._heard.put(Notice("ingest", text))

    def _warn(self, what: str, why: str) -> None:
        self._heard.put(Notice("warning", f"{what}: {why}"))


def end_children() -> None:
    """Kill the child processes of this one: readers of documents, which may hang."""
    import psutil

    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            child.kill()


def _mark(path: str) -> Mark | None:
    """As `file_version`, but None for a path that is not a file."""
    mark = file_version(Path(path))
    return mark if mark and Path(path).is_file() else None
