"""The bytes of files before a change set, kept in the state folder for the user alone.

`changes/ID/3` holds the bytes of the fourth file of a plan, and has the time when that file was
last saved. `changes/ID.pending` holds the plan from before the first step of a change set until
after its last.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from djinn_memory.errors import Refused
from djinn_memory.home.home import Home
from djinn_memory.memories.changes.plan import ChangePlan
from djinn_memory.system.files import make_folder, saved_ns, set_saved, sync_folder, write_private

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
