"""Homes that share a vault through a real server, as tests of synchronization use them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import UUID

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.models import Problem
from djinn_memory.store.postgres.connection import ServerAddress, connect
from djinn_memory.store.postgres.migrations import ServerState, VectorModel
from djinn_memory.store.postgres.servers import ServerConnection
from djinn_memory.sync.notes.files import BaseTexts, VaultFiles
from djinn_memory.sync.notes.link import VaultLink
from djinn_memory.sync.requests import VaultExchange
from djinn_memory.sync.run import Direction, exchange

HASHING = VectorModel("hashing-128-1", 128, 1.0, 0.0)
"""The model of the homes in tests."""

STATE = ServerState(UUID(int=0), HASHING, 0)
"""What the server in tests says of itself."""

SCOPE = UUID("0b6ff4ae-9d0b-4fd5-9e42-6f8c6f3b8a51")


def register(address: ServerAddress, scope: UUID = SCOPE) -> None:
    """Make the scope on an empty server."""
    with closing(connect(address)) as connection:
        connection.execute("insert into scopes (user_id, name) values (%s, 'shared')", (scope,))


class SyncedHome:
    """A home whose shared vault is the scope of a server."""

    def __init__(self, root: Path, template: Path, address: ServerAddress, name: str = "") -> None:
        shutil.copytree(template, root, symlinks=True)
        self.home = Home(root)
        self.home.edit((("vaults", "shared", "id"), str(SCOPE)))
        self.djinn = Djinn(self.home)
        self.address = address
        self.name = name or root.name
        self.base_texts: BaseTexts | None = None
        self.problems: list[Problem] = []

    @property
    def root(self) -> Path:
        return self.home.root / "vaults" / "shared"

    @contextmanager
    def link(self) -> Iterator[VaultLink]:
        """The vault and its scope, with a connection of its own."""
        vault = self.home.shared
        with closing(connect(self.address)) as connection:
            yield VaultLink(
                self.djinn.runtime, ServerConnection(connection, self.address, STATE),
                vault, SCOPE, self.name, self.vault_files(),
                attachment_bytes=100_000, base_texts=self.base_texts,
            )  # fmt: skip

    def vault_files(self) -> VaultFiles:
        return VaultFiles(self.home.shared)

    def sync(self, direction: Direction = "both", *, dry_run: bool = False) -> VaultExchange:
        with self.link() as link:
            result = exchange(link, direction, dry_run=dry_run)
            self.problems = link.problems
            return result

    def write(self, path: str, text: str) -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())

    def sync_tables(self) -> dict[str, list[tuple[object, ...]]]:
        """The rows of the ledger about synchronization, by table."""
        names = ("home", "scope", "seen", "base", "plan", "unerased")
        tables = [f"sync_{name}" for name in names]
        ledger = self.djinn.runtime.state.ledger
        return {table: ledger.rows(f"select * from {table} order by rowid") for table in tables}

    def notes(self) -> dict[str, bytes]:
        """The bytes of the notes by path."""
        return {
            str(file.relative_to(self.root)): file.read_bytes()
            for file in sorted(self.root.rglob("*"))
            if file.is_file() and not any(p[0] == "." for p in file.relative_to(self.root).parts)
        }
