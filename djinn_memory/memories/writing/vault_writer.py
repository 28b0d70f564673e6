"""Writes memories atomically, under the lock of the vault, and makes them searchable."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from msgspec import Struct, field

from djinn_memory.errors import Changed, DjinnError, Refused, Unavailable
from djinn_memory.home.access import is_private
from djinn_memory.home.home import Home
from djinn_memory.indexing.refresh import Searchable
from djinn_memory.memories.catalog.hiding import file_name
from djinn_memory.memories.changes.commit import recover
from djinn_memory.memories.writing.drafts import Draft
from djinn_memory.models import Problem, Vault
from djinn_memory.notes.slugs import folder, slug, unique
from djinn_memory.notes.vault import files as disk
from djinn_memory.notes.vault.walk import MAX_BYTES
from djinn_memory.runtime import Runtime
from djinn_memory.system.files import create, inside, make_folder
from djinn_memory.system.interrupts import deferred


class VaultWriter(Struct):
    """Writes notes of one vault while it holds the lock."""

    vault: Vault
    now: datetime
    """The time of what is written. It is read under the lock, so that a later writer has a later
    time."""
    written: dict[str, None] = field(default_factory=dict)
    """Paths of the written notes, without repetitions."""
    problems: list[Problem] = field(default_factory=list)
    """After the lock is released: problems that keep the notes from being searchable at once."""
    searchable: Searchable = "later"
    """After the lock is released: how searches find the notes."""

    def create(self, draft: Draft) -> tuple[str, str]:
        """Write a new note under a free name. Returns its id and its path.

        The caller has already called `guard` on the draft.
        """
        identity, text = draft.compose(self.now)
        data = text.encode("utf-8", "replace")
        name = file_name(self.vault, slug(draft.title))
        return identity, self.put(folder(draft.type), name, data)

    def put(self, place: str, name: str, data: bytes) -> str:
        """Write a new note into a folder of the vault, as `name` or the first free `name-2` ..."""
        check_size(data)
        root = inside(self.vault.root, place)
        private = is_private(self.vault)
        make_folder(root, private=private)
        # Ctrl-C waits until the note is whole.
        with deferred():
            free = unique(name, lambda name: os.path.lexists(root / f"{name}.md"))
            try:
                create(root / f"{free}.md", data, private=private)
            except FileExistsError:
                raise Changed(root / f"{free}.md") from None
        path = f"{place}/{free}.md" if place else f"{free}.md"
        self.written[path] = None
        return path

    def rewrite(self, path: str, change: Callable[[bytes], bytes]) -> None:
        """Apply `change` to the bytes of a note. Changes saved by another program are kept."""

        def checked(data: bytes) -> bytes:
            changed = change(data)
            check_size(changed)
            return changed

        with deferred():
            disk.edit(self.vault, path, checked)
        self.written[path] = None


@contextmanager
def writing(runtime: Runtime, vault: Vault, *, embeds: bool = True) -> Iterator[VaultWriter]:
    """Lock a vault to write notes.

    Afterwards they are searchable by words, and if possible by meaning. Without `embeds`, the next
    question embeds them, because loading the model takes longer than writing. Raises `Refused` for
    a read-only vault.
    """
    from djinn_memory.indexing.refresh import index_notes

    check_writable(vault)
    recover(runtime.state)
    writer = None
    try:
        with runtime.state.vault_lock(vault):
            _make_root(runtime.home, vault)
            writer = VaultWriter(vault, runtime.now())
            yield writer
    finally:
        if writer and writer.written:
            try:
                state, models = runtime.state, runtime.models
                writer.searchable = index_notes(
                    state, models, vault, list(writer.written), embeds=embeds
                )
            except DjinnError as error:
                # The note is whole: the next search reads it.
                writer.problems.append(Problem("index", str(error)))


def _make_root(home: Home, vault: Vault) -> None:
    """Create the folder of a vault inside the home. It is missing in a clone without notes."""
    if not vault.root.is_dir():
        if home.root not in (vault.root.resolve(), *vault.root.resolve().parents):
            raise Unavailable(f"{vault.root} of vault {vault.name} does not exist; mount it")
        make_folder(vault.root.parent)
        make_folder(vault.root, private=is_private(vault))


def check_writable(vault: Vault) -> None:
    """Raise `Refused` for a read-only vault."""
    if vault.read_only:
        raise Refused(f"vault {vault.name} is read-only; remove read_only from config.yaml first")


def check_size(data: bytes) -> None:
    """Raise `Refused` for more bytes than a note may have."""
    if len(data) > MAX_BYTES:
        raise Refused(f"{len(data):,} bytes are too many for one note; split the text")
