"""Changes notes in one step, which `djinn undo` takes back.

Every change of a note is a change set, mostly of one file. Records that are appended to a journal
are none.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from djinn_memory.errors import Changed, Refused
from djinn_memory.memories.changes import files
from djinn_memory.memories.changes.commit import Commit, commit, index_changed, locked
from djinn_memory.memories.changes.history import changed_domains
from djinn_memory.memories.changes.plan import ChangePlan, FileChange, digest
from djinn_memory.models import Vault
from djinn_memory.notes.vault.walk import MAX_BYTES
from djinn_memory.runtime import Runtime

_Key = tuple[str, str]


class ChangeSet:
    """The steps of a change, none of which is carried out before the block of `change_set` ends."""

    def __init__(self, what: str = "") -> None:
        self.what = what
        """The change, in one sentence. The block may set it."""
        self._vaults: dict[str, Vault] = {}
        self._before: dict[_Key, bytes | None] = {}
        self._after: dict[_Key, bytes | None] = {}
        self._modes: dict[_Key, int | None] = {}
        self.result = Commit()
        """After the block: the id of the change set, and problems with indexing."""

    def rewrite(self, vault: Vault, path: str, old: bytes, new: bytes) -> None:
        """Replace the bytes of a note, which are `old` before this step."""
        _check_size(new)
        self._step(vault, path, old, new)

    def create(self, vault: Vault, path: str, new: bytes) -> None:
        """Create a note. Nothing may be at its path before this step."""
        _check_size(new)
        self._step(vault, path, None, new)

    def remove(self, vault: Vault, path: str, old: bytes) -> None:
        """Remove a note, whose bytes are `old` before this step. `djinn undo` restores it."""
        self._step(vault, path, old, None)

    def move(self, vault: Vault, path: str, new_path: str) -> None:
        """Move a note inside its vault. Nothing may be at its new path before this step."""
        data = self.content(vault, path)
        if data is None:
            raise Changed(files.place(vault, path))
        mode = self._modes.get((vault.id, path))
        self._step(vault, path, data, None)
        self._step(vault, new_path, None, data)
        self._modes[vault.id, new_path] = mode or self._modes[vault.id, path]

    def content(self, vault: Vault, path: str) -> bytes | None:
        """The bytes of a file after the steps so far; None if it does not exist then."""
        key = vault.id, path
        return self._after[key] if key in self._after else files.current(vault, path)

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Drop the steps of the block if it raises."""
        before = {**self._before}, {**self._after}, {**self._modes}
        try:
            yield
        except BaseException:
            self._before, self._after, self._modes = before
            raise

    def _step(self, vault: Vault, path: str, old: bytes | None, new: bytes | None) -> None:
        check_writable(vault)
        key = vault.id, path
        if key not in self._after:
            target = files.place(vault, path)
            if target.is_symlink() and (new is None or old is None):
                raise Refused(f"{vault.name}/{path} is a link; move or remove it yourself")
            self._before[key] = old
            self._modes[key] = files.mode_of(vault, path) if target.exists() else None
        elif self._after[key] != old:
            raise Changed(files.place(vault, path))
        self._vaults[vault.id] = vault
        self._after[key] = new

    def vaults(self) -> list[Vault]:
        """The vaults to lock; none if nothing changes."""
        return [*self._vaults.values()] if self._changed() else []

    def carry_out(
        self, runtime: Runtime, command: str, agent: str | None, *, own: bool = True
    ) -> ChangePlan:
        """Make the change under the locks of its vaults. `index_changed` makes it searchable.

        `own` tells that djinn changes notes on its own judgement or in bulk. Other changes are
        made even if the ledger cannot record them, and what is removed goes to the trash. Raises
        `Changed`, and changes nothing, if a file does not have the expected bytes.
        """
        for vault_id, path in self._after:
            if files.current(self._vaults[vault_id], path) != self._before[vault_id, path]:
                raise Changed(files.place(self._vaults[vault_id], path))
        plan = self._plan(command, agent, trash=not own)
        self.result = commit(runtime, plan, self._before, self._after, must_record=own)
        return plan

    def _changed(self) -> list[_Key]:
        return [key for key, after in self._after.items() if after != self._before[key]]

    def _plan(self, command: str, agent: str | None, *, trash: bool) -> ChangePlan:
        changes = [self._file(key) for key in self._changed()]
        # Created files first and removed files last, so that no text is missing at any moment.
        changes.sort(key=lambda file: (file.before is not None) + 2 * (file.after is None))
        folders = {
            (file.vault, folder): None
            for file in changes
            if file.before is None
            for folder in files.missing_folders(self._vaults[file.vault], file.path)
        }
        return ChangePlan(command, self.what, tuple(changes), tuple(folders), None, agent, trash)

    def _file(self, key: _Key) -> FileChange:
        before, after = self._before[key], self._after[key]
        rewritten = before is not None and after is not None
        return FileChange(
            *key,
            digest(before),
            digest(after),
            None if rewritten else self._modes[key],
            changed_domains(key[1], self._vaults[key[0]].dialect, before, after),
        )


@contextmanager
def change_set(
    runtime: Runtime, command: str, what: str, agent: str | None = None
) -> Iterator[ChangeSet]:
    """Collect changes of notes in the block, and carry them out together when it ends.

    `command` is the command that makes the change, and `what` says in one sentence what changes. If
    a file does not have the expected bytes when the block ends, nothing is changed and `Changed` is
    raised. If the process is killed, the next command that writes takes back what was done. Raises
    `Refused` for a read-only vault, and `Unavailable` when the ledger or a folder cannot be
    written.
    """
    changes = ChangeSet(what)
    yield changes
    if vaults := changes.vaults():
        with locked(runtime.state, vaults):
            plan = changes.carry_out(runtime, command, agent)
        index_changed(runtime, plan, changes.result)


def check_writable(vault: Vault) -> None:
    """Raise `Refused` for a read-only vault."""
    if vault.read_only:
        raise Refused(f"vault {vault.name} is read-only; remove read_only from config.yaml first")


def _check_size(data: bytes) -> None:
    """Raise `Refused` for more bytes than a note may have."""
    if len(data) > MAX_BYTES:
        raise Refused(f"{len(data):,} bytes are too many for one note; split the text")
