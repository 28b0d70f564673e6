"""Requests and answers of the operations on a server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct, field

from djinn_memory.models import Problem
from djinn_memory.operations.checks import RawText
from djinn_memory.store.postgres.queries import ServerFact

VaultNames = Annotated[
    tuple[str, ...], Meta(description="Only these vaults of sync.vaults; repeatable.")
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


class VaultExchange(Struct):
    """The changes of a run in a vault and on the server; in a dry run, the planned ones."""

    vault: str
    """The name of the vault."""
    received: int = 0
    """The number of notes and attachments that were written here."""
    removed: int = 0
    """The number of notes and attachments that were moved to the trash here."""
    sent: int = 0
    """The number of notes and attachments that were written on the server."""
    withdrawn: int = 0
    """The number of notes and attachments that were deleted on the server."""
    events_received: int = 0
    """The number of new events in the ledger."""
    events_sent: int = 0
    """The number of new events on the server."""
    conflicts: list[str] = field(default_factory=list)
    """The paths of conflict copies that were made. Each holds the text of this home."""
    waiting: list[str] = field(default_factory=list)
    """The paths that could not be synchronized, and the databases of the home that may still have
    purged text. The next run tries them again."""
    too_large: list[str] = field(default_factory=list)
    """The paths of attachments that are larger than `sync.attachments_mb`, and stay here."""
    elsewhere: list[FileElsewhere] = field(default_factory=list)
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


class InitSync(Struct, frozen=True):
    """Prepare a Postgres server and join it."""

    url: Annotated[
        RawText | None,
        Meta(
            description="The address: postgresql://user@host:5432/database, without a password. "
            "Default: DJINN_POSTGRES_URL, else sync.url."
        ),
    ] = None
    embedded: Annotated[
        bool, Meta(description="Run a server inside this home. It needs no installation.")
    ] = False
    vaults: Annotated[
        tuple[RawText, ...],
        Meta(description="Further vaults that go to the server, such as me; repeatable."),
    ] = ()
    join: Annotated[
        tuple[RawText, ...],
        Meta(
            description="Vaults that become the same vault as the one of their name on the "
            "server, as on a second machine of yours; NAME=ID chooses one; repeatable."
        ),
    ] = ()
    rls: Annotated[
        bool, Meta(description="Let each role of the server see only the vaults granted to it.")
    ] = False
    distribute: Annotated[
        bool, Meta(description="Distribute the tables over a Citus cluster, by vault.")
    ] = False


class MigrateSync(Struct, frozen=True):
    """Update the tables of the server."""

    change_model: Annotated[
        bool,
        Meta(
            description="Change the server to the embedding model of this home. The vectors on the "
            "server are removed; `djinn sync backfill` fills them again."
        ),
    ] = False
    dry_run: Annotated[
        bool, Meta(description="Show what would change on the server, and change nothing.")
    ] = False


class ShowSyncStatus(Struct, frozen=True):
    """Show the server, its vaults and their homes."""


class ForgetSync(Struct, frozen=True):
    """Remove a vault from the server, or the record of a home."""

    vault: Annotated[
        str | None,
        Meta(
            description="The vault to remove from the server: its name in this home, its id, or "
            "its name on the server. The files in all homes stay."
        ),
    ] = None
    home: Annotated[
        str | None,
        Meta(
            description="The home to forget, such as one on a lost machine: its name or id as "
            "`djinn sync status` shows it."
        ),
    ] = None
    dry_run: Annotated[
        bool, Meta(description="Show what would be removed from the server, and remove nothing.")
    ] = False


class BackfillSync(Struct, frozen=True):
    """Fill the vectors and rows that the server lacks."""

    batch: Annotated[
        int, Meta(ge=1, le=1000, description="The number of notes in a transaction.")
    ] = 8
    all: Annotated[
        bool, Meta(description="Write the rows of all notes and events again, even complete ones.")
    ] = False


class ShowSyncStats(Struct, frozen=True):
    """Count the memories on the server."""

    all: Annotated[
        bool, Meta(description="Count all vaults that the user of the server may read.")
    ] = False


class SearchServerFacts(Struct, frozen=True):
    """Search the facts on the server: by meaning, then by text."""

    query: Annotated[
        RawText, Meta(min_length=1, max_length=2000, description="A question or words.")
    ]
    limit: Annotated[int, Meta(ge=1, le=1000, description="The maximum number of facts.")] = 15
    all: Annotated[
        bool, Meta(description="Search all vaults that the user of the server may read.")
    ] = False


class Backfilled(Struct, frozen=True):
    """The rows that were filled in on the server."""

    notes: int
    """The notes whose rows are complete now."""
    left: int
    """The notes that were left alone, because this home has another version of them."""
    problems: Sequence[Problem] = ()
    """Notes that could not be indexed or embedded here."""


class ServerFacts(Struct, frozen=True):
    """Facts on the server that answer a query."""

    facts: Sequence[ServerFact]
    """The facts: first those by meaning, the nearest first, then those by text."""
    problems: Sequence[Problem] = ()
    """Why nothing was compared by meaning."""


class ServerHome(Struct, frozen=True):
    """A home that synchronizes a vault with the server."""

    id: str
    """The id of the home."""
    name: str
    """The name of its machine."""
    seen: str
    """When it last synchronized the vault, as ISO 8601 in UTC."""
    rev: int
    """The last revision of the vault that it has read."""
    unread: int
    """The deletions of the vault that it has not read yet."""
    awaited: bool
    """Whether the server keeps these deletions for it: it was seen in the last sync.keep_days."""
    own: bool
    """Whether it is this home."""


class SyncedVault(Struct, frozen=True):
    """A vault on the server."""

    name: str
    """The name of the vault in this home, else on the server."""
    scope: str
    """Its id, which is its `user_id` in the tables of the server."""
    rev: int
    """The revision of its last change on the server."""
    notes: int
    """The notes on the server."""
    homes: Sequence[ServerHome]
    """The homes that synchronize it, the one seen last first."""


class AdoptedVault(Struct, frozen=True):
    """A vault that got the id of the server's vault, so that both are the same vault."""

    name: str
    """The name of the vault."""
    before: str
    """Its previous id."""
    scope: str
    """Its id now."""


class PreparedServer(Struct, frozen=True):
    """A server that was prepared."""

    server: str
    """The server, without its password."""
    applied: Sequence[str]
    """The schema scripts that ran; empty if the tables were up to date."""
    added: Sequence[str]
    """The vaults that were new to the server."""
    adopted: Sequence[AdoptedVault]
    """The vaults that were joined with a vault of the server."""
    vaults: Sequence[SyncedVault]
    """The vaults of this home that go to the server."""
    others: Sequence[SyncedVault]
    """The other vaults of the server that its user sees."""
    row_security: bool
    """Whether each role of the server sees only the vaults granted to it."""
    distributed: bool
    """Whether the tables are distributed over a cluster."""
    unused: str | None = None
    """The folder of the server inside this home that was used before, which nothing uses now."""


class MigratedServer(Struct, frozen=True):
    """A server whose tables were updated, or would be."""

    server: str
    """The server, without its password."""
    applied: Sequence[str]
    """The schema scripts that ran, or would run; empty if the tables were up to date."""
    model_before: str
    """The identity of the server's embedding model before the update."""
    model: str
    """The identity of the server's embedding model after the update."""
    vectors_removed: int
    """The number of vectors of the previous model that were removed, or would be."""
    dry_run: bool = False
    """Whether nothing was changed."""


class ForgottenVault(Struct, frozen=True):
    """A vault that was removed from the server, or whose record of a home was."""

    name: str
    """The name of the vault."""
    scope: str
    """Its id."""
    notes: int
    """The notes of the vault on the server."""
    homes: Sequence[ServerHome]
    """The homes that synchronize it, or only the one that was forgotten."""
    on_server: bool = True
    """Whether the server has it. Otherwise only `sync.vaults` changes."""


class ForgottenSync(Struct, frozen=True):
    """The data that was removed from the server, or would be."""

    server: str
    """The server, without its password."""
    vaults: Sequence[ForgottenVault]
    """The vault that was removed, or each vault that the forgotten home synchronized."""
    home: str | None
    """The id of the forgotten home; null if a vault was removed."""
    removed: bool
    """Whether it was removed; false after a dry run."""


class ServerStatus(Struct, frozen=True):
    """The server of a home, and the vaults that go to it."""

    server: str
    """The server, without its password."""
    source: str
    """The setting with its address: sync.url or DJINN_POSTGRES_URL."""
    postgres: str
    """The version of PostgreSQL."""
    extensions: dict[str, str]
    """The versions of the extensions that djinn uses: vector, and pg_trgm or citus if present."""
    schema_version: int
    """The number of the newest schema script."""
    model: str
    """The identity of the server's embedding model."""
    own_model: str | None
    """The identity of this home's embedding model; null when it embeds nothing."""
    row_security: bool
    """Whether each role of the server sees only the vaults granted to it."""
    distributed: bool
    """Whether the tables are distributed over a cluster."""
    vaults: Sequence[SyncedVault]
    """The vaults of this home that go to the server and are registered there."""
    unregistered: Sequence[str]
    """The vaults of this home that go to the server and are not registered there."""
    others: Sequence[SyncedVault]
    """The other vaults of the server that this user may see."""
