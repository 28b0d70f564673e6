"""What a check-up finds, and what could mend it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from djinn_memory.embedding.registry import ModelRegistry
from djinn_memory.home.home import Home
from djinn_memory.models import ProgressCallback
from djinn_memory.store.state import State
from djinn_memory.upkeep.requests import DoctorFinding

Mend = Callable[[], str]
"""Mends what was found and says what was done. Two findings may share one, which is done once."""


class Check(Struct, frozen=True):
    """A finding with what mends it, if that is safe to do unasked."""

    finding: DoctorFinding
    mend: Mend | None = None


class CheckedHome(Struct):
    """The home that is looked at, and what it takes to mend it."""

    home: Home
    state: State
    models: ModelRegistry
    progress: ProgressCallback
    indexed: str | None = None
    """What was said of an index run."""

    def reindexed(self) -> str:
        """Bring the index up to date, once: what several findings ask for."""
        from djinn_memory.upkeep.reindex import reindex

        if self.indexed is None:
            self.indexed = reindex(self.state, self.models, self.progress)
        return self.indexed


def ok(part: str, what: str) -> Check:
    """All is well with a part."""
    return Check(DoctorFinding("ok", part, what))


def hint(part: str, what: str, remedy: str | None = None, mend: Mend | None = None) -> Check:
    """Worth knowing; nothing fails because of it."""
    return Check(DoctorFinding("hint", part, what, remedy, mend is not None), mend)


def warning(part: str, what: str, remedy: str | None = None, mend: Mend | None = None) -> Check:
    """Something does not work as it should, while the rest goes on."""
    return Check(DoctorFinding("warning", part, what, remedy, mend is not None), mend)


def error(part: str, what: str, remedy: str | None = None, mend: Mend | None = None) -> Check:
    """Something does not work at all."""
    return Check(DoctorFinding("error", part, what, remedy, mend is not None), mend)


def told(part: str, text: str, mend: Mend | None = None) -> Check:
    """An error of djinn's own: its text is what happened and, behind the last `;`, what to do."""
    what, _, remedy = text.rpartition("; ")
    return error(part, what or text, remedy if what else None, mend)


def some(names: list[str], most: int = 3) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def unlinking(paths: list[Path]) -> Mend:
    """What removes files that nobody needs."""

    def mend() -> str:
        for path in paths:
            path.unlink(missing_ok=True)
        return f"removed {some([one.name for one in paths])}"

    return mend
