"""Checks quickly before an answer whether the vaults have changed since they were indexed."""

from __future__ import annotations

import time
from collections.abc import Sequence

from msgspec import Struct

from djinn_memory.errors import NotFound
from djinn_memory.indexing.scan import changes
from djinn_memory.models import Problem, Vault
from djinn_memory.notes.vault.walk import walk
from djinn_memory.store.index import memories
from djinn_memory.store.sqlite import Connection


class StaleNotes(Struct, frozen=True):
    """The result of a quick scan for changes."""

    changed: int
    """The number of new, changed or deleted notes."""
    racy: int
    """The number of notes that look unchanged, but were read too soon after a write to be sure."""
    complete: bool
    """Whether all folders were scanned."""
    problems: list[Problem]


def stale(
    connection: Connection,
    vaults: Sequence[Vault],
    exclude: Sequence[str],
    deadline: float,
) -> StaleNotes:
    """Count the notes that changed since they were indexed, until `deadline`.

    Reads only the index and directory listings. `deadline` is a `time.monotonic` value.
    """
    numbers = {vault.id: key for key, vault in memories.vault_ids(connection, vaults).items()}
    changed = racy = 0
    complete = True
    problems = []
    # Another vault comes first each time, so that a short deadline never leaves the same one out.
    first = time.monotonic_ns() % len(vaults) if vaults else 0
    for vault in (*vaults[first:], *vaults[:first]):
        try:
            listing = walk(vault, exclude, deadline=deadline)
        except NotFound as error:
            problems.append(Problem(vault.name, str(error)))
            continue
        known = memories.known(connection, numbers[vault.id]) if vault.id in numbers else {}
        difference = changes(known, listing)
        if not listing.files:
            problems += listing.problems
        changed += len(difference.suspects) + len(difference.gone)
        racy += len(difference.racy)
        complete = complete and listing.complete
    return StaleNotes(changed, racy, complete, problems)
