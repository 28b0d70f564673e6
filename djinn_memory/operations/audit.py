"""The audit: the ledger records each tool call with its agent, outcome and duration."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from djinn_memory.errors import DjinnError
from djinn_memory.models import Problem
from djinn_memory.secrets import mask
from djinn_memory.store.ledger import Event
from djinn_memory.store.recovery import store_errors
from djinn_memory.store.state import State
from djinn_memory.system.plural import count

LONGEST = 1000
"""Maximum length of a text that is kept. A longer text is not kept at all, because `purge` only
removes texts that it finds whole."""

MOST = 50
"""Maximum number of values of a list or an object that are kept."""

_LABELS = {"value": ("category", "key"), "text": ("title",)}
"""Arguments that label other arguments, such as `WiFi password` for `hunter2`."""


class ToolCall(Struct, frozen=True):
    """One finished call of a tool."""

    tool: str
    agent: str
    session: str | None
    arguments: Mapping[str, Any]
    outcome: str
    """`done`, or the kind of the error, a colon and its message."""
    milliseconds: float


def record(state: State, call: ToolCall) -> Problem | None:
    """Append a call to the ledger, without secrets. Returns the problem if it cannot be written."""
    kind, _, reason = call.outcome.partition(": ")
    data = {
        "agent": call.agent,
        "session": call.session,
        "arguments": _arguments(call.arguments),
        "outcome": f"{kind}: {_kept(reason)}" if reason else kind,
        "milliseconds": round(call.milliseconds, 1),
    }
    errors: tuple[type[Exception], ...] = (DjinnError, OSError, *store_errors())
    try:
        # The next call waits for this record; what the call did itself is on the disk already.
        state.ledger.append([Event("tool.called", _kept(call.tool), data)], durable=False)
    except errors as error:
        why = getattr(error, "strerror", None) or str(error)
        return Problem("ledger", f"this call is not in the audit: {why}")
    return None


def _arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments in the form for the audit. A text is masked together with its label."""
    arguments: dict[str, Any] = _kept(given)
    for name, labels in _LABELS.items():
        if isinstance(given.get(name), str):
            label = " ".join(str(given.get(key) or "") for key in labels)
            arguments[name] = _text(given[name], label)
    return arguments


def _kept(value: Any, depth: int = 0, label: str = "") -> Any:
    """A value in the form for the audit: secrets masked, long or deep parts cut.

    `label` is the name of the value, which may show that it is a secret.
    """
    if isinstance(value, str):
        return _text(value, label)
    if isinstance(value, Mapping | list | tuple) and depth > 4:
        return _kept(json.dumps(value, default=str))
    if isinstance(value, Mapping):
        most = list(value.items())[:MOST]
        return {_kept(str(key)): _kept(part, depth + 1, str(key)) for key, part in most}
    if isinstance(value, list | tuple):
        return [_kept(part, depth + 1) for part in value[:MOST]]
    return value


def _text(text: str, label: str) -> str:
    if len(text) > LONGEST:
        return f"({count(len(text), 'character')})"
    # A label that holds a secret is masked with the text, so that it is no prefix afterwards.
    before = f"{mask(label)}: " if len(label) <= LONGEST else ""
    masked = mask(f"{before}{text}".encode("utf-8", "replace").decode())
    return masked.removeprefix(before)
