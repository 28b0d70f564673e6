"""The spool: a file to which hooks append in milliseconds, and from which commands take later.

Its entries are lines of JSON. A small file beside it, the meter, is the lock of both, and counts
what was refused and skipped. Only the standard library is imported: each hook pays for it.

A hook does not wait for the disk (fsync). A killed process loses nothing that was appended, because
the system has it. A power cut may lose the entries of the last seconds, like the client's own
files; to wait for the disk costs more than all else that a hook does. The journals are synced.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
import time

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

FOLDER = "hooks"
"""The folder of the spool in the state folder."""

MOST_BYTES = 16_000_000
MOST_ENTRIES = 10_000
"""The bounds of a spool: weeks of work without any djinn command."""

MOST_REJECTED = 4_000_000
"""Bytes of entries that could not be taken in and are kept aside."""

METER_BYTES = 2048
"""The size of the meter. It never changes, so that counting works on a full disk."""

LOCK_SECONDS = 0.5
"""A holder of the lock works for milliseconds. SessionEnd hooks share 1.5 seconds."""

_FAR = 1 << 30
"""The byte that is locked on Windows, where a locked byte cannot be read."""

_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Flags that follow no link and do not wait for the other end of a pipe."""


class SpoolBusyError(Exception):
    """Another process holds the spool for too long."""


class Meter:
    """The counts of a spool. `entries` and `size` describe the file after the last append."""

    def __init__(self, **values: Any) -> None:
        """`values` are those of a stored meter."""
        self.entries = self.size = self.refused = self.skipped = self.cut = self.told = 0
        self.full = 0
        """1 after an entry was refused, until there is room again."""
        self.last = 0.0
        """The time of the last entry, in seconds since 1970; 0 for none."""
        self.lost_at = 0.0
        """The time when an entry was last lost, in seconds since 1970; 0 for never."""
        self.event = self.reason = ""
        """The event of the last entry, and why the last entry that was lost is not recorded."""
        self.settled = -1
        """The size at which the spool held only unanswered prompts; -1 if it may hold more."""
        self.due = 0.0
        """The time from which the oldest of these prompts counts as unanswered."""
        for name, value in values.items():
            if type(value) is type(vars(self).get(name)):
                setattr(self, name, value)

    def lose(self, reason: str) -> None:
        """Keep why an entry is lost."""
        self.reason, self.lost_at = reason[:200], time.time()

    @property
    def lost(self) -> int:
        """The number of entries that were not recorded."""
        return self.refused + self.skipped


class Spool:
    """The spool of a home."""

    def __init__(self, state: str) -> None:
        """`state` is the home's state folder. Nothing is opened or created yet."""
        self.folder = os.path.join(state, FOLDER)
        self.path = os.path.join(self.folder, "spool.jsonl")
        self.meter_path = os.path.join(self.folder, "meter")
        self.rejected_path = os.path.join(self.folder, "rejected.jsonl")
        self.blocked_path = os.path.join(self.folder, "blocked")
        self.intake_lock = os.path.join(self.folder, "intake.lock")
        """The lock of the process that takes entries in."""

    def append(self, entry: dict[str, Any], *, cut: bool = False) -> bool:
        """Append an entry, whole or not at all. A full spool counts it as refused: then False.

        Raises `OSError` when it cannot be written, and `SpoolBusyError`.
        """
        # ASCII: a lone surrogate has no UTF-8.
        line = json.dumps(entry, separators=(",", ":")).encode("ascii") + b"\n"
        with _Held(self) as held:
            meter = held.meter
            file = _opened(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            try:
                size = os.fstat(file).st_size
                if size != meter.size:
                    meter.entries = _lines(file)
                full = size + len(line) >= MOST_BYTES or meter.entries >= MOST_ENTRIES
                if full:
                    meter.refused += 1
                    meter.full = 1
                    meter.lose("the spool is full")
                else:
                    meter.size = _append(file, size, line)
                    meter.entries += 1
                    meter.cut += cut
                    meter.last = float(entry.get("at", 0))
                    meter.event = str(entry.get("event", ""))
            finally:
                os.close(file)
            held.save()
        return not full

    def skip(self, reason: str) -> None:
        """Count an input that is not recorded. Failures are ignored."""
        try:
            with _Held(self) as held:
                held.meter.skipped += 1
                held.meter.lose(reason)
                held.save()
        except SpoolBusyError:
            self.block()
        except OSError:
            pass

    def block(self) -> None:
        """Count, without the lock, an entry that is lost because the lock was held."""
        try:
            file = _opened(self.blocked_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            try:
                os.write(file, b".")
            finally:
                os.close(file)
        except OSError:
            pass

    def size(self) -> int:
        """The bytes in the spool; 0 without a spool."""
        try:
            return os.stat(self.path).st_size
        except OSError:
            return 0

    def blocked(self) -> int:
        """The number of entries that `block` counted."""
        try:
            return os.stat(self.blocked_path).st_size
        except OSError:
            return 0

    def strange_files(self) -> list[str]:
        """The paths of its files that are links, pipes or folders, so that they cannot be used."""
        paths = (self.path, self.meter_path, self.rejected_path, self.blocked_path)
        return [
            path
            for path in paths
            if os.path.lexists(path) and (os.path.islink(path) or not os.path.isfile(path))
        ]

    def meter(self) -> Meter:
        """The counts, read without the lock."""
        try:
            return _meter(_content(self.meter_path))
        except OSError:
            return Meter()

    def update(self, **values: Any) -> None:
        """Set values of the meter."""
        with _Held(self) as held:
            for name, value in values.items():
                setattr(held.meter, name, value)
            held.save()

    def read(self) -> bytes:
        """The whole spool. It only grows until `replace` is called; one process may do so."""
        with _Held(self):
            try:
                return _content(self.path)
            except FileNotFoundError:
                return b""

    def rejected(self) -> bytes:
        """The lines that were kept aside. Raises `OSError` when they cannot be read."""
        try:
            return _content(self.rejected_path)
        except FileNotFoundError:
            return b""

    def replace(self, taken: int, kept: bytes, *, due: float | None = None) -> None:
        """Put `kept` in the place of the first `taken` bytes, in one step.

        `due` says that `kept` is all that is left, and holds only prompts without an answer.
        """
        with _Held(self) as held:
            file = _opened(self.path, os.O_RDWR)
            try:
                os.lseek(file, taken, os.SEEK_SET)
                rest = _rest(file)
                if kept or rest:
                    self._exchange(kept + rest, self.path)
                else:
                    # This needs no room on a full disk.
                    os.ftruncate(file, 0)
            finally:
                os.close(file)
            meter = held.meter
            meter.full = 0
            meter.size = len(kept) + len(rest)
            meter.entries = kept.count(b"\n") + rest.count(b"\n")
            meter.settled = meter.size if due is not None and not rest else -1
            meter.due = due or 0.0
            held.save()

    def _exchange(self, data: bytes, path: str) -> None:
        scratch = os.path.join(self.folder, "spool.new")
        file = _opened(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            _write(file, data)
            os.fsync(file)
        finally:
            os.close(file)
        os.replace(scratch, path)

    def reject(self, kept: list[bytes], number: int, reason: str) -> None:
        """Count a number of lines that cannot be taken in, and keep these of them aside."""
        with _Held(self) as held:
            file = _opened(self.rejected_path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            try:
                size = os.fstat(file).st_size
                if kept and size < MOST_REJECTED:
                    _append(file, size, b"".join(line + b"\n" for line in kept))
            finally:
                os.close(file)
            held.meter.skipped += number
            held.meter.lose(reason)
            held.save()

    def edit(self, change: Callable[[Any], Any]) -> None:
        """Change the entries that wait. The caller keeps other processes from taking them in.

        A torn one becomes `{}`, which counts as damaged. Raises `OSError` when they cannot be
        written, and `SpoolBusyError`.
        """
        if not self.size():
            return
        with _Held(self) as held:
            before = _content(self.path)
            after = b"".join(_changed(line, change) or b"{}\n" for line in before.splitlines())
            if after == before:
                return
            self._exchange(after, self.path)
            meter = held.meter
            meter.settled = len(after) if meter.settled == len(before) else -1
            meter.size, meter.entries = len(after), after.count(b"\n")
            held.save()

    def edit_rejected(self, change: Callable[[Any], Any]) -> None:
        """Change the entries that were kept aside. A torn one is removed.

        Raises `OSError` when they cannot be written, and `SpoolBusyError`.
        """
        if not os.path.exists(self.rejected_path):
            return
        with _Held(self):
            lines = self.rejected().splitlines()
            changed = b"".join(_changed(line, change) for line in lines)
            self._exchange(changed, self.rejected_path)


class _Held:
    """The lock of a spool, with its meter. The folder is created, private, if it is missing."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._file = -1

    def __enter__(self) -> _Held:
        flags = os.O_RDWR | os.O_CREAT
        try:
            self._file = _opened(self._spool.meter_path, flags)
        except FileNotFoundError:
            for folder in (os.path.dirname(self._spool.folder), self._spool.folder):
                try:
                    os.mkdir(folder, 0o700)
                except FileExistsError:
                    continue
            self._file = _opened(self._spool.meter_path, flags)
        try:
            self._lock()
            os.lseek(self._file, 0, os.SEEK_SET)
            self.meter = _meter(os.read(self._file, METER_BYTES))
        except BaseException:
            os.close(self._file)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        # This releases the lock.
        os.close(self._file)

    def _lock(self) -> None:
        end = time.monotonic() + LOCK_SECONDS
        while not _locked(self._file):
            if time.monotonic() > end:
                raise SpoolBusyError("another process holds the spool")
            time.sleep(0.002)

    def save(self) -> None:
        """Write the meter. It has one size, so that it is written in place, in one step."""
        text = json.dumps(vars(self.meter), ensure_ascii=False).encode("utf-8", "replace")
        os.lseek(self._file, 0, os.SEEK_SET)
        try:
            os.write(self._file, text[: METER_BYTES - 1].ljust(METER_BYTES - 1) + b"\n")
        except OSError:
            # The counts are less important than the entry, which is written.
            return


def _locked(file: int) -> bool:
    try:
        if sys.platform == "win32":
            os.lseek(file, _FAR, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _changed(line: bytes, change: Callable[[Any], Any]) -> bytes:
    """A line with its entry changed; empty for a torn one."""
    try:
        return json.dumps(change(json.loads(line)), separators=(",", ":")).encode("ascii") + b"\n"
    except (ValueError, RecursionError):
        return b""


def _opened(path: str, flags: int) -> int:
    """Open a regular file, and create it for the user alone. Raises `OSError` for any other."""
    file = os.open(path, flags | _SAFE, 0o600)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "is not a regular file", path)
    return file


def _content(path: str) -> bytes:
    """The bytes of a file."""
    file = _opened(path, os.O_RDONLY)
    try:
        return _rest(file)
    finally:
        os.close(file)


def _meter(data: bytes) -> Meter:
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        return Meter()
    return Meter(**values) if isinstance(values, dict) else Meter()


def _lines(file: int) -> int:
    os.lseek(file, 0, os.SEEK_SET)
    data = _rest(file)
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


def _rest(file: int) -> bytes:
    """What is left of a file."""
    parts = []
    while part := os.read(file, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _append(file: int, size: int, line: bytes) -> int:
    """Append a line to a file of `size` bytes, and return the new size.

    A line that a killed hook left torn is ended first. An append that fails is undone.
    """
    if size:
        os.lseek(file, size - 1, os.SEEK_SET)
        if os.read(file, 1) != b"\n":
            line = b"\n" + line
    try:
        _write(file, line)
    except OSError:
        os.ftruncate(file, size)
        raise
    return size + len(line)


def _write(file: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]
