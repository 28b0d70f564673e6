"""The definition of a job: its name, schedule, cost and function."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta

from msgspec import Struct

from djinn_memory.errors import DjinnError
from djinn_memory.memories.changes.history import past_changes
from djinn_memory.models import Problem, Vault
from djinn_memory.runtime import Runtime
from djinn_memory.store.sqlite import DamagedDatabase
from djinn_memory.upkeep.requests import JobAction


class JobReport(Struct, frozen=True):
    """The result of one job."""

    actions: tuple[JobAction, ...] = ()
    """The actions of the job; in a dry run, the actions that it would take."""
    problems: tuple[Problem, ...] = ()
    """Actions that failed."""


class JobContext(Struct, frozen=True):
    """The scope of a job's run."""

    runtime: Runtime
    """The opened home."""
    agents: tuple[str, ...]
    """The agents to run it for: all agents of the home, or one."""
    vaults: tuple[Vault, ...]
    """The vaults that the job may read and change."""
    dry_run: bool
    """Whether only to report what would be done."""

    def was_written(self, vault: Vault, path: str, seen: Sequence[Vault]) -> bool:
        """Whether a note exists, or existed before it was moved, deleted or taken back.

        `seen` are the vaults whose changes are looked at.
        """
        return os.path.lexists(vault.root / path) or any(
            (file.vault, file.path) == (vault.id, path)
            for change in past_changes(self.runtime.state, seen)
            for file in change.record.plan.files
        )


Work = tuple[Iterable[JobAction], Iterable[Problem]]
"""The actions of a job for one agent, and the problems with them."""


def for_each_agent(context: JobContext, noun: str, work: Callable[[str], Work]) -> JobReport:
    """Run a job for one agent after another, and list each problem once.

    An error for one agent is a problem of its `noun`, such as `patterns of me`. The other agents
    are not affected.
    """
    actions: list[JobAction] = []
    problems: list[Problem] = []
    for agent in context.agents:
        try:
            done, failed = work(agent)
        except DamagedDatabase:
            raise
        except (DjinnError, OSError) as error:
            problems.append(Problem(f"{noun} of {agent}", reason(error)))
            continue
        actions += done
        problems += (problem for problem in failed if problem not in problems)
    return JobReport(tuple(actions), tuple(problems))


def reason(error: DjinnError | OSError) -> str:
    """Why a part of a job failed, in one sentence."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


class Job(Struct, frozen=True):
    """A job. It is idempotent: after an interruption the next run completes the work."""

    name: str
    """The name, as `djinn maintain --only` accepts it."""
    every: timedelta
    """The time after its last run when it is due again."""
    does: str
    """Its work, in one sentence without its subject. `djinn maintain --help` lists it."""
    cost: str
    """The cost of a run in one sentence: its reads and writes, and the models that it uses."""
    run: Callable[[JobContext], JobReport]
    """The work."""
    at: str = ""
    """The local time of day at which it is due instead, as `HH:MM`; empty for any time."""
