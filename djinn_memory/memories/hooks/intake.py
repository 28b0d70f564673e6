"""Takes the spool in: entries of hooks become episodes and events of sessions.

A command does this before it reads memories, for a short time. An entry is removed from the
spool only after it is in the journals. Turns have keys, so a process that is killed in between
loses nothing and doubles nothing.
"""

from __future__ import annotations

from djinn_memory.memories.hooks.spool import Spool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from djinn_memory.runtime import Runtime

QUICK_SECONDS = 0.2
"""Seconds after which a command starts no further batch. The next command goes on."""


def take_in(runtime: Runtime, agent: str | None = None, *, seconds: float = QUICK_SECONDS) -> None:
    """Take in the entries of hooks. A failure becomes a problem of `runtime`, and loses nothing.

    `agent` is the one who asks. Only a person, who names none, is told of failures: an agent must
    not learn what others record. Costs one look at a folder if there is nothing to take in.
    """
    spool = Spool(str(runtime.home.state))
    if runtime.read_only or not spool.is_due():
        return
    from djinn_memory.memories.hooks.recording import losses, record_spool

    problem = record_spool(runtime, spool, seconds)
    if agent is None:
        runtime.problems += [each for each in (problem, losses(spool)) if each]
