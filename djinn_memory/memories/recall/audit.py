"""What clients asked of a server, in the ledger: for whom, how it ended, how long it took."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import apsw
from msgspec import Struct

from djinn_memory.errors import DjinnError
from djinn_memory.models import Problem
from djinn_memory.secrets import mask
from djinn_memory.store.ledger import Event
from djinn_memory.store.state import State
from djinn_memory.system.plural import count

LONGEST = 1000
"""Characters of a text that is kept. Of a longer one nothing is: `purge` takes out what it finds
whole, and could not know the beginning of a text for what it is."""

MOST = 50
"""Values of a list, or of an object, that are kept."""

_LABELS = {"value": ("category", "key"), "text": ("title",)}
"""Arguments of which others say what they are: `WiFi password`, and `hunter2`."""


class ToolCall(Struct, frozen=True):
    """One call of a tool, ended."""

    tool: str
    agent: str
    session: str | None
    arguments: Mapping[str, Any]
    outcome: str
    """`done`, or the kind of the error, a colon and what it says."""
    milliseconds: float


def record(state: State, call: ToolCall) -> Problem | None:
    """Append a call to the ledger, without secrets; the problem that kept it from there."""
    kind, _, said = call.outcome.partition(": ")
    data = {
        "agent": call.agent,
        "session": call.session,
        "arguments": _arguments(call.arguments),
        "outcome": f"{kind}: {kept(said)}" if said else kind,
        "milliseconds": round(call.milliseconds, 1),
    }
    try:
        # The next call waits for this one's record; what it did itself is on the disk already.
        state.ledger.append([Event("tool.called", kept(call.tool), data)], durable=False)
    except (DjinnError, apsw.Error, OSError) as error:
        why = getattr(error, "strerror", None) or str(error)
        return Problem("ledger", f"this call is not in the audit: {why}")
    return None


def _arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as the audit keeps them, with what stands beside a text as its label."""
    found: dict[str, Any] = kept(given)
    for name, labels in _LABELS.items():
        if isinstance(given.get(name), str):
            label = " ".join(str(given.get(one) or "") for one in labels)
            found[name] = _text(given[name], label)
    return found


def kept(value: Any, depth: int = 0, label: str = "") -> Any:
    """A value as the audit keeps it: secrets masked, what is long or deep cut.

    `label` is what it stands under, which may say that it is a secret.
    """
    if isinstance(value, str):
        return _text(value, label)
    if isinstance(value, Mapping | list | tuple) and depth > 4:
        return kept(json.dumps(value, default=str))
    if isinstance(value, Mapping):
        most = list(value.items())[:MOST]
        return {kept(str(key)): kept(one, depth + 1, str(key)) for key, one in most}
    if isinstance(value, list | tuple):
        return [kept(one, depth + 1) for one in value[:MOST]]
    return value


def _text(text: str, label: str) -> str:
    if len(text) > LONGEST:
        return f"({count(len(text), 'character')})"
    # A label with a secret in it would be masked with the text, and not be found before it.
    before = f"{mask(label)}: " if len(label) <= LONGEST else ""
    said = mask(f"{before}{text}".encode("utf-8", "replace").decode())
    return said.removeprefix(before)
