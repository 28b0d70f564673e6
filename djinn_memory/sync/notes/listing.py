"""Lists the files of a vault as its index has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar
from unicodedata import normalize
from uuid import UUID

from msgspec.structs import replace

from djinn_memory.errors import DjinnError, NotFound, Remedy
from djinn_memory.indexing.refresh import read, resolve_pending_links
from djinn_memory.notes.vault import attachments
from djinn_memory.store.index import memories
from djinn_memory.store.ledger.sync_state import NoteBase
from djinn_memory.store.postgres.notes import ServerNote
from djinn_memory.store.sqlite import explained
from djinn_memory.sync.notes.link import VaultLink
from djinn_memory.sync.notes.matching import LocalFile, unambiguous
from djinn_memory.sync.notes.names import is_note, path_key

S = TypeVar("S", NoteBase, ServerNote)


def exchanged(link: VaultLink, states: Mapping[UUID, S]) -> dict[UUID, S]:
    """The states of what this home exchanges: notes, and attachments if it takes them."""
    taken = link.attachment_bytes > 0
    return {note_id: state for note_id, state in states.items() if taken or is_note(state.path)}


def list_files(link: VaultLink, bases: Mapping[UUID, NoteBase]) -> list[LocalFile]:
    """The notes and attachments of a vault, under the paths that the server knows.

    Changed notes are indexed. Raises `NotFound` if the folder of the vault is missing: its files
    were not deleted.
    """
    return _respelled(link, [*list_notes(link), *_attachments(link, bases)], bases)


def list_notes(link: VaultLink) -> list[LocalFile]:
    """The notes of a vault, after changed ones were indexed."""
    state, vault = link.runtime.state, link.vault
    if not vault.root.is_dir():
        raise NotFound(
            f"the folder of vault {vault.name} does not exist: {vault.root}",
            Remedy(purpose="restore it"),
        )
    state.need_writable()
    for problem in read(state, [vault], progress=link.runtime.progress):
        link.add(problem)
    # What is sent says where the links lead.
    resolve_pending_links(state)
    with explained(state.home.index_path):
        rows = memories.contents(state.index, vault)
    own = unambiguous([uid for *_, uid in rows])
    return [
        LocalFile(path, digest, size, uid if uid in own else None)
        for path, digest, size, uid in rows
    ]


def _attachments(link: VaultLink, bases: Mapping[UUID, NoteBase]) -> Iterator[LocalFile]:
    """The attachments of a vault. Only new and changed files are read."""
    link.too_large.clear()
    if not link.attachment_bytes:
        return
    known = {base.path: base for base in bases.values() if base.stat}
    for path in sorted(attachments(link.vault, link.runtime.home.config.exclude)):
        try:
            stat = link.files.stat(path)
            if stat is None or link.files.is_link(path):
                continue
            size = int(stat.split()[0])
            if size > link.attachment_bytes:
                link.too_large.append(path)
                continue
            base = known.get(path)
            digest = base.hash if base and base.stat == stat else link.files.hash(path)
        except (OSError, DjinnError) as error:
            link.report(path, f"cannot be read: {error}")
            continue
        if digest is not None:
            yield LocalFile(path, digest, size, stat=stat)


def _respelled(
    link: VaultLink, files: list[LocalFile], bases: Mapping[UUID, NoteBase]
) -> list[LocalFile]:
    """The files under the paths that the server knows, where the file system chose the spelling.

    A file system that ignores case keeps the spelling of a folder that is there already, and one
    that ignores the form of Unicode may choose the form. Neither is a rename by the user.
    """
    link.indexed.clear()
    if not link.files.folds:
        return files
    paths = {base.path for base in bases.values()}
    known = {(path_key(path), _composed_name(path)): path for path in paths}
    result = []
    for file in files:
        path = known.get((path_key(file.path), _composed_name(file.path)), file.path)
        if file.path not in paths and path != file.path:
            link.indexed[path] = file.path
            file = replace(file, path=path)
        result.append(file)
    return result


def _composed_name(path: str) -> str:
    return normalize("NFC", path.rpartition("/")[2])


def unlisted(
    link: VaultLink, files: list[LocalFile], bases: Mapping[UUID, NoteBase]
) -> frozenset[UUID]:
    """The known notes that are not listed although their files exist.

    A file may be excluded, unreadable, too large, or no longer regular.
    """
    # A file system that ignores case finds a listed file under other names too.
    key = path_key if link.files.folds else str
    listed = {key(file.path) for file in files}
    return frozenset(
        note_id
        for note_id, base in bases.items()
        if key(base.path) not in listed and link.files.exists(base.path)
    )
