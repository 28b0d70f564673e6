"""Records the keys of a home as events, which go to the server without their secrets."""

from __future__ import annotations

from typing import Any

from djinn_memory.home.keys import Key, read_keys
from djinn_memory.runtime import Runtime
from djinn_memory.store.ledger import Event
from djinn_memory.store.ledger.events import KEY_ADDED, KEY_REVOKED
from djinn_memory.store.ledger.reading import stored_events
from djinn_memory.store.ledger.sync_state import home_id


def record_keys(runtime: Runtime) -> None:
    """Record how the keys of the home differ from those that were recorded last.

    The file of the keys is canonical: adding and revoking a key must work without a ledger. The
    event of a key belongs to the vault of the first agent that the key names.
    """
    ledger = runtime.state.ledger
    own = str(home_id(ledger))
    recorded: dict[str, dict[str, Any]] = {}
    for _, _, event in stored_events(ledger, (KEY_ADDED, KEY_REVOKED)):
        if event.data.get("home") == own:
            recorded.pop(event.subject, None)
            if event.kind == KEY_ADDED:
                recorded[event.subject] = event.data
    keys = {key.name: _data(runtime, key, own) for key in read_keys(runtime.home.keys_path)}
    changes: list[Event] = []
    for name, data in recorded.items():
        # The vault of another agent has another table.
        if keys.get(name, {}).get("agent") != data["agent"]:
            changes.append(Event(KEY_REVOKED, name, data))
    changes += [
        Event(KEY_ADDED, name, data) for name, data in keys.items() if recorded.get(name) != data
    ]
    if changes:
        ledger.append(changes)


def _data(runtime: Runtime, key: Key, home: str) -> dict[str, Any]:
    limits = {name: list(getattr(key, name)) for name in ("agents", "vaults", "domains")}
    rest = {name: getattr(key, name) for name in ("scope", "created", "expires")}
    return {"agent": (*key.agents, runtime.home.agent(None))[0], "home": home, **rest, **limits}
