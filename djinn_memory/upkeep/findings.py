"""The findings of `djinn doctor`, and their fixes."""

from __future__ import annotations

import shlex
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec import Struct

from djinn_memory.embedding.registry import ModelRegistry
from djinn_memory.errors import DjinnError, Remedy, current_wording
from djinn_memory.home.home import Home
from djinn_memory.indexing.refresh import index
from djinn_memory.models import ProgressCallback
from djinn_memory.store.state import State
from djinn_memory.system.disks import paths_open_to_others
from djinn_memory.system.plural import count
from djinn_memory.upkeep.requests import DoctorFinding, Severity

Mend = Callable[[], str]
"""Fixes a finding and returns a description. Two findings may share a fix, which then runs once."""

MOST_NAMES = 3
"""Maximum number of files that a finding names."""

INDEX = Remedy("index")
FIX = Remedy("doctor", {"fix": True})


class Check(Struct, frozen=True):
    """A finding, with a fix if one can safely run unasked."""

    finding: DoctorFinding
    mend: Mend | None = None


class CheckedHome(Struct):
    """The examined home, and the means to fix it."""

    home: Home
    state: State
    models: ModelRegistry
    progress: ProgressCallback
    indexed: str | None = None
    """The result of the index run."""

    def reindexed(self) -> str:
        """Set a damaged index or cache aside and index all vaults. Returns a description.

        Several findings may use this fix. It runs once.
        """
        if self.indexed is None:
            before = len(self.state.problems)
            self.state.set_aside_damaged()
            problems = self.state.problems[before:]
            aside = [f"{problem.what.rpartition('/')[2]} {problem.why}" for problem in problems]
            report = index(
                self.state, self.models, self.state.home.vaults,
                whole=True, rebuild=False, progress=self.progress,
            )  # fmt: skip
            vectors = f"{count(report.embedded, 'text')} embedded, {report.reused:,} from the cache"
            notes = f"indexed {count(report.notes, 'note')}: {vectors}"
            self.indexed = "; ".join([*aside, notes])
        return self.indexed


def _check(
    severity: Severity, part: str, what: str, remedy: Remedy | str = "", mend: Mend | None = None
) -> Check:
    return Check(DoctorFinding(severity, part, what, str(remedy) or None, mend is not None), mend)


ok = partial(_check, "ok")
"""A part has no problem."""

hint = partial(_check, "hint")
"""Useful information; no part fails because of it."""

warning = partial(_check, "warning")
"""A part does not work correctly; other parts are not affected."""

error = partial(_check, "error")
"""A part does not work at all."""


def failure(part: str, raised: DjinnError, mend: Mend | None = None) -> Check:
    """An error that a check raised, with its remedies."""
    words = current_wording()
    what = words.error(DjinnError(raised.message, argument=raised.argument))
    return error(part, what, words.remedies(raised), mend)


def some(names: Sequence[str]) -> str:
    """The first names, and the number of the others."""
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def privacy(part: str, root: Path) -> Iterator[Check]:
    """Check whether a private folder and its content are accessible only to the user."""
    paths = paths_open_to_others(root)

    def mend() -> str:
        for path in paths:
            with suppress(FileNotFoundError):
                path.chmod(stat.S_IMODE(path.lstat().st_mode) & 0o700)
        return f"removed the permissions of other users on {count(len(paths), 'file')}"

    remedy = f"chmod -R go-rwx {shlex.quote(str(root))}"
    if root in paths:
        what = f"{root} is private, but other users of this machine can access it"
        yield warning(part, what, remedy, mend)
    elif paths:
        # The closed folder keeps others out for as long as the files stay in it.
        names = some([str(path.relative_to(root)) for path in paths])
        what = f"only the permissions of the folder {root} protect {names} from other users"
        yield hint(part, what, remedy, mend)


def removing(paths: Sequence[Path]) -> Mend:
    """A fix that removes leftover files and folders."""

    def mend() -> str:
        for path in paths:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        return f"removed {some([path.name for path in paths])}"

    return mend
