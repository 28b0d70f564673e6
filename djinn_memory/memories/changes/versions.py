"""The earlier texts of a note, which the changes that djinn made to it have kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import unified_diff

from djinn_memory.memories.changes import files
from djinn_memory.memories.changes.history import past_changes
from djinn_memory.memories.changes.plan import FileChange, KeptBytes, digest
from djinn_memory.memories.changes.requests import NoteVersion
from djinn_memory.models import Vault
from djinn_memory.notes.dates import moment
from djinn_memory.notes.encoding import decode
from djinn_memory.store.state import State

MOST_LINES = 5_000
"""Lines of a text that is compared. The time grows faster than their number."""


def versions_of(
    state: State, vaults: Sequence[Vault], vault: Vault, path: str
) -> Iterator[NoteVersion]:
    """The versions of a note before each change that the readers of these vaults may see.

    The newest comes first. They go back through renames and moves.
    """
    store, place = KeptBytes(state.home), (vault.id, path)
    newer: bytes | None = files.current(vault, path)
    for change in past_changes(state, vaults):
        record, steps = change.record, change.record.plan.files
        number, after = _step(steps, place)
        if number is None:
            continue
        place = steps[number].vault, steps[number].path
        older = store.read(record.id, number)
        # The text before a note was written is empty.
        known = older is not None or steps[number].before is None
        diff = None
        # What another program wrote in between may hold what a limited reader must not see.
        seen = not vault.reader or digest(newer) == after
        if known and seen and newer is not None:
            diff = _diff(older or b"", newer)
        yield NoteVersion(
            record.id, moment(record.at), record.plan.command, record.plan.by, change.status, diff
        )
        newer = older if known else None


def _step(steps: Sequence[FileChange], place: tuple[str, str]) -> tuple[int | None, str | None]:
    """The number of the step that holds the bytes before a change of the file at a place, and the
    hash of the file after it.
    """
    for number, step in enumerate(steps):
        if step.sections or place not in ((step.vault, step.path), (step.vault, step.moved)):
            continue
        gone = [at for at, other in enumerate(steps) if other.after is None and not other.sections]
        # A note that moves is created in one place and removed from another.
        return gone[0] if step.before is None and len(gone) == 1 else number, step.after
    return None, None


def _diff(older: bytes, newer: bytes) -> str | None:
    first, second = (decode(data)[0].splitlines() for data in (older, newer))
    if max(len(first), len(second)) > MOST_LINES:
        return None
    return "\n".join([*unified_diff(first, second, n=1, lineterm="")][2:])
