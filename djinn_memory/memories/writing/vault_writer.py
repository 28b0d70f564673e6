"""Writes notes of one vault under its lock, as one change, and makes them searchable."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from msgspec import Struct, field

from djinn_memory.errors import Changed, DjinnError, Unavailable
from djinn_memory.home.access import is_private
from djinn_memory.home.home import Home
from djinn_memory.indexing.refresh import Searchable, index_notes
from djinn_memory.memories.catalog.hiding import file_name
from djinn_memory.memories.changes.commit import recover
from djinn_memory.memories.writing.change_set import ChangeSet, check_writable
from djinn_memory.memories.writing.drafts import Draft
from djinn_memory.models import Problem, Vault
from djinn_memory.notes import vault as disk
from djinn_memory.notes.slugs import folder, slug, unique
from djinn_memory.runtime import Runtime
from djinn_memory.system.files import inside, make_folder
from djinn_memory.system.locks import deferred

ATTEMPTS = 5
"""Maximum number of attempts, each after an editor has saved a note in the meantime."""


class VaultWriter(Struct):
    """Collects the changes of notes of one vault while it holds the lock, and makes them."""

    vault: Vault
    now: datetime
    """The time of what is written. It is read under the lock, so that a later writer has a later
    time."""
    changes: ChangeSet = field(default_factory=ChangeSet)
    """The change so far."""
    steps: list[Callable[[], None]] = field(default_factory=list)
    """What makes the change again, after another program has saved one of the notes."""
    written: dict[str, None] = field(default_factory=dict)
    """Paths of the written notes and journals, without repetitions."""
    problems: list[Problem] = field(default_factory=list)
    """After the lock is released: problems that keep the notes from being searchable at once, or
    the change from being taken back."""
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
        root = inside(self.vault.root, place)
        start = f"{place}/" if place else ""

        def is_taken(name: str) -> bool:
            return f"{start}{name}.md" in self.written or os.path.lexists(root / f"{name}.md")

        path = f"{start}{unique(name, is_taken)}.md"
        self._step(path, lambda: self.changes.create(self.vault, path, data))
        return path

    def rewrite(self, path: str, change: Callable[[bytes], bytes]) -> None:
        """Apply `change` to the bytes of a note. Changes saved by another program are kept."""

        def step() -> None:
            data = self.content(path)
            self.changes.rewrite(self.vault, path, data, change(data))

        self._step(path, step)

    def content(self, path: str) -> bytes:
        """The bytes of a note after the steps so far."""
        written = self.changes.content(self.vault, path) if path in self.written else None
        return disk.read(self.vault, path) if written is None else written

    def _step(self, path: str, step: Callable[[], None]) -> None:
        step()
        self.steps.append(step)
        self.written[path] = None

    def save(self, runtime: Runtime, command: str, agent: str | None) -> None:
        """Make the change, again if another program saves one of the notes meanwhile.

        Raises `Changed` after `ATTEMPTS` attempts.
        """
        for attempts_left in reversed(range(ATTEMPTS)):
            try:
                # Ctrl-C waits until the notes are whole.
                with deferred():
                    if self.changes.vaults():
                        self.changes.carry_out(runtime, command, agent, own=False)
                break
            except Changed:
                if not attempts_left:
                    raise
                self.changes = ChangeSet()
                for step in self.steps:
                    step()
        self.problems += self.changes.result.problems


@contextmanager
def writing(
    runtime: Runtime, vault: Vault, command: str, agent: str | None, *, embeds: bool = True
) -> Iterator[VaultWriter]:
    """Lock a vault to write notes, which become one change of `command` when the block ends.

    Afterwards they are searchable by words, and if possible by meaning. Without `embeds`, the next
    question embeds them, because loading the model takes longer than writing. If the block raises,
    no note is changed. Raises `Refused` for a read-only vault, and `Changed` when another program
    keeps saving a note.
    """
    check_writable(vault)
    recover(runtime.state)
    writer = None
    try:
        with runtime.state.vault_lock(vault):
            _make_root(runtime.home, vault)
            writer = VaultWriter(vault, runtime.now())
            yield writer
            writer.save(runtime, command, agent)
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
