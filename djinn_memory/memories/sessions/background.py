"""Starts the extraction of idle sessions in a process of its own, for which nobody waits.

The start and the end of a session do so. Hooks import this module, so it imports only the standard
library.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from djinn_memory.runtime import Runtime

LOCK = "job-extract.lock"
"""The lock of an extraction in the state folder, which is that of the job `extract`."""

LOG = "extract.log"
"""The log of the process in the state folder. It is empty unless the extraction failed."""

_CALL = "from djinn_memory.upkeep.background import main; main()"


def start_extraction(runtime: Runtime) -> None:
    """Start an extraction if a session is idle and was not extracted.

    Does nothing if extraction is switched off, if another one runs, or if nothing can be written.
    """
    from djinn_memory.errors import DjinnError
    from djinn_memory.system.locks import is_locked

    with suppress(DjinnError, OSError):
        state = runtime.home.state
        if is_due(runtime) and not is_locked(state / LOCK):
            start(str(runtime.home.root), str(state))


def start(root: str, state: str) -> None:
    """Start the process for a home with a state folder. Raises `OSError` if it cannot start."""
    from djinn_memory.system.detached import start_detached

    start_detached(["-c", _CALL, root], Path(state) / LOG)


def forget_failure(runtime: Runtime) -> None:
    """Remove the log of an extraction that failed, after another one has succeeded."""
    with suppress(OSError):
        (runtime.home.state / LOG).unlink(missing_ok=True)


def is_due(runtime: Runtime) -> bool:
    """Whether extraction is switched on, and a session is idle and was not extracted."""
    from djinn_memory.indexing.refresh import sweep
    from djinn_memory.memories.sessions.extraction.turns import ExtractionLog, unread_sessions

    home = runtime.home
    if (
        runtime.read_only
        or not home.config.sessions.extract
        or "extract" in home.config.upkeep.skip
    ):
        return False
    agents = [agent for agent in home.config.agents if not home.personal(agent).read_only]
    if sweep(runtime.state, [home.personal(agent) for agent in agents])[0]:
        # The process reads what is not indexed yet, and asks again.
        return True
    return any(
        next(unread_sessions(runtime, agent, ExtractionLog(runtime.state, agent), None), None)
        for agent in agents
    )
