"""What a home wants done now and then, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from djinn_memory.errors import UsageError
from djinn_memory.memories.facts.writer import mark_expired, unmarked_expired
from djinn_memory.memories.working.promotion import earned, promote
from djinn_memory.models import Problem
from djinn_memory.store.state import State

if TYPE_CHECKING:
    from djinn_memory.embedding.registry import ModelRegistry


class JobReport(Struct, frozen=True):
    """One thing that was done, or is to be done."""

    task: str
    """What `--only` calls it."""
    what: str
    """One sentence."""
    vault: str | None = None
    """The vault of the note that it made or changed."""
    path: str | None = None
    """That note's file, relative to the folder of the vault."""


class MaintenanceReport(Struct, frozen=True):
    """What a run did."""

    tasks: tuple[str, ...]
    """Those that ran, in this order."""
    deeds: tuple[JobReport, ...]
    """What they did, or with `--dry-run` would do."""
    problems: tuple[Problem, ...]
    """What could not be done."""


Work = Callable[[State, "ModelRegistry", bool], tuple[list[JobReport], list[Problem]]]


def maintain(
    state: State, models: ModelRegistry, only: Sequence[str], *, dry_run: bool
) -> MaintenanceReport:
    """Do all tasks, or those named; with `dry_run` tell what they would do."""
    for name in only:
        if name not in TASKS:
            raise UsageError(f"--only {name}: no such task; allowed: {', '.join(TASKS)}")
    deeds: list[JobReport] = []
    problems: list[Problem] = []
    chosen = tuple(name for name in TASKS if name in only or not only)
    for name in chosen:
        done, wrong = TASKS[name](state, models, dry_run)
        deeds += done
        problems += wrong
    return MaintenanceReport(chosen, tuple(deeds), (*state.problems, *problems))


def _promote(
    state: State, models: ModelRegistry, dry_run: bool
) -> tuple[list[JobReport], list[Problem]]:
    """Short-term entries that were used often become notes."""
    if dry_run:
        found = earned(state)
        return [JobReport("promote", f"{one.agent}: {one.key} becomes a note") for one in found], []
    if not earned(state):
        return [], []
    done, problems = promote(state, models)
    deeds = []
    for one in done:
        became = "says what this note says, which tells of both" if one.joined else "became a note"
        deeds.append(JobReport("promote", f"{one.entry.agent}: {one.entry.key} {became}",
                          one.vault, one.path))  # fmt: skip
    return deeds, problems


def _expire(
    state: State, models: ModelRegistry, dry_run: bool
) -> tuple[list[JobReport], list[Problem]]:
    """Facts that have expired say so."""
    now = datetime.now(UTC)
    found = unmarked_expired(state, state.home.vaults, now)
    done = found if dry_run else mark_expired(state, models, found, now)
    verb = "is to be marked" if dry_run else "is marked"
    return [
        JobReport("expire", f"{one.category}/{one.key} {verb} as expired", one.vault.name, one.path)
        for one in done
    ], []


TASKS: dict[str, Work] = {"promote": _promote, "expire": _expire}
"""In the order in which they run."""
