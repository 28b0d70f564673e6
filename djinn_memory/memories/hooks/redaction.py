"""Removes texts from the events of hooks that are not in the journals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from djinn_memory.errors import Unavailable
from djinn_memory.memories.hooks.payloads import NAMES
from djinn_memory.memories.hooks.spool import Spool, SpoolBusyError
from djinn_memory.store.ledger.redaction import redacted
from djinn_memory.store.state import State
from djinn_memory.system.locks import lock


def redact_events(
    state: State, phrases: Sequence[str], may_quote: Callable[[Mapping[str, object]], bool]
) -> None:
    """Remove phrases from the events that wait, and from those that could not be taken in.

    `may_quote` decides from the agent of a waiting event whether it may quote the phrases. Raises
    `Unavailable` when the events cannot be changed.
    """

    def of_agent(entry: Any) -> Any:
        named = entry.get("agent") if isinstance(entry, dict) else None
        own = may_quote({"agent": named or state.home.agent(None)})
        return _without(entry, phrases) if own else entry

    spool = Spool(str(state.home.state))
    try:
        if spool.size():
            # A command that takes events in has them in memory, and would write them back.
            with lock(Path(spool.intake_lock)):
                spool.edit(of_agent)
        spool.edit_rejected(lambda entry: _without(entry, phrases))
    except (OSError, SpoolBusyError) as error:
        raise Unavailable(f"events of hooks cannot be changed: {error}; purge it again") from None


def _without(entry: Any, phrases: Sequence[str]) -> Any:
    if not isinstance(entry, dict):
        return redacted(entry, phrases, frozenset())
    return {
        key: value if key in NAMES else redacted(value, phrases, frozenset())
        for key, value in entry.items()
    }
