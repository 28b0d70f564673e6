"""Restores notes from the trash of their vaults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import PurePosixPath

from msgspec import Struct

from djinn_memory.errors import NotFound, Refused, Remedy, Unavailable, UsageError
from djinn_memory.indexing.refresh import read
from djinn_memory.memories.catalog.requests import RestoreMemory
from djinn_memory.memories.memory_files import trashed_notes, versions
from djinn_memory.memories.writing.change_set import ChangeSet, writing
from djinn_memory.memories.writing.existing import HISTORY
from djinn_memory.models import Vault
from djinn_memory.notes import vault as disk
from djinn_memory.notes.note import Note
from djinn_memory.notes.slugs import fold
from djinn_memory.notes.vault import TRASH
from djinn_memory.runtime import Runtime
from djinn_memory.store.state import State


class TrashedNote(Struct, frozen=True):
    """A note in the trash of a vault."""

    vault: str
    """The name of the vault."""
    path: str
    """Its original path, relative to the folder of the vault. It is restored to this path."""
    id: str | None
    """`mem_` and 16 characters; null for a note without an id."""
    title: str
    """The title of the note."""


class RestoreReport(Struct, frozen=True):
    """The content of the trash, or the restored files."""

    notes: tuple[TrashedNote, ...]
    """The restored note; without a name, every note in the trash, by vault and path."""
    files: tuple[str, ...]
    """The restored files: the note, its earlier versions, the original of a document."""
    restored: bool
    """Whether the files were restored; false for a list and for a dry run."""


def restore(runtime: Runtime, vaults: Sequence[Vault], request: RestoreMemory) -> RestoreReport:
    """Move the note that a name means from the trash to its original path, with its versions.

    Without a name, list the trash. Raises `Refused` if one of the files exists.
    """
    state = runtime.state
    trashed = [entry for vault in vaults for entry in _trashed(state, vault)]
    if request.name is None:
        return RestoreReport(tuple(note for _, note, _ in trashed), (), False)
    vault, note, parsed = _named(request.name, trashed)
    if vault.read_only:
        raise Refused(f"vault {vault.name} is read-only; move the file yourself")
    with writing(runtime, vault, "memory restore", request.agent) as writer:
        files = _files(vault, note, parsed)
        for path in reversed(files):
            writer.changes.restore(vault, path)
        if request.dry_run:
            writer.changes = ChangeSet()
    if not request.dry_run:
        # It is back even if the index cannot be told now: the next command reads it.
        with suppress(Unavailable):
            read(state, [vault], timeout=1)
    return RestoreReport((note,), tuple(files), not request.dry_run)


_Entry = tuple[Vault, TrashedNote, Note]


def _trashed(state: State, vault: Vault) -> Iterator[_Entry]:
    """The notes in the trash of a vault that its reader may see.

    Earlier versions belong to their notes.
    """
    for place, note in trashed_notes(state, vault):
        path = place.removeprefix(f"{TRASH}/")
        is_version = {HISTORY, f".{HISTORY}"} & set(PurePosixPath(path).parts[:-1])
        if not is_version and not (vault.root / place).is_symlink():
            yield vault, TrashedNote(vault.name, path, note.id, note.title), note


def _named(name: str, trashed: Sequence[_Entry]) -> _Entry:
    wanted = name.strip().removeprefix(f"{TRASH}/")
    folded = fold(wanted)

    def exact(note: TrashedNote) -> bool:
        return wanted in (f"{note.vault}:{note.path}", f"{note.vault}:{TRASH}/{note.path}")

    def placed(note: TrashedNote) -> bool:
        return wanted in (note.id, note.path, f"{note.vault}/{note.path}")

    def titled(note: TrashedNote) -> bool:
        return folded in (fold(note.title), fold(PurePosixPath(note.path).stem))

    for means in (exact, placed, titled):
        matches = [entry for entry in trashed if means(entry[1])]
        if len(matches) == 1:
            return matches[0]
        if matches:
            places = ", ".join(f"{note.vault}:{note.path}" for _, note, _ in matches)
            raise UsageError(f"{name!r} is ambiguous: {places}; use one of these")
    listed = Remedy("memories.restore", {}, "list the trash")
    raise NotFound(f"no note {name!r} in the trash", listed)


def _files(vault: Vault, note: TrashedNote, parsed: Note) -> list[str]:
    """The paths to which a note and the files trashed with it return, the note first."""
    earlier = [
        path.removeprefix(f"{TRASH}/")
        for path in versions(vault, f"{TRASH}/{note.path}")
        if disk.trashed(path)
    ]
    originals = [
        str(PurePosixPath(note.path).with_name(PurePosixPath(value).name))
        for key, value in parsed.fields
        if key == "original" and PurePosixPath(value).name not in ("", ".", "..")
    ]
    kept = [path for path in originals if (vault.root / TRASH / path).is_file()]
    return list(dict.fromkeys([note.path, *earlier, *kept]))
