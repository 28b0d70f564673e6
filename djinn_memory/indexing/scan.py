"""What changed between a vault and the index, told from file times alone. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from djinn_memory.notes.walk import FileStat, Listing
from djinn_memory.store.index.memories import Known

RACY_NS = 2_000_000_000
"""Two writes within the grain of a file system's clock (2 s on FAT) leave the same time."""


class Changes(Struct, frozen=True):
    """What is to be looked at."""

    suspects: tuple[FileStat, ...]
    """Files that are new or whose times or size are others than before."""
    racy: tuple[FileStat, ...]
    """Files that look the same, but were so fresh when they were read that it proves nothing."""
    gone: tuple[str, ...]
    """Paths of the index that the vault no longer has."""


def changes(known: Mapping[str, Known], listing: Listing, *, force: bool = False) -> Changes:
    """Compare a listing with what the index knows; what could not be looked at is not gone."""
    suspects, racy = [], []
    for file in listing.files:
        before = known.get(file.path)
        if force or before is None or before.stat != file:
            suspects.append(file)
        elif before.seen_ns - max(file.mtime_ns, file.ctime_ns) <= RACY_NS:
            racy.append(file)
    listed = {file.path for file in listing.files}
    unseen = tuple(listing.unseen)
    gone = [path for path in known if path not in listed and not path.startswith(unseen)]
    return Changes(tuple(suspects), tuple(racy), tuple(gone) if listing.complete else ())
