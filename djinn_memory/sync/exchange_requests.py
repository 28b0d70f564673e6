"""Requests and answers of the operations that synchronize vaults."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct, field

from djinn_memory.models import Problem

VaultNames = Annotated[
    tuple[str, ...],
    Meta(description="Only these vaults of sync.vaults; repeatable."),
]
DryRun = Annotated[bool, Meta(description="Show which files would change, and change nothing.")]


class PullSync(Struct, frozen=True):
    """Receive the changes of other homes."""

    vaults: VaultNames = ()
    dry_run: DryRun = False


class PushSync(PullSync, frozen=True):
    """Send the changes of this home."""

    delete_many: Annotated[
        bool,
        Meta(
            description="Confirm that most files of a vault were deleted here, and delete them on "
            "the server."
        ),
    ] = False


class RunSync(PushSync, frozen=True):
    """Receive the changes of other homes, and send those of this home."""


class ListConflicts(Struct, frozen=True):
    """List conflict copies."""

    vaults: VaultNames = ()


class VerifySync(Struct, frozen=True):
    """Compare this home with the server."""

    vaults: VaultNames = ()


class FileElsewhere(Struct, frozen=True):
    """An attachment that another home has, and that is too large to be sent."""

    path: str
    """The path in the vault."""
    home: str
    """The name of the machine of that home."""


class VaultExchange(Struct, frozen=True):
    """What a run changed in a vault and on the server, or what it would change."""

    vault: str
    """The name of the vault."""
    received: int
    """The number of notes and attachments that were written here."""
    removed: int
    """The number of notes and attachments that were moved to the trash here."""
    sent: int
    """The number of notes and attachments that were written on the server."""
    withdrawn: int
    """The number of notes and attachments that were deleted on the server."""
    events_received: int
    """The number of new events in the ledger."""
    events_sent: int
    """The number of new events on the server."""
    conflicts: Sequence[str]
    """The paths of conflict copies that were made. Each holds the text of this home."""
    waiting: Sequence[str]
    """The paths that could not be synchronized, and the databases of the home that may still have
    purged text. The next run tries them again."""
    too_large: Sequence[str]
    """The paths of attachments that are larger than `sync.attachments_mb`, and stay here."""
    elsewhere: Sequence[FileElsewhere]
    """The attachments that stay in another home for the same reason, and that this home lacks."""


class SyncReport(Struct, frozen=True):
    """The result of a run."""

    vaults: Sequence[VaultExchange]
    """The changes of each vault."""
    dry_run: bool
    """Whether nothing was changed."""
    unregistered: Sequence[str] = ()
    """The vaults that the server does not have. Nothing of them was exchanged."""
    problems: Sequence[Problem] = field(default_factory=list)
    """Files that could not be synchronized, and why."""


class ConflictCopy(Struct, frozen=True):
    """A note that was changed in two homes: the copy with the text of one of them."""

    vault: str
    """The name of the vault."""
    path: str
    """The path of the copy."""
    original: str | None
    """The path of the note with the other text; null if it is gone."""


class ConflictList(Struct, frozen=True):
    """The conflict copies of vaults."""

    conflicts: Sequence[ConflictCopy]
    """The copies, by vault and path."""


class Drift(Struct, frozen=True):
    """A difference between this home and the server."""

    vault: str
    """The name of the vault."""
    path: str | None
    """The path of the file here, else on the server; null if the difference is not in one file."""
    why: str
    """The difference, in one sentence."""
    table: str | None = None
    """The table on the server that differs, if the difference is not in one file."""


class SyncComparison(Struct, frozen=True):
    """The result of a comparison."""

    compared: int
    """The number of notes and attachments that were compared byte for byte."""
    drifts: Sequence[Drift]
    """The differences by vault: those of files by path, then those of tables."""
