"""What changed between a vault and the index, told from file times alone. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from djinn_memory.notes.vault import FileStat, Listing
from djinn_memory.store.index.memories import Known

RACY_NS = 2_000_000_000
"""Two writes within the grain of a file system's clock (2 s on FAT) leave the same time."""


class Changes(Struct, frozen=True):
    """What is to be looked at."""

    suspects: tuple[FileStat, ...]
    """Files that are new or may have changed; only their bytes tell."""
    gone: tuple[str, ...]
    """Paths of the index that the vault no longer has."""


def changes(known: Mapping[str, Known], listing: Listing, *, force: bool = False) -> Changes:
    """Compare a listing with what the index knows; an incomplete listing shows nothing as gone."""
    suspects = tuple(
        file for file in listing.files if force or not unchanged(known.get(file.path), file)
    )
    listed = {file.path for file in listing.files}
    gone = tuple(path for path in known if path not in listed) if listing.complete else ()
    return Changes(suspects, gone)


def unchanged(known: Known | None, file: FileStat) -> bool:
    """Whether the file is surely the one that was read."""
    if known is None or known.stat != file:
        return False
    return known.seen_ns - max(file.mtime_ns, file.ctime_ns) > RACY_NS
