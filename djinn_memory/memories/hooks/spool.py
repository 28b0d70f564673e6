"""The spool: a folder to which hooks add files in milliseconds, and from which commands take later.

Each file holds an entry as a line of JSON. A hook writes it under another name and renames it, so
no entry is torn, and nobody waits for a lock. Only the standard library is imported: each hook pays
for it.

A hook does not wait for the disk (fsync). A killed process loses nothing that was written, because
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
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

FOLDER = "hooks"
"""The folder of the spool in the state folder."""

MOST_BYTES = 16_000_000
MOST_ENTRIES = 10_000
"""The bounds of a spool: weeks of work without any djinn command."""

MOST_REJECTED = 4_000_000
"""Bytes of entries that could not be taken in and are kept aside."""

NOTE_BYTES = 2048
"""The size of a note. It never changes, so that it can be written on a full disk."""

PATIENCE_SECONDS = 86_400.0
"""Seconds after which a prompt without an answer is recorded alone."""

UNFINISHED_SECONDS = 60.0
"""Seconds for which a hook may still write a file. An older one is of a hook that was killed."""

_NEW = ".new"
"""The end of the name of a file that is not whole."""

_WAITING = ".waiting"
"""The end of the name of a prompt that waits for its answer, and has its secrets masked."""

_REFUSED, _SKIPPED, _CUT, _SAID, _ROOM = b"r", b"s", b"c", b"!", b"\n"
"""The events that are counted, each as a byte: an entry that a full spool refused, an input that is
not recorded, an entry that was cut, a report of losses to the user, and room that is free again."""

_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Flags that follow no link and do not wait for the other end of a pipe."""


class Counts:
    """The numbers of events at a spool since it was created."""

    def __init__(self, data: bytes) -> None:
        """`data` are the bytes that were counted."""
        self.refused = data.count(_REFUSED)
        self.skipped = data.count(_SKIPPED)
        self.cut = data.count(_CUT)
        self.full = data.rfind(_REFUSED) > data.rfind(_ROOM)
        """Whether an entry was refused, and no room was made since."""
        unsaid = data[data.rfind(_SAID) + 1 :]
        self.unsaid = unsaid.count(_REFUSED) + unsaid.count(_SKIPPED)
        """The number of entries that were not recorded, and of which the user does not know."""


class Spool:
    """The spool of a home."""

    def __init__(self, state: str) -> None:
        """`state` is the home's state folder. Nothing is opened or created yet."""
        self.folder = os.path.join(state, FOLDER)
        self.path = os.path.join(self.folder, "spool")
        self.counts_path = os.path.join(self.folder, "counts")
        self.last_path = os.path.join(self.folder, "last.json")
        self.loss_path = os.path.join(self.folder, "loss.json")
        self.rejected_path = os.path.join(self.folder, "rejected.jsonl")
        self.former_path = os.path.join(self.folder, "spool.jsonl")
        """Where an earlier version appended entries."""
        self.intake_lock = os.path.join(self.folder, "intake.lock")
        """The lock of the process that takes entries in."""
        self._adopted_path = os.path.join(self.folder, "former.jsonl")
        """The same file while its lines become entries."""
        self._taken_path = os.path.join(self.folder, "taken")
        self._scratch = os.path.join(self.folder, "scratch")

    def append(self, entry: dict[str, Any], *, cut: bool = False) -> bool:
        """Add an entry, whole or not at all. A full spool counts it as refused: then False.

        Raises `OSError` when it cannot be written.
        """
        line, files = _line(entry), self.files()
        if len(files) >= MOST_ENTRIES or sum(files.values()) + len(line) >= MOST_BYTES:
            self._lose(_REFUSED, "the spool is full")
            return False
        # After all others, even if the clock was set back.
        at = max(time.time_ns(), _time_of([*files][-1]) + 1 if files else 0)
        self._make_folders()
        path = self._place(f"{at:020}-{os.urandom(4).hex()}")
        _exchange(path + _NEW, line, path, wait=False)
        with suppress(OSError):
            self._count(_CUT * cut)
        _set_note(self.last_path, at=float(entry.get("at", 0)), event=str(entry.get("event", "")))
        return True

    def skip(self, reason: str) -> None:
        """Count an input that is not recorded. Failures are ignored."""
        with suppress(OSError):
            self._lose(_SKIPPED, reason)

    def files(self) -> dict[str, int]:
        """The size of each entry by its path, oldest first, without unfinished entries."""
        try:
            names = sorted(os.listdir(self._place("")))
        except OSError:
            return {}
        files = {}
        for path in [os.path.join(self.path, name) for name in names]:
            try:
                status = os.lstat(path)
            except OSError:
                # It has its final name now, or was taken in.
                continue
            written = path.endswith(_NEW) and time.time() - status.st_mtime < UNFINISHED_SECONDS
            if stat.S_ISREG(status.st_mode) and not written:
                files[path] = status.st_size
        return files

    def _place(self, name: str) -> str:
        """The path of an entry. Raises `OSError` where a link leads to the files of others."""
        for folder in self._links():
            raise OSError(errno.ELOOP, "is a link", folder)
        return os.path.join(self.path, name)

    def _links(self) -> list[str]:
        return [*filter(os.path.islink, (self.folder, self.path))]

    def size(self) -> int:
        """The bytes in the spool; 0 without a spool."""
        return sum(self.files().values())

    def is_due(self) -> bool:
        """Whether it holds more than prompts whose answers may still come."""
        return any(map(os.path.exists, (self.former_path, self._adopted_path))) or any(
            not path.endswith(_WAITING) or unanswered(_time_of(path) / 1e9) for path in self.files()
        )

    def counts(self) -> Counts:
        """The numbers of events so far."""
        try:
            return Counts(_content(self.counts_path))
        except OSError:
            return Counts(b"")

    def last(self) -> dict[str, Any]:
        """The last entry: its `event`, and when it was `at`, in seconds since 1970; 0 for none."""
        return _note(self.last_path, at=0.0, event="")

    def loss(self) -> dict[str, Any]:
        """When an entry was last lost (`lost_at`, in seconds since 1970; 0 for never), and the
        `reason` why the last one is not recorded, or not answered.
        """
        return _note(self.loss_path, reason="", lost_at=0.0)

    def strange_files(self) -> list[str]:
        """The paths of its files that are links, pipes or folders, so that they cannot be used."""
        if links := self._links():
            return links
        paths = [self.counts_path, self.last_path, self.loss_path, self.rejected_path]
        paths += [self.former_path, self._adopted_path]
        try:
            paths += [os.path.join(self.path, name) for name in sorted(os.listdir(self.path))]
        except OSError:
            paths.append(self.path)
        return [
            path
            for path in paths
            if os.path.lexists(path) and (os.path.islink(path) or not os.path.isfile(path))
        ]

    def fail(self, reason: str) -> None:
        """Keep why an event was not answered."""
        self._make_folders()
        _set_note(self.loss_path, **{**self.loss(), "reason": reason[:200]})

    def say(self) -> None:
        """Record that the user was informed of the losses."""
        self._count(_SAID)

    def read(self) -> dict[str, bytes]:
        """The entries by their paths, oldest first."""
        entries = {}
        for listed in self.files():
            for path in (listed, listed + _WAITING):
                # Another process may have taken it in, or marked it as waiting.
                with suppress(FileNotFoundError):
                    entries[path] = _content(path)
                    break
        return entries

    def rejected(self) -> bytes:
        """The lines that were kept aside. Raises `OSError` when they cannot be read."""
        try:
            return _content(self.rejected_path)
        except FileNotFoundError:
            return b""

    def begin(self) -> None:
        """Finish the work of a killed process, and add the entries of an earlier version."""
        self._unlink_taken()
        with suppress(FileNotFoundError):
            os.unlink(self._scratch)
        # A hook of the earlier version that still runs begins another file.
        if os.path.exists(self.former_path) and not os.path.exists(self._adopted_path):
            os.rename(self.former_path, self._adopted_path)
        if not os.path.exists(self._adopted_path):
            return
        self._make_folders()
        # The names are the same after a kill, and others for another file.
        at = max(os.stat(self._adopted_path).st_mtime_ns, 0)
        for number, line in enumerate(_content(self._adopted_path).splitlines(keepends=True)):
            _exchange(self._scratch, line, self._place(f"{at:020}-{number:08}"), wait=False)
        if sys.platform != "win32":
            # Once for all entries: to wait for each could take minutes.
            os.sync()
        self._adopt_counts()
        os.unlink(self._adopted_path)

    def _adopt_counts(self) -> None:
        """Go on with the counts of an earlier version."""
        meter, blocked = (os.path.join(self.folder, name) for name in ("meter", "blocked"))
        if not os.path.exists(meter):
            return
        counts = _note(meter, refused=0, skipped=0, cut=0, told=0, full=0)
        with suppress(OSError):
            counts["skipped"] += os.stat(blocked).st_size
        last, loss = _note(meter, last=0.0, event=""), _note(meter, reason="", lost_at=0.0)
        # Before they are counted, so that they are never counted twice.
        for path in (blocked, meter):
            with suppress(FileNotFoundError):
                os.unlink(path)
        lost, told = _REFUSED * counts["refused"] + _SKIPPED * counts["skipped"], counts["told"]
        said, unsaid = lost[:told] + _SAID * bool(told), lost[told:]
        self._count(_CUT * counts["cut"] + said + unsaid + _ROOM * (not counts["full"]))
        _set_note(self.last_path, at=last["last"], event=last["event"])
        _set_note(self.loss_path, **loss)

    def remove(self, paths: Iterable[str]) -> None:
        """Remove entries: all of them, even if the process is killed meanwhile."""
        names = os.fsencode("\0".join(map(os.path.basename, paths)))
        _exchange(self._scratch, names, self._taken_path)
        self._unlink_taken()

    def _unlink_taken(self) -> None:
        try:
            names = {*os.fsdecode(_content(self._taken_path)).split("\0")}
        except FileNotFoundError:
            return
        for path in self.files():
            if os.path.basename(path) in names:
                os.unlink(path)
        os.unlink(self._taken_path)
        if self.counts().full:
            self._count(_ROOM)

    def rewrite(self, path: str, entry: Any) -> None:
        """Change an entry."""
        _exchange(self._scratch, _line(entry), path)

    def keep_waiting(self, path: str, prompt: Any) -> None:
        """Mark a prompt that waits for its answer. `prompt` is the part that is kept meanwhile."""
        if not path.endswith(_WAITING):
            self.rewrite(path, prompt)
            os.rename(path, path + _WAITING)

    def reject(self, entries: list[bytes], number: int, reason: str) -> None:
        """Count a number of entries that cannot be taken in, and keep these lines of them aside."""
        lines = self.rejected()
        if entries and len(lines) < MOST_REJECTED:
            lines += b"".join(line + b"\n" for line in entries)
            _exchange(self._scratch, lines, self.rejected_path)
        self._lose(_SKIPPED * number, reason)

    def edit(self, change: Callable[[Any], Any]) -> None:
        """Change the entries that wait. The caller keeps other processes from taking them in.

        A torn one becomes `{}`, which counts as damaged. Raises `OSError` when they cannot be
        written.
        """
        self.begin()
        for path, line in self.read().items():
            if (changed := _changed(line, change) or b"{}\n") != line:
                _exchange(self._scratch, changed, path)

    def edit_rejected(self, change: Callable[[Any], Any]) -> None:
        """Change the entries that were kept aside. A torn one is removed.

        Raises `OSError` when they cannot be written.
        """
        if lines := self.rejected().splitlines():
            changed = b"".join(_changed(line, change) for line in lines)
            _exchange(self._scratch, changed, self.rejected_path)

    def _lose(self, counted: bytes, reason: str) -> None:
        self._make_folders()
        self._count(counted)
        _set_note(self.loss_path, reason=reason[:200], lost_at=time.time())

    def _count(self, counted: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        with open(_opened(self.counts_path, flags), "wb") as file:
            file.write(counted)

    def _make_folders(self) -> None:
        """Create the folders, for the user alone, if they are missing.

        The counts and the note of a loss are created, too, for a disk that is full later.
        """
        if os.path.isdir(self.path):
            return
        for folder in (os.path.dirname(self.folder), self.folder, self.path):
            with suppress(FileExistsError):
                os.mkdir(folder, 0o700)
        self._count(_ROOM)
        _set_note(self.loss_path, **self.loss())


def unanswered(at: float) -> bool:
    """Whether a prompt of a time, in seconds since 1970, has waited too long for its answer."""
    return time.time() - at > PATIENCE_SECONDS


def _note(path: str, **values: Any) -> dict[str, Any]:
    """The values of a note: those given where it is missing or damaged."""
    try:
        note = json.loads(_content(path))
        stored = {name: note[name] for name in values if type(note.get(name)) is type(values[name])}
    except (OSError, ValueError, AttributeError, RecursionError):
        return values
    return {**values, **stored}


def _set_note(path: str, **values: Any) -> None:
    """Write a note in place, if that is possible: entries are more important.

    It has one size, so that it can be written on a full disk.
    """
    text = json.dumps(values, ensure_ascii=False).encode("utf-8", "replace")
    with suppress(OSError), open(_opened(path, os.O_WRONLY | os.O_CREAT), "wb") as file:
        file.write(text[:NOTE_BYTES].ljust(NOTE_BYTES))


def _time_of(path: str) -> int:
    """The time in the name of an entry, in nanoseconds since 1970; 0 for a name without one."""
    number = os.path.basename(path)[:20]
    return int(number) if number.isdecimal() else 0


def _line(value: Any) -> bytes:
    # ASCII: a lone surrogate has no UTF-8.
    return json.dumps(value, separators=(",", ":")).encode("ascii") + b"\n"


def _changed(line: bytes, change: Callable[[Any], Any]) -> bytes:
    """A line with its entry changed; empty for a torn one."""
    try:
        return _line(change(json.loads(line)))
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
    with open(_opened(path, os.O_RDONLY), "rb") as file:
        return file.read()


def _exchange(scratch: str, data: bytes, path: str, *, wait: bool = True) -> None:
    """Write a file, whole or not at all, and `wait` until it is on the disk."""
    file = _opened(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        with open(file, "wb") as opened:
            opened.write(data)
            if wait:
                opened.flush()
                os.fsync(file)
        os.replace(scratch, path)
    except OSError:
        os.unlink(scratch)
        raise
