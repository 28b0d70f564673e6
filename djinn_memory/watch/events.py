"""Follows the folders of the vaults: native file events become changes, or polling finds them."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from watchdog import events
from watchdog.observers import Observer
from watchdog.observers.api import ObservedWatch

from djinn_memory.models import Vault
from djinn_memory.notes.vault import hidden
from djinn_memory.system.disks import network
from djinn_memory.system.files import file_id
from djinn_memory.watch.heard import ALL, FileChanged, FileDropped, Heard, Notice

_INBOX = "/inbox"
"""The key of the inbox among the watched folders. No vault can have this name."""


class FollowedFolders:
    """Follows each vault by events or by polling.

    `probe` is a folder that is watched briefly to test whether the system has watches left.
    """

    def __init__(self, vaults: Iterable[Vault], heard: Heard, probe: Path, *, poll: bool) -> None:
        self._probe = probe
        self._roots = {vault.name: vault.root.resolve() for vault in vaults}
        why = "watch.poll is set" if poll else None
        self._native: _NativeEvents | None = None
        try:
            self._native = None if poll else _NativeEvents(heard)
        except OSError as error:
            why = error.strerror or str(error)
        self.polled = dict.fromkeys(self._roots, why) if why else {}
        """The vaults that are polled, each with the reason."""

    def renew(self) -> Iterator[str]:
        """Follow new vaults and stop following others. Yields the vaults to read again."""
        native = self._native
        for name, root in self._roots.items():
            if native is None or name in self.polled or native.alive(name, root):
                continue
            known = native.forget(name)
            there = os.path.isdir(root)  # noqa: PTH112 - Path's own raises where nobody may look
            if there:
                self._follow(native, name, root)
            if known or there:
                yield name

    def _follow(self, native: _NativeEvents, name: str, root: Path) -> None:
        try:
            if kind := network(root):
                self.polled[name] = f"{kind} does not report all changes"
                return
            native.follow(name, root)
            native.probe(self._probe)
        except OSError as error:
            native.forget(name)
            self.polled[name] = error.strerror or str(error)

    def follow_inbox(self, folder: Path) -> bool:
        """Report files that arrive in the inbox. Returns False if the caller must list the folder.

        The caller must list it if the system reports no events for it, or has just begun to.
        """
        if self._native is None:
            return False
        if self._native.alive(_INBOX, folder):
            return True
        with suppress(OSError):
            if not network(folder):
                self._native.follow_inbox(_INBOX, folder)
        return False

    def close(self) -> None:
        """Stop following all folders."""
        if self._native:
            self._native.close()


Report = Callable[[events.FileSystemEvent], None]

_WANTED: list[type[events.FileSystemEvent]] = [
    events.FileCreatedEvent,
    events.FileModifiedEvent,
    events.FileAttribEvent,
    events.FileClosedEvent,
    events.FileDeletedEvent,
    events.FileMovedEvent,
    events.DirCreatedEvent,
    events.DirDeletedEvent,
    events.DirMovedEvent,
]
"""The requested event types. A folder's own modification only means that its content changed."""


class _NativeEvents:
    """The folders whose changes the system reports."""

    def __init__(self, heard: Heard) -> None:
        self._heard = heard
        self._watches: dict[str, tuple[ObservedWatch, tuple[int, int] | None]] = {}
        self._observer = Observer()
        self._log = _Lost(heard)
        logging.getLogger("watchdog").addHandler(self._log)
        logging.getLogger("watchdog").propagate = False
        # It warns of folders that it meets twice; there is nothing in that for a user.
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"watchdog\b")
        self._observer.start()

    def follow(self, name: str, root: Path) -> None:
        """Report changes below the root of a vault from now on. Raises `OSError` on failure."""
        self._schedule(name, root, lambda event: self._changed(event, name, root))

    def follow_inbox(self, name: str, root: Path) -> None:
        """Report files that arrive in a folder."""
        self._schedule(name, root, lambda event: self._dropped(event, root))

    def _schedule(self, name: str, root: Path, report: Report) -> None:
        self.forget(name)
        mark, handler = file_id(root), _Handler(report)
        watch = self._observer.schedule(handler, str(root), recursive=True, event_filter=_WANTED)
        self._watches[name] = (watch, mark)

    def alive(self, name: str, root: Path) -> bool:
        """Whether the folder that is watched is still the one at `root`."""
        if name not in self._watches:
            return False
        watch, mark = self._watches[name]
        emitters = self._observer.emitters.copy()
        running = {emitter.watch for emitter in emitters if emitter.is_alive()}
        return file_id(root) == mark and watch in running

    def forget(self, name: str) -> bool:
        """Stop watching a folder. Returns whether it was watched."""
        known = name in self._watches
        if known:
            self._observer.unschedule(self._watches.pop(name)[0])
        return known

    def probe(self, folder: Path) -> None:
        """Raise `OSError` if the system cannot watch another folder.

        watchdog does not report folders below a root that it could not watch.
        """
        watch = self._observer.schedule(events.FileSystemEventHandler(), str(folder))
        self._observer.unschedule(watch)

    def _changed(self, event: events.FileSystemEvent, name: str, root: Path) -> None:
        gone = isinstance(event, events.FileDeletedEvent | events.FileMovedEvent)
        for place in filter(None, _places(event)):
            path = Path(os.path.relpath(place, root)).as_posix()
            if path == ".":
                self._heard.put(FileChanged(name, ALL))
            elif path.startswith("../") or any(map(hidden, path.split("/"))):
                continue
            # A folder that went may be reported as a file.
            elif event.is_directory or gone or path[-3:].lower() == ".md":
                self._heard.put(FileChanged(name, path))

    def _dropped(self, event: events.FileSystemEvent, root: Path) -> None:
        source, target = _places(event)
        place = target or source
        parts = Path(os.path.relpath(place, root)).parts
        if not event.is_directory and not any(map(hidden, parts)):
            self._heard.put(FileDropped(place))

    def close(self) -> None:
        """Stop all threads."""
        logging.getLogger("watchdog").removeHandler(self._log)
        self._observer.stop()
        self._observer.join(1)


class _Lost(logging.Handler):
    """A log handler, because watchdog reports lost events only in its log."""

    def __init__(self, heard: Heard) -> None:
        super().__init__(logging.WARNING)
        self._heard = heard

    def emit(self, record: logging.LogRecord) -> None:
        why = "the system dropped change events, so all vaults are scanned"
        self._heard.put(Notice("update", why))
        self._heard.put(FileChanged(None, ALL))


class _Handler(events.FileSystemEventHandler):
    """Passes every event of a folder to a function."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def on_any_event(self, event: events.FileSystemEvent) -> None:
        self._report(event)


def _places(event: events.FileSystemEvent) -> tuple[str, str]:
    """The source and the destination of an event."""
    return os.fsdecode(event.src_path), os.fsdecode(event.dest_path)
