"""Takes the spool in: what hooks recorded becomes episodes and events of sessions.

A command does this before it reads memories, for a short time. What is taken in is removed from
the spool only after it is in the journals. Turns have keys, so a process that is killed in between
loses nothing and doubles nothing.
"""

from __future__ import annotations

import time

from djinn_memory.memories.hooks.spool import Spool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from djinn_memory.runtime import Runtime

QUICK_SECONDS = 0.2
"""Seconds after which a command starts no further batch. The next command goes on."""


def take_in(runtime: Runtime, seconds: float = QUICK_SECONDS) -> None:
    """Take in what hooks recorded. A failure becomes a problem of `runtime`, and loses nothing.

    Costs one look at a file if there is nothing to take in.
    """
    spool = Spool(str(runtime.home.state))
    size = spool.size()
    if not size or runtime.read_only:
        return
    meter = spool.meter()
    if meter.settled == size and time.time() < meter.due:
        return
    from djinn_memory.memories.hooks.recording import record_spool

    for problem in record_spool(runtime, spool, seconds):
        if problem not in runtime.problems:
            runtime.problems.append(problem)
