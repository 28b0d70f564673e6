"""Checks of the hooks that clients call, and of the spool to which these append."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from djinn_memory.errors import Remedy
from djinn_memory.memories.hooks.installation import hook_state
from djinn_memory.system.plural import count
from djinn_memory.upkeep.findings import INDEX, Check, CheckedHome, hint, ok, warning

RECENT = timedelta(days=7)
"""A loss that is older is no finding any more. `djinn hook status` still counts it."""


def hooks(case: CheckedHome) -> Iterator[Check]:
    """Check that installed hooks can record, and that their events were recorded."""
    state = hook_state(case.home)
    checks = []
    for hook in state.hooks:
        if hook.fault:
            again = Remedy("hooks.install", {"client": hook.client}, "install them anew")
            what = f"the hooks in {hook.path} do not work: {hook.fault}"
            checks.append(warning("hooks", what, again))
    for line in state.unreadable:
        checks.append(warning("hooks", line))
    if state.full:
        what = f"the spool of hooks is full; {count(state.refused, 'event')} refused so far"
        checks.append(warning("hooks", what, INDEX))
    elif (lost := state.refused + state.skipped) and _is_recent(state.lost_at):
        why = f" ({state.reason})" if state.reason else ""
        what = f"{count(lost, 'event')} of hooks could not be recorded{why}"
        checks.append(hint("hooks", what, Remedy("hooks.status", purpose="see the counts")))
    if state.hooks and not checks:
        clients = ", ".join(dict.fromkeys(hook.client for hook in state.hooks))
        checks.append(ok("hooks", f"installed for {clients}"))
    yield from checks


def _is_recent(time: str | None) -> bool:
    return time is None or datetime.now(UTC) - datetime.fromisoformat(time) < RECENT
