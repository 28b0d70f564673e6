"""Compares a vault with the index by file times, in full or quickly before an answer."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from msgspec import Struct

from djinn_memory.errors import NotFound
from djinn_memory.models import Problem, Vault
from djinn_memory.notes.vault import FileStat, VaultListing, walk
from djinn_memory.store.index import memories
from djinn_memory.store.index.memories import IndexedFile
from djinn_memory.store.sqlite import Connection

RACY_NS = 2_000_000_000
"""Two writes within these nanoseconds may leave the same time: FAT has a resolution of 2 s."""

_LATEST_NS = 2**63 - 2 - RACY_NS
"""The latest time that SQLite can still store with `RACY_NS` added."""


class _VaultChanges(Struct, frozen=True):
    """The files that must be read, and the files that no longer exist."""

    suspects: tuple[FileStat, ...]
    """Files that are new, or whose times or size changed."""
    racy: tuple[FileStat, ...]
    """Unchanged files that were read so soon after a write that their times prove nothing."""
    gone: tuple[str, ...]
    """Paths that are in the index but no longer in the vault."""


def changes(
    known: Mapping[str, IndexedFile], listing: VaultListing, *, force: bool = False
) -> _VaultChanges:
    """Compare a listing with the index. A file that could not be read does not count as deleted."""
    suspects, racy = [], []
    for file in listing.files:
        before = known.get(file.path)
        if force or before is None or before.stat != file:
            suspects.append(file)
        elif before.seen_ns - _written(file) <= RACY_NS:
            racy.append(file)
    listed = {file.path for file in listing.files}
    unseen = tuple(listing.unseen)
    gone = [path for path in known if path not in listed and not path.startswith(unseen)]
    return _VaultChanges(tuple(suspects), tuple(racy), tuple(gone) if listing.complete else ())


def seen_again(before: IndexedFile, file: FileStat, now_ns: int) -> int:
    """The time of reading to store for a file with the same bytes as `before`.

    Two reads that are further apart than `RACY_NS` prove that the times of the file can be trusted.
    This holds even if they are in the future, because a clock was set back or another machine's is
    ahead.
    """
    if before.stat == file and abs(now_ns - before.seen_ns) > RACY_NS:
        return max(now_ns, _written(file) + RACY_NS + 1)
    return before.seen_ns if before.stat == file else now_ns


def _written(file: FileStat) -> int:
    return min(max(file.mtime_ns, file.ctime_ns), _LATEST_NS)


class _StaleNotes(Struct, frozen=True):
    """The result of a quick scan for changes."""

    changed: int
    """The number of new, changed or deleted notes."""
    racy: int
    """The number of notes that look unchanged, but were read too soon after a write to be sure."""
    complete: bool
    """Whether all folders were scanned."""
    problems: list[Problem]
    listings: dict[str, VaultListing]
    """By vault id: the listings of vaults of which all folders were scanned."""


def stale(
    connection: Connection, vaults: Sequence[Vault], exclude: Sequence[str], deadline: float
) -> _StaleNotes:
    """Count the notes that changed since they were indexed, until `deadline`.

    Reads only the index and directory listings. `deadline` is a `time.monotonic` value.
    """
    numbers = {vault.id: key for key, vault in memories.vault_ids(connection, vaults).items()}
    changed = racy = 0
    complete = True
    problems = []
    listings = {}
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
        if listing.complete:
            listings[vault.id] = listing
    return _StaleNotes(changed, racy, complete, problems, listings)
