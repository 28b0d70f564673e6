"""Changes notes in one step, which `djinn undo` takes back.

Every change of a note is a change set, mostly of one file. `change_set` changes notes of any vaults
together; `writing` writes notes of one vault under its lock, and makes them searchable. Sections
that were appended to a journal are part of a change, too, but no bytes are kept for them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from difflib import unified_diff
from pathlib import Path
from stat import S_IMODE
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from djinn_memory.errors import Changed, NotFound, Refused, Remedy, Unavailable
from djinn_memory.home.access import is_private
from djinn_memory.home.home import Home
from djinn_memory.indexing.refresh import Searchable
from djinn_memory.memories.catalog.catalog import file_name
from djinn_memory.memories.changes import commit, files
from djinn_memory.memories.changes.plan import ChangePlan, FileChange, digest, section_digest
from djinn_memory.memories.writing.drafts import Draft
from djinn_memory.models import Dialect, Problem, Vault
from djinn_memory.notes import vault as disk
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.note import domains_of
from djinn_memory.notes.note_file import NoteMemory, parse_file
from djinn_memory.notes.slugs import folder, slug, unique
from djinn_memory.notes.vault import MAX_BYTES
from djinn_memory.runtime import Runtime
from djinn_memory.system.files import inside, make_folder, saved_ns
from djinn_memory.system.interrupts import deferred

_Key = tuple[str, str]

T = TypeVar("T")


class ChangeSet:
    """The steps of a change, none of which is carried out before the block of `change_set` ends."""

    def __init__(self, what: str = "") -> None:
        self.what = what
        """The change, in one sentence. The block may set it."""
        self._vaults: dict[str, Vault] = {}
        self._before: dict[_Key, bytes | None] = {}
        self._after: dict[_Key, bytes | None] = {}
        self._modes: dict[_Key, int | None] = {}
        self._moved: dict[_Key, tuple[_Key, int | None]] = {}
        """The places of moved files before, and when they were last saved."""
        self._trashed: list[FileChange] = []
        """The files that go to the trash or return from it as they are."""
        self._appended: dict[_Key, FileChange] = {}
        """The journals to which sections were appended."""
        self.result = commit.Commit()
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

    def move(self, vault: Vault, path: str, new_path: str, to: Vault | None = None) -> None:
        """Move a note, also to another vault. Nothing may be at its new path before this step."""
        data, target = self.content(vault, path), to or vault
        if data is None:
            raise Changed(files.place(vault, path))
        mode, old, new = self._modes.get((vault.id, path)), (vault.id, path), (target.id, new_path)
        self._step(vault, path, data, None)
        self._step(target, new_path, None, data)
        self._modes[new] = mode or self._modes[old]
        self._moved[new] = old, saved_ns(files.place(vault, path))

    def append(
        self, vault: Vault, path: str, block: str, text: str, domains: Sequence[str]
    ) -> None:
        """Add a section that was appended to a journal."""
        key = vault.id, path
        old = self._appended.get(key) or FileChange(*key, None, None)
        sections = (*old.sections, (block, section_digest(text)))
        domains = tuple(sorted({*old.domains, *domains}))
        self._appended[key] = replace(old, sections=sections, domains=domains)
        self._vaults[vault.id] = vault

    def trash(self, vault: Vault, path: str) -> Path:
        """Move a file as it is to a free name in the trash of its vault. Returns that place."""
        place = disk.free_in_trash(vault, path, [str(file.moved) for file in self._trashed])
        self._relocate(vault, path, place, files.moved_state(vault, path), None)
        return disk.entry(vault, place)

    def restore(self, vault: Vault, path: str) -> None:
        """Move a file as it is from the trash to its path, where nothing may be."""
        place = f"{disk.TRASH}/{path}"
        if os.path.lexists(disk.entry(vault, path)):
            raise Refused(f"{vault.name}/{path} exists; move it first")
        self._relocate(vault, path, place, None, files.moved_state(vault, place))

    def _relocate(
        self, vault: Vault, path: str, place: str, before: str | None, after: str | None
    ) -> None:
        if before == after:
            update = Remedy("index", {}, "update the index")
            raise NotFound(f"{vault.name}/{path} no longer exists", update)
        self._vaults[vault.id] = vault
        data = None
        with suppress(OSError, Refused):
            data = files.current(vault, path if after is None else place)
        domains = _changed_domains(path, vault.dialect, data, None)
        self._trashed.append(FileChange(vault.id, path, before, after, None, domains, place))

    def restart(self) -> None:
        """Drop the changes of bytes so far."""
        self._before, self._after, self._modes, self._moved = {}, {}, {}, {}

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
            self._modes[key] = S_IMODE(target.stat().st_mode) if target.exists() else None
        elif self._after[key] != old:
            raise Changed(files.place(vault, path))
        self._vaults[vault.id] = vault
        self._after[key] = new

    def vaults(self) -> list[Vault]:
        """The vaults to lock; none if nothing changes."""
        changed = self._changed() or self._trashed or self._appended
        return [*self._vaults.values()] if changed else []

    def carry_out(
        self, runtime: Runtime, command: str, agent: str | None, *, own: bool = True
    ) -> ChangePlan:
        """Make the change under the locks of its vaults. `index_changed` makes it searchable.

        `own` tells that djinn changes notes on its own judgement or in bulk. Other changes are
        made even if the ledger cannot record them, and removed files go to the trash. Raises
        `Changed`, and changes nothing, if a file does not have the expected bytes.
        """
        for vault_id, path in self._after:
            if files.current(self._vaults[vault_id], path) != self._before[vault_id, path]:
                raise Changed(files.place(self._vaults[vault_id], path))
        plan = self._plan(command, agent, trash=not own)
        # A note that only moves was last saved when it was before.
        times = {
            new: saved
            for new, (old, saved) in self._moved.items()
            if self._after[new] == self._before[old]
        }
        self.result = commit.commit(
            runtime, plan, self._before, self._after, times, must_record=own
        )
        return plan

    def diff(self) -> str:
        """The steps so far as a unified diff."""
        moved = {new: old for new, (old, _) in self._moved.items()}
        parts: list[str] = []
        for key in self._changed():
            if key not in moved.values():
                old = moved.get(key, key)
                parts += _diff(
                    self._shown(old), self._shown(key), self._before[old], self._after[key]
                )
        return "".join(parts)

    def _shown(self, key: _Key) -> str:
        return f"{self._vaults[key[0]].name}/{key[1]}"

    def _changed(self) -> list[_Key]:
        return [key for key, after in self._after.items() if after != self._before[key]]

    def _plan(self, command: str, agent: str | None, *, trash: bool) -> ChangePlan:
        changes = [self._file(key) for key in self._changed()]
        changes += [*self._trashed, *self._appended.values()]
        # Created files first and removed files last, so that no text is missing at any moment.
        changes.sort(key=lambda file: (file.before is not None) + 2 * (file.after is None))
        folders = files.new_folders(self._vaults, changes)
        return ChangePlan(command, self.what, tuple(changes), folders, None, agent, trash)

    def _file(self, key: _Key) -> FileChange:
        before, after = self._before[key], self._after[key]
        rewritten = before is not None and after is not None
        return FileChange(
            *key,
            digest(before),
            digest(after),
            None if rewritten else self._modes[key],
            _changed_domains(key[1], self._vaults[key[0]].dialect, before, after),
        )


def _diff(old: str, new: str, before: bytes | None, after: bytes | None) -> Iterator[str]:
    """The lines of a unified diff of a file, also of one that only moves."""
    first, second = (decode(data or b"")[0].splitlines(keepends=True) for data in (before, after))
    lines = [*unified_diff(first, second, old, new, n=1)] or [f"--- {old}\n", f"+++ {new}\n"]
    yield from (line if line.endswith("\n") else f"{line}\n" for line in lines)


@contextmanager
def change_set(
    runtime: Runtime, command: str, what: str, agent: str | None = None, *, dry_run: bool = False
) -> Iterator[ChangeSet]:
    """Collect changes of notes in the block, and carry them out together when it ends.

    `command` is the command that makes the change, and `what` says in one sentence what changes. If
    a file does not have the expected bytes when the block ends, nothing is changed and `Changed` is
    raised. If the process is killed, the next command that writes takes the changes back. Raises
    `Refused` for a read-only vault, and `Unavailable` when the ledger or a folder cannot be
    written. With `dry_run`, nothing is changed.
    """
    changes = ChangeSet(what)
    yield changes
    if not dry_run and (vaults := changes.vaults()):
        with commit.locked(runtime.state, vaults):
            plan = changes.carry_out(runtime, command, agent)
        commit.index_changed(runtime, plan, changes.result)


def check_writable(vault: Vault) -> None:
    """Raise `Refused` for a read-only vault."""
    if vault.read_only:
        raise Refused(f"vault {vault.name} is read-only; remove read_only from config.yaml first")


def _check_size(data: bytes) -> None:
    """Raise `Refused` for more bytes than a note may have."""
    if len(data) > MAX_BYTES:
        raise Refused(f"{len(data):,} bytes are too many for one note; split the text")


ATTEMPTS = 5
"""Maximum number of attempts, each after an editor has saved a note in the meantime."""


def attempts(change: Callable[[], T]) -> T:
    """The result of `change`, which is repeated if another program saves a note meanwhile."""
    for _ in range(ATTEMPTS - 1):
        with suppress(Changed):
            return change()
    return change()


class VaultWriter(Struct):
    """Collects the changes of notes of one vault while it holds the lock, and makes them."""

    vault: Vault
    now: datetime
    """The time of the written notes. It is read under the lock, so that a later writer has a later
    time."""
    changes: ChangeSet = field(default_factory=ChangeSet)
    """The change so far."""
    steps: list[Callable[[], None]] = field(default_factory=list)
    """The steps that make the change again after another program has saved one of the notes."""
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

    def trash(self, paths: Sequence[str]) -> list[Path]:
        """Move files as they are to the trash of the vault, in this order. Returns their places."""
        return [self.changes.trash(self.vault, path) for path in paths]

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
                self.changes.restart()
                for step in self.steps:
                    step()
        self.problems += self.changes.result.problems


@contextmanager
def writing(
    runtime: Runtime, vault: Vault, command: str, agent: str | None
) -> Iterator[VaultWriter]:
    """Lock a vault to write notes, which become one change of `command` when the block ends.

    Afterwards they are searchable by words, and the next question embeds them; see `index_notes`.
    If the block raises, no note is changed. Raises `Refused` for a read-only vault, and `Changed`
    when another program keeps saving a note.
    """
    check_writable(vault)
    commit.recover(runtime.state)
    writer = None
    try:
        with runtime.state.vault_lock(vault):
            _make_root(runtime.home, vault)
            writer = VaultWriter(vault, runtime.now())
            yield writer
            writer.save(runtime, command, agent)
    finally:
        if writer and writer.written:
            paths, problems = [*writer.written], writer.problems
            writer.searchable = commit.make_searchable(runtime, vault, paths, problems)


def _make_root(home: Home, vault: Vault) -> None:
    """Create the folder of a vault inside the home. It is missing in a clone without notes."""
    if not vault.root.is_dir():
        if home.root not in (vault.root.resolve(), *vault.root.resolve().parents):
            raise Unavailable(f"{vault.root} of vault {vault.name} does not exist; mount it")
        make_folder(vault.root.parent)
        make_folder(vault.root, private=is_private(vault))


def _changed_domains(
    path: str, dialect: Dialect, before: bytes | None, after: bytes | None
) -> tuple[str, ...]:
    """The domains of the memories that a change of a file adds, changes or removes."""
    old, new = _memories_in(path, before, dialect), _memories_in(path, after, dialect)
    changed = [
        old.get(key) or new[key] for key in {**old, **new} if not (key in old and key in new)
    ]
    domains = (domain for memory in changed for domain in domains_of(memory.parse()))
    return tuple(sorted(set(domains)))


def _memories_in(
    path: str, data: bytes | None, dialect: Dialect
) -> dict[tuple[str | None, bytes], NoteMemory]:
    if data is None or not path.endswith(".md"):
        return {}
    memories = parse_file(path, data, dialect).memories
    return {(memory.block, memory.digest): memory for memory in memories}
