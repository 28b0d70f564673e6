"""Removes what was purged in one home from the trash of the others."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from djinn_memory.errors import DjinnError
from djinn_memory.memories.catalog.requests import PurgeMemory
from djinn_memory.memories.removal.purge import purge
from djinn_memory.notes.note_file import content_hash
from djinn_memory.notes.vault import files as disk
from djinn_memory.notes.vault.files import TRASH
from djinn_memory.store.ledger import sync_state
from djinn_memory.store.postgres.connection import writing
from djinn_memory.store.postgres.notes import ServerNote, announce, marks, purge_deleted
from djinn_memory.sync.notes.link import VaultLink
from djinn_memory.system.files import inside


def receive(link: VaultLink, rows: Iterable[ServerNote]) -> None:
    """Remove the files in the trash that have the bytes of notes which were purged elsewhere."""
    digests = {row.hash for row in rows if row.deleted and row.purged}
    root, vault = link.vault.root / TRASH, link.vault
    if not digests or vault.read_only or not root.is_dir() or root.is_symlink():
        return
    for file in sorted(root.rglob("*")):
        path = file.relative_to(vault.root).as_posix()
        try:
            if not file.is_file() or content_hash(disk.read(vault, path)) not in digests:
                continue
            if path.endswith(".md"):
                purge(link.runtime.state, [vault], PurgeMemory(name=path))
            inside(vault.root, str(PurePosixPath(path).parent))
            file.unlink(missing_ok=True)
        except (DjinnError, OSError) as error:
            link.report(path, f"was purged elsewhere and cannot be removed: {error}")


def send(link: VaultLink) -> None:
    """Let other homes remove from their trash what was purged here after it was deleted."""
    digests = sync_state.purged_hashes(link.ledger, link.scope)
    if not digests:
        return
    with writing(link.connection, link.address, link.scope) as writer:
        purge_deleted(writer, digests)
        announce(writer)
        mark = marks(writer.tx, link.scope, [writer.rev])
    sync_state.see(link.ledger, link.scope, mark)
    sync_state.forget_purged(link.ledger, link.scope, digests)
