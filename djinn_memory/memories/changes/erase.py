"""Removes kept bytes: those that hold a purged memory, and those that are too old."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from djinn_memory.home import access
from djinn_memory.memories.changes.kept_bytes import KeptBytes
from djinn_memory.memories.changes.plan import PLANNED, from_event
from djinn_memory.models import Vault
from djinn_memory.store.ledger.reading import events_of
from djinn_memory.store.ledger.redaction import CONTAINED, phrases
from djinn_memory.store.state import State


def erase_quotes(
    state: State, vault: Vault, paths: Collection[str], texts: Sequence[str], memory: str | None
) -> int:
    """Remove the kept bytes of changes that hold a purged memory. Returns the number of changes.

    These are changes of its files, and of files that hold its id, its text or a long line of it.
    Only vaults with the readers of `vault` count, unless every agent may read that vault, so that
    nobody learns what was purged. The changes can no longer be taken back.
    """
    kept = KeptBytes(state.home)
    ids = kept.ids()
    if not ids:
        return 0
    related = {
        other.id
        for other in state.home.vaults
        if access.is_open(vault) or access.same_readers(other, vault)
    }
    wanted = [phrase.encode() for phrase in phrases(texts) if len(phrase) >= CONTAINED]
    wanted += [memory.encode()] if memory else []
    erased = 0
    for event in events_of(state.ledger, (PLANNED,), ids):
        record = from_event(event)
        files = enumerate(record.plan.files if record else ())
        if record is None or any(
            (file.vault == vault.id and file.path in paths)
            or (file.vault in related and _holds(kept.read(event.subject, number), wanted))
            for number, file in files
        ):
            kept.drop(event.subject)
            erased += 1
    return erased


def _holds(data: bytes | None, wanted: Sequence[bytes]) -> bool:
    # Line endings differ between the parsed text and the file, lines do not.
    return data is not None and any(phrase in data for phrase in wanted)


def expired(state: State, now: datetime, age: timedelta) -> list[str]:
    """The ids of changes whose bytes were kept before `now - age`, oldest first."""
    kept = KeptBytes(state.home)
    pending = set(kept.pending())
    limit = (now - age).timestamp()
    return [
        identity
        for identity in kept.ids()
        if identity not in pending and kept.changed(identity) < limit
    ]
