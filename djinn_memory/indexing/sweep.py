"""A quick look, before a question is answered, whether the vaults still are what was indexed."""

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
    """What a look around saw."""

    changed: int
    """Notes that are new, changed or gone."""
    racy: int
    """Notes that look the same but were read too soon after they were written to be sure."""
    complete: bool
    """Whether all folders were looked at."""
    problems: list[Problem]


def stale(
    connection: Connection,
    vaults: Sequence[Vault],
    exclude: Sequence[str],
    deadline: float,
) -> StaleNotes:
    """How many notes changed since they were indexed, as far as could be seen until `deadline`.

    Reads only, from the index and from directory listings; `deadline` is a `time.monotonic` value.
    """
    numbers = {vault.id: key for key, vault in memories.vault_ids(connection, vaults).items()}
    changed = racy = 0
    complete = True
    problems = []
    # In haste another vault comes first each time, so that none is never looked at.
    first = time.monotonic_ns() % len(vaults) if vaults else 0
    for vault in (*vaults[first:], *vaults[:first]):
        try:
            listing = walk(vault, exclude, deadline=deadline)
        except NotFound as error:
            problems.append(Problem(vault.name, str(error)))
            continue
        known = memories.known(connection, numbers[vault.id]) if vault.id in numbers else {}
        found = changes(known, listing)
        if not listing.files:
            problems += listing.problems
        changed += len(found.suspects) + len(found.gone)
        racy += len(found.racy)
        complete = complete and listing.complete
    return StaleNotes(changed, racy, complete, problems)
