"""What a job is: a name, a schedule, what it costs, and how it runs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from msgspec import Struct

from djinn_memory.models import Problem, Vault
from djinn_memory.runtime import Runtime
from djinn_memory.upkeep.requests import JobAction


class JobReport(Struct, frozen=True):
    """The result of one job."""

    actions: tuple[JobAction, ...] = ()
    """What it did, or in a dry run would do."""
    problems: tuple[Problem, ...] = ()
    """What could not be done."""


class JobContext(Struct, frozen=True):
    """What a run of a job is about."""

    runtime: Runtime
    """The opened home."""
    agents: tuple[str, ...]
    """The agents that it is run for: all of the home, or one."""
    vaults: tuple[Vault, ...]
    """The vaults that it may show and change."""
    dry_run: bool
    """Whether to say only what would be done."""


class Job(Struct, frozen=True):
    """A job. It is idempotent: after an interruption the next run does what is left."""

    name: str
    """As `djinn maintain --only` takes it."""
    every: timedelta
    """How long after its last run it is due again."""
    cost: str
    """What a run costs, in one sentence: what it reads and writes, which models it uses."""
    run: Callable[[JobContext], JobReport]
