"""Removes purged texts of one home from the others: sections of journals, and the trash."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import PurePosixPath

from msgspec.structs import replace

from djinn_memory.errors import DjinnError
from djinn_memory.memories.catalog.requests import PurgeMemory
from djinn_memory.memories.memory_files import MemoryFiles, find_files
from djinn_memory.memories.removal.purge import purge
from djinn_memory.notes import vault as disk
from djinn_memory.notes.note_file import content_hash
from djinn_memory.notes.vault import TRASH
from djinn_memory.store.index.records import Selection
from djinn_memory.store.ledger import EPISODE_PURGED, reading, sync_state
from djinn_memory.store.postgres import events as server_events
from djinn_memory.store.postgres.notes import ServerNote, announce, purge_deleted
from djinn_memory.sync.notes.link import Unfinished, VaultLink
from djinn_memory.sync.notes.listing import list_notes
from djinn_memory.system.files import inside


def empty_trash(link: VaultLink, rows: Iterable[ServerNote]) -> None:
    """Remove the files in the trash that have the bytes of notes which were purged elsewhere.

    The notes of files that could not be removed are unfinished.
    """
    purged = {row.hash: row.note_id for row in rows if row.deleted and row.purged}
    root, vault = link.vault.root / TRASH, link.vault
    if not purged or vault.read_only or not root.is_dir() or root.is_symlink():
        return
    for file in sorted(root.rglob("*")):
        path, digest = file.relative_to(vault.root).as_posix(), b""
        try:
            # A purge removes other copies too.
            digest = content_hash(disk.read(vault, path)) if file.is_file() else b""
            if digest not in purged:
                continue
            if path.endswith(".md"):
                purge(link.runtime.state, [vault], PurgeMemory(name=path), elsewhere=True)
            inside(vault.root, str(PurePosixPath(path).parent))
            file.unlink(missing_ok=True)
        except (DjinnError, OSError) as error:
            link.report_purge(path, error)
            if digest in purged:
                link.unfinished[purged[digest]] = Unfinished(path, "in trash")


def send(link: VaultLink) -> None:
    """Let other homes remove from their trash the notes that were purged here after a deletion."""
    digests = sync_state.purged_hashes(link.ledger, link.scope)
    if not digests:
        return
    with link.writing() as writer:
        purge_deleted(writer, digests)
        announce(writer)
    sync_state.forget_purged(link.ledger, link.scope, digests)


def send_sections(link: VaultLink) -> None:
    """Write the events of purged sections, before their journals are sent without them.

    A home that gets such a journal knows then that the section was purged, and not deleted.
    """
    cursor = sync_state.event_cursor(link.ledger, link.scope)
    recorded = reading.stored_events(link.ledger, (EPISODE_PURGED,), cursor.pushed)
    own = [stored for stored in recorded if stored.event.data.get("vault") == link.vault.id]
    if not own:
        return
    with link.server.reading() as tx:
        waiting = server_events.pending(tx, link.scope, own)
    if not waiting:
        return
    with link.writing() as writer:
        server_events.push(writer, link.home_id, waiting)


def receive_sections(link: VaultLink) -> set[str]:
    """Remove the sections that were purged elsewhere, with their copies and traces.

    This comes before their journals are received: afterwards nothing tells what they said. Returns
    the journals with sections that could not be removed.
    """
    failed = set()
    for memory in waiting_sections(link):
        path = memory.files[-1]
        try:
            before = link.files.hash(path)
            request = PurgeMemory(name=memory.id or "")
            report = purge(link.runtime.state, [link.vault], request, elsewhere=True)
            _follow(link, path, before)
        except (DjinnError, OSError) as error:
            failed.add(path)
            link.report_purge(f"{path}#^{memory.block}", error)
        else:
            for problem in report.problems:
                link.add(problem)
    return failed


def waiting_sections(link: VaultLink) -> list[MemoryFiles]:
    """The sections of this home that another home purged."""
    if link.vault.read_only:
        return []
    rev = sync_state.event_cursor(link.ledger, link.scope).rev
    with link.server.reading() as tx:
        purged = server_events.of_kinds(tx, link.scope, [EPISODE_PURGED], rev)
    names = {stored.event.subject for stored in purged}
    if not names:
        return []
    list_notes(link)
    trashed = (link.vault.root / TRASH / "journal").is_dir()
    with link.runtime.index([link.vault]) as index:
        sections = [
            name for name in sorted(names) if trashed or index.memories(Selection(ids=(name,)))
        ]
    waiting = []
    for name in sections:
        with suppress(DjinnError):
            memory = find_files(link.runtime.state, name, [link.vault])
            # The event may name no other memory, such as one with this title.
            if memory.block and memory.id == name:
                waiting.append(memory)
    return waiting


def _follow(link: VaultLink, path: str, before: bytes | None) -> None:
    """Let the common state of a journal follow the purge, which is no change of this home.

    The purging home sends the same change. It would be a conflict if it sent more with it.
    """
    after = link.files.read(path)
    if after is None:
        return
    common = sync_state.bases(link.ledger, link.scope, path=path)
    followed = {
        note_id: replace(base, hash=content_hash(after))
        for note_id, base in common.items()
        if base.hash == before
    }
    if followed:
        sync_state.record_bases(link.ledger, link.scope, {**followed})
        if link.base_texts:
            link.base_texts.keep(after)
