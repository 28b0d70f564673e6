"""The process that extracts idle sessions, which the start or the end of a session starts."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path

from djinn_memory.errors import Busy, using_wording
from djinn_memory.home.home import Home
from djinn_memory.indexing.refresh import read
from djinn_memory.memories.changes.commit import recover_before_reading
from djinn_memory.memories.hooks.intake import take_in
from djinn_memory.memories.sessions.background import LOCK, is_due
from djinn_memory.operations.wording import CommandWording
from djinn_memory.runtime import Runtime
from djinn_memory.system.locks import lock
from djinn_memory.upkeep.jobs.job import JobContext
from djinn_memory.upkeep.jobs.sessions import EXTRACT

INTAKE_SECONDS = 60.0
"""Seconds for the entries of hooks that no command has taken in yet."""

LOCK_SECONDS = 1.0
"""Seconds to wait for the lock, which a process that only looks at it holds for a moment."""


def main() -> None:
    """Extract the idle sessions of the home that is the first argument of the process.

    Problems are printed to standard output.
    """
    # Libraries print warnings there that are no failures.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        with using_wording(CommandWording()):
            runtime = Runtime(Home(Path(sys.argv[1])))
            with runtime.busy(patient=True):
                _extract(runtime)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", flush=True)
    finally:
        # As after a command, the interpreter is not shut down step by step.
        os._exit(0)


def _extract(runtime: Runtime) -> None:
    home, state = runtime.home, runtime.state
    with ExitStack() as stack:
        try:
            stack.enter_context(lock(home.state / LOCK, timeout=LOCK_SECONDS))
        except Busy:
            return  # Another extraction runs.
        recover_before_reading(state)
        take_in(runtime, seconds=INTAKE_SECONDS)
        read(state, home.vaults)
        if is_due(runtime):
            context = JobContext(runtime, tuple(home.config.agents), home.vaults, dry_run=False)
            for problem in EXTRACT.run(context).problems:
                print(f"{problem.what}: {problem.why}", flush=True)
