"""The state of hooks: what is installed, and how the spool of a home is."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from djinn_memory.home.home import Home
from djinn_memory.memories.hooks.installation import installed_hooks
from djinn_memory.memories.hooks.requests import HookState
from djinn_memory.memories.hooks.spool import Spool, SpoolBusyError
from djinn_memory.notes.dates import moment


def hook_state(home: Home) -> HookState:
    """The installed hooks, and the counts of the spool of a home. This only reads."""
    hooks, unreadable = installed_hooks(home)
    spool = Spool(str(home.state))
    meter, size = spool.meter(), spool.size()
    unreadable += (f"{path} is not a regular file; remove it" for path in spool.strange_files())
    entries, rejected = meter.entries, 0
    with suppress(OSError, SpoolBusyError):
        # A hook that was killed has not counted its own entry.
        entries = entries if meter.size == size else spool.read().count(b"\n")
        rejected = spool.rejected().count(b"\n")
    return HookState(
        hooks,
        unreadable,
        Path(spool.path),
        entries,
        size,
        bool(meter.full),
        meter.refused,
        meter.skipped + spool.blocked(),
        meter.cut,
        rejected,
        _moment(meter.last),
        meter.event or None,
        _moment(meter.lost_at),
        meter.reason or None,
    )


def _moment(seconds: float) -> str | None:
    """A time in seconds since 1970; None for 0."""
    return moment(datetime.fromtimestamp(seconds, UTC)) if seconds > 0 else None
