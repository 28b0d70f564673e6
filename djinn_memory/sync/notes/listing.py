"""Lists the files of a vault as its index has them."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from djinn_memory.errors import NotFound, Remedy
from djinn_memory.indexing.refresh import read
from djinn_memory.store.index import memories
from djinn_memory.store.ledger.sync_state import NoteBase
from djinn_memory.store.sqlite import explained
from djinn_memory.sync.notes.link import VaultLink
from djinn_memory.sync.notes.matching import LocalFile, unambiguous


def list_files(link: VaultLink) -> list[LocalFile]:
    """The notes of a vault, after changed ones were indexed.

    Raises `NotFound` if the folder of the vault is missing: its notes were not deleted.
    """
    state, vault = link.runtime.state, link.vault
    if not vault.root.is_dir():
        raise NotFound(
            f"the folder of vault {vault.name} does not exist: {vault.root}",
            Remedy(purpose="restore it"),
        )
    state.need_writable()
    for problem in read(state, [vault], progress=link.runtime.progress):
        if problem not in link.problems:
            link.problems.append(problem)
    with explained(state.home.index_path):
        rows = memories.contents(state.index, vault)
    own = unambiguous([uid for *_, uid in rows])
    return [
        LocalFile(path, digest, size, uid if uid in own else None)
        for path, digest, size, uid in rows
    ]


def unlisted(
    link: VaultLink, files: list[LocalFile], bases: Mapping[UUID, NoteBase]
) -> frozenset[UUID]:
    """The known notes that are not listed although their files exist.

    A file may be excluded, unreadable, too large, or no longer regular.
    """
    listed = {file.path for file in files}
    return frozenset(
        note_id
        for note_id, base in bases.items()
        if base.path not in listed and link.files.exists(base.path)
    )
