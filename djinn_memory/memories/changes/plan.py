"""The plan of a change set: the content of each file before and after it, as the ledger keeps it.

A plan holds hashes, not text. The bytes before the change are files: `changes/ID/3` holds the bytes
of the fourth file of a plan, and has the time when that file was last saved. `changes/ID.pending`
holds the plan from before the first step of a change set until after its last.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.errors import Refused
from djinn_memory.home.home import Home
from djinn_memory.store.ledger import Event
from djinn_memory.store.ledger.redaction import BLANK
from djinn_memory.system.files import make_folder, saved_ns, set_saved, sync_folder, write_private

PLANNED, DONE = "change.planned", "change.done"
"""The kinds of the events of a change set: its plan, and that all of it was done. An older version
of djinn recorded the plan before the first step."""


class FileChange(Struct, frozen=True, omit_defaults=True):
    """The change of one file. A rewritten file that moves is one file that is created and one that
    is removed.
    """

    vault: str
    """The id of its vault."""
    path: str
    """Its path, relative to the folder of the vault."""
    before: str | None
    """The hash of its bytes before the change; None if it does not exist then."""
    after: str | None
    """The hash of its bytes after the change; None if it does not exist then."""
    mode: int | None = None
    """Its permissions, for a file that is created or removed; None for those of a new file."""
    domains: tuple[str, ...] = ()
    """The domains of its changed memories, before and after the change."""
    moved: str | None = None
    """The other path of a file that only moves, such as one in the trash: to there if nothing is at
    `path` after the change, else from there. It may be of any size, and no bytes are kept."""
    sections: tuple[tuple[str, str], ...] = ()
    """The sections that were appended to a journal: block ids, and the hashes of their texts from
    `section_digest`. The journal has no hashes and no kept bytes, since others append to it."""

    def reversed(self) -> FileChange:
        """The change that takes it back."""
        return replace(self, before=self.after, after=self.before)


class ChangePlan(Struct, frozen=True, omit_defaults=True):
    """The files of a change set, in the order in which they change."""

    command: str
    """The command that makes the change, such as `lint --fix`."""
    what: str
    """The change, in one sentence. Empty if its files say it."""
    files: tuple[FileChange, ...]
    """The files. Created files come first and removed files last, so that no text is missing at any
    moment."""
    folders: tuple[tuple[str, str], ...] = ()
    """The folders that the change creates, by vault id and path, outer folders first."""
    undoes: str | None = None
    """The id of the change set that this one takes back."""
    agent: str | None = None
    """The agent for whom the change is made; None for the user of the home."""
    trash: bool = False
    """Whether files that are removed, also by its undo, go to the trash of their vaults."""
    by: str | None = None
    """The agent on whose word it is made; `djinn watch` for its upkeep, None for a person."""

    @property
    def is_appended(self) -> bool:
        """Whether it is only sections that were appended, for which no bytes are kept."""
        return all(file.sections for file in self.files)

    @property
    def is_one_write(self) -> bool:
        """Whether the change is one write, which is never done in part and loses no file."""
        return len(self.files) == 1 and bool(self.files[0].after or self.files[0].sections)

    def event(self, identity: str) -> Event:
        """The event that announces it under an id; see `RecordedChange.of`."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        vaults = {file.vault for file in self.files}
        # A purge looks at the agent and the vault of an event; see `Ledger.redact`.
        if len(vaults) == 1:
            data["vault"] = vaults.pop()
        return Event(PLANNED, identity, data)


class RecordedChange(Struct, frozen=True):
    """A plan in the ledger."""

    id: str
    at: datetime
    plan: ChangePlan

    @property
    def purged(self) -> bool:
        """Whether a purge has removed a part of the plan, which can then not be taken back."""
        return any(file.path == BLANK for file in self.plan.files)

    @classmethod
    def of(cls, event: Event) -> RecordedChange | None:
        """The change set that an event announces. None for data of another program."""
        try:
            plan = msgspec.convert(event.data, ChangePlan)
            return cls(event.subject, datetime.fromisoformat(event.at), plan)
        except (msgspec.ValidationError, ValueError):
            return None


def digest(data: bytes | None) -> str | None:
    """The hash by which a plan recognises the bytes of a file; None for a file that does not
    exist.
    """
    return None if data is None else hashlib.sha256(data).hexdigest()


def section_digest(text: str) -> str:
    """The hash of the text of a section, without the blank lines around it. A home has few enough
    sections for 12 digits.
    """
    return hashlib.sha256(text.strip().encode()).hexdigest()[:12]


FOLDER = "changes"

_PENDING = ".pending"
_PLAN = "plan"
"""The plan in the folder of its change set until all bytes are kept."""

_ID = re.compile(r"chg_[0-9a-z]{10}")
"""The names of folders that djinn made. No other folder is ever removed."""


class KeptBytes:
    """The kept bytes of a home."""

    def __init__(self, home: Home) -> None:
        self.folder = home.state / FOLDER

    def keep(
        self,
        identity: str,
        plan: ChangePlan,
        files: Mapping[int, bytes],
        times: Mapping[int, int | None],
    ) -> None:
        """Keep the bytes of files by their number in the plan, and mark the plan as pending.

        `times` are the times when the files were last saved, in nanoseconds since 1970. A power cut
        may undo this for a plan of one write, which needs no taking back. If this fails, nothing is
        kept. Raises `Refused` if the folder is a symbolic link.
        """
        if self.folder.is_symlink():
            raise Refused(
                f"{self.folder} is a symbolic link, which djinn does not follow; remove it first"
            )
        folder, sync = self._of(identity), not plan.is_one_write
        try:
            make_folder(folder, private=True)
            for number, data in files.items():
                write_private(folder / str(number), data, sync=sync)
                set_saved(folder / str(number), times.get(number))
            write_private(folder / _PLAN, msgspec.json.encode(plan), sync=sync)
            if sync:
                sync_folder(folder)
            (folder / _PLAN).rename(self._marker(identity))
            if sync:
                sync_folder(self.folder)
        except BaseException:
            self.drop(identity)
            raise

    def read(self, identity: str, number: int) -> bytes | None:
        """The bytes of a file. None if they are no longer kept."""
        with suppress(OSError):
            return (self._of(identity) / str(number)).read_bytes()
        return None

    def saved_ns(self, identity: str, number: int) -> int | None:
        """The time when a file was last saved before the change, in nanoseconds since 1970."""
        return saved_ns(self._of(identity) / str(number))

    def plan(self, identity: str) -> ChangePlan | None:
        """The plan of a pending change set. None if an older version of djinn began it."""
        with suppress(OSError, msgspec.DecodeError):
            return msgspec.json.decode(self._marker(identity).read_bytes(), type=ChangePlan)
        return None

    def holds(self, identity: str) -> bool:
        """Whether the bytes of a change set are kept."""
        return self._of(identity).is_dir()

    def finish(self, identity: str) -> None:
        """Note that a change set is no longer pending. Its bytes are kept."""
        self._marker(identity).unlink(missing_ok=True)

    def drop(self, identity: str) -> None:
        """Remove the bytes of a change set, and its mark as pending."""
        shutil.rmtree(self._of(identity), ignore_errors=True)
        with suppress(OSError):
            self.finish(identity)

    def pending(self) -> list[str]:
        """The ids of change sets that began and did not end, oldest first."""
        markers = self._own(_PENDING)
        return [path.stem for path in sorted(markers, key=_age)]

    def ids(self) -> list[str]:
        """The ids of all change sets whose bytes are kept, oldest first."""
        folders = [path for path in self._own("") if path.is_dir()]
        return [path.name for path in sorted(folders, key=_age)]

    def changed(self, identity: str) -> float:
        """The time at which the bytes of a change set were kept, in seconds since 1970."""
        return _age(self._of(identity))

    def size(self) -> int:
        """The number of kept bytes."""
        folders = (self._of(identity) for identity in self.ids())
        return sum(file.stat().st_size for folder in folders for file in folder.iterdir())

    def _own(self, suffix: str) -> list[Path]:
        """The entries that djinn made. A cloned home can hold others, and links to anywhere."""
        if self.folder.is_symlink():
            return []
        with suppress(OSError):
            return [
                path
                for path in self.folder.iterdir()
                if path.suffix == suffix and _ID.fullmatch(path.stem) and not path.is_symlink()
            ]
        return []

    def _of(self, identity: str) -> Path:
        return self.folder / identity

    def _marker(self, identity: str) -> Path:
        return self.folder / f"{identity}{_PENDING}"


def _age(path: Path) -> float:
    with suppress(OSError):
        return path.stat().st_mtime
    return 0.0
