"""Requests and answers of the operations on a server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct


class InitSync(Struct, frozen=True):
    """Prepare a Postgres server and join it."""

    url: Annotated[
        str | None,
        Meta(
            description="The address: postgresql://user@host:5432/database, without a password. "
            "Default: DJINN_POSTGRES_URL, else sync.url."
        ),
    ] = None
    embedded: Annotated[
        bool, Meta(description="Run a server inside this home. It needs no installation.")
    ] = False
    rls: Annotated[
        bool, Meta(description="Let each role of the server see only the vaults granted to it.")
    ] = False
    distribute: Annotated[
        bool, Meta(description="Distribute the tables over a Citus cluster, by vault.")
    ] = False


class MigrateSync(Struct, frozen=True):
    """Update the tables of the server."""

    model: Annotated[
        bool,
        Meta(
            description="Change the server to the embedding model of this home. Its vectors are "
            "removed; homes with this model fill them again."
        ),
    ] = False


class ShowSyncStatus(Struct, frozen=True):
    """Show the server and the vaults that it has."""


class SyncedVault(Struct, frozen=True):
    """A vault of this home that goes to the server."""

    name: str
    """The name of the vault in this home."""
    scope: str
    """Its id, which is its `user_id` in the tables of the server."""
    rev: int
    """The revision of its last change on the server."""
    notes: int
    """The notes on the server."""
    homes: int
    """The homes that synchronize it."""


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
    row_security: bool
    """Whether each role of the server sees only the vaults granted to it."""
    distributed: bool
    """Whether the tables are distributed over a cluster."""


class MigratedServer(Struct, frozen=True):
    """A server whose tables were updated."""

    server: str
    """The server, without its password."""
    applied: Sequence[str]
    """The schema scripts that ran; empty if the tables were up to date."""
    model_before: str
    """The identity of the embedding model before."""
    model: str
    """The identity of the embedding model now."""
    vectors_removed: int
    """The vectors that were removed, because another model made them."""


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
