"""The findings of a check-up, and what can mend them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from djinn_memory.embedding.registry import ModelRegistry
from djinn_memory.errors import DjinnError, Remedy, wording
from djinn_memory.home.home import Home
from djinn_memory.models import ProgressCallback
from djinn_memory.store.state import State
from djinn_memory.upkeep.requests import DoctorFinding, Severity

Mend = Callable[[], str]
"""Mends a finding and says what was done. Two findings may share one, which runs once."""

INDEX = Remedy("index")
FIX = Remedy("doctor", {"fix": True})


class Check(Struct, frozen=True):
    """A finding, with what mends it if that is safe to do unasked."""

    finding: DoctorFinding
    mend: Mend | None = None


class CheckedHome(Struct):
    """The home that is examined, and what it takes to mend it."""

    home: Home
    state: State
    models: ModelRegistry
    progress: ProgressCallback
    indexed: str | None = None
    """The result of the index run."""

    def reindexed(self) -> str:
        """Bring the index up to date, once: several findings ask for it."""
        from djinn_memory.upkeep.reindex import reindex

        if self.indexed is None:
            self.indexed = reindex(self.state, self.models, self.progress)
        return self.indexed


def _check(
    severity: Severity, part: str, what: str, remedy: Remedy | str | None, mend: Mend | None
) -> Check:
    text = str(remedy) if remedy else None
    return Check(DoctorFinding(severity, part, what, text, mend is not None), mend)


def ok(part: str, what: str) -> Check:
    """All is well with a part."""
    return _check("ok", part, what, None, None)


def hint(
    part: str, what: str, remedy: Remedy | str | None = None, mend: Mend | None = None
) -> Check:
    """Worth knowing; nothing fails because of it."""
    return _check("hint", part, what, remedy, mend)


def warning(
    part: str, what: str, remedy: Remedy | str | None = None, mend: Mend | None = None
) -> Check:
    """Something does not work as it should; the rest goes on."""
    return _check("warning", part, what, remedy, mend)


def error(
    part: str, what: str, remedy: Remedy | str | None = None, mend: Mend | None = None
) -> Check:
    """Something does not work at all."""
    return _check("error", part, what, remedy, mend)


def failure(part: str, raised: DjinnError, mend: Mend | None = None) -> Check:
    """An error that a check raised, with its remedies."""
    words = wording.get()
    what = words.error(DjinnError(raised.message, argument=raised.argument))
    return error(part, what, words.remedies(raised) or None, mend)


def some(names: Sequence[str], most: int = 3) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def unlinking(paths: Sequence[Path]) -> Mend:
    """Removes files that nobody needs."""

    def mend() -> str:
        for path in paths:
            path.unlink(missing_ok=True)
        return f"removed {some([path.name for path in paths])}"

    return mend
