"""Prints the vaults of a Postgres server, and the homes that synchronize them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from djinn_memory.cli import output
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.sync.requests import ServerHome, SyncedVault


def print_vaults(vaults: Iterable[SyncedVault]) -> None:
    """Print a line for each vault."""
    output.columns(
        [
            [
                f"vault {vault.name}",
                vault.scope,
                count(vault.notes, "note"),
                count(len(vault.homes), "home"),
                f"revision {vault.rev}",
            ]
            for vault in vaults
        ]
    )


def print_homes(vaults: Iterable[SyncedVault]) -> None:
    """Print a line for each home of each vault."""
    output.columns(
        [
            [
                f"home {home.name}",
                home.id,
                f"vault {vault.name}",
                f"last seen {home.seen}",
                f"revision {home.rev}{_remarks(home)}",
            ]
            for vault in vaults
            for home in vault.homes
        ]
    )


def _remarks(home: ServerHome) -> str:
    kept = "kept for it" if home.awaited else "not read"
    remarks = ["this home"] * home.own
    remarks += [f"{count(home.unread, 'deletion')} {kept}"] * bool(home.unread)
    return f" ({', '.join(remarks)})" if remarks else ""
