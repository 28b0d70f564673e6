"""A quick look, before a question is answered, whether the vaults still are what was indexed."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from djinn_memory.errors import NotFound
from djinn_memory.indexing.scan import changes
from djinn_memory.models import Problem, Vault
from djinn_memory.notes import vault as disk
from djinn_memory.store.index import memories


def stale(
    connection: apsw.Connection,
    vaults: Sequence[Vault],
    exclude: Sequence[str],
    deadline: float,
) -> tuple[int, list[Problem]]:
    """How many notes seem new, changed or gone, as far as could be seen until `deadline`.

    Reads only, from the index and from directory listings; `deadline` is a `time.monotonic` value.
    """
    numbers = {vault.id: key for key, vault in memories.vault_ids(connection, vaults).items()}
    count = 0
    problems = []
    for vault in vaults:
        try:
            listing = disk.walk(vault, exclude, deadline=deadline)
        except NotFound as error:
            problems.append(Problem(vault.name, str(error)))
            continue
        known = memories.known(connection, numbers[vault.id]) if vault.id in numbers else {}
        found = changes(known, listing)
        count += len(found.suspects) + len(found.gone)
    return count, problems
