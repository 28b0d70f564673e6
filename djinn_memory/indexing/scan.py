"""What changed between a vault and the index, told from file times alone. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from djinn_memory.notes.vault.walk import FileStat, VaultListing
from djinn_memory.store.index.memories import IndexedFile

RACY_NS = 2_000_000_000
"""Two writes within the grain of a file system's clock (2 s on FAT) leave the same time."""

_LATEST_NS = 2**63 - 2 - RACY_NS
"""So that what is later by that still is a number for SQLite."""


class VaultChanges(Struct, frozen=True):
    """What is to be looked at."""

    suspects: tuple[FileStat, ...]
    """Files that are new or whose times or size are others than before."""
    racy: tuple[FileStat, ...]
    """Files that look the same, but were so fresh when they were read that it proves nothing."""
    gone: tuple[str, ...]
    """Paths of the index that the vault no longer has."""


def changes(
    known: Mapping[str, IndexedFile], listing: VaultListing, *, force: bool = False
) -> VaultChanges:
    """Compare a listing with what the index knows; what could not be looked at is not gone."""
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
    return VaultChanges(tuple(suspects), tuple(racy), tuple(gone) if listing.complete else ())


def seen_again(before: IndexedFile, file: FileStat, now_ns: int) -> int:
    """As when a file counts as seen whose bytes are those of `before`.

    After two looks that far apart its times prove that it is the same, also where they are yet to
    come since a clock was set back, or another machine's is ahead.
    """
    if before.stat == file and abs(now_ns - before.seen_ns) > RACY_NS:
        return max(now_ns, _written(file) + RACY_NS + 1)
    return before.seen_ns if before.stat == file else now_ns


def _written(file: FileStat) -> int:
    return min(max(file.mtime_ns, file.ctime_ns), _LATEST_NS)
