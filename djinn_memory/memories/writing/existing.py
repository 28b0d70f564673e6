"""Decides what happens to existing notes with the title of a new memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from contextlib import suppress

from msgspec.structs import replace

from djinn_memory.errors import Busy, DjinnError, Refused, Remedy, UsageError
from djinn_memory.memories.catalog.catalog import part_of_journal
from djinn_memory.memories.catalog.hiding import hides_note
from djinn_memory.memories.writing.drafts import Draft
from djinn_memory.memories.writing.duplicates import Duplicate
from djinn_memory.memories.writing.requests import NewMemory
from djinn_memory.models import Memory, Vault
from djinn_memory.notes import vault as disk
from djinn_memory.notes.markdown import inline
from djinn_memory.notes.note import parse
from djinn_memory.notes.slugs import fold, folder, slug
from djinn_memory.notes.vault import on_disk
from djinn_memory.store.index.records import TitledRef
from djinn_memory.store.state import State

BESIDE = Remedy("", {"existing": "new"}, "write a separate note")


def choose_note(
    state: State,
    vault: Vault,
    draft: Draft,
    request: NewMemory,
    *,
    old: Memory | None,
    duplicate: Duplicate | None,
) -> tuple[str | None, Draft]:
    """The note to change, or None for a new note; and the draft, numbered if its title is taken.

    The caller holds the lock of the vault. `old` is the note that the draft supersedes. `duplicate`
    has nearly the same content. Raises `Refused` or `UsageError` for a memory that already exists,
    unless the request decides, and for the title of a journal's section, which cannot be changed.
    """
    existing, wanted = request.existing, fold(inline(draft.title))
    titles, sections = _titles(state, vault, draft)
    same_title = (path for path, title in titles.items() if fold(title) == wanted)
    taken = [path for path in same_title if on_disk(vault, path)]
    if not taken and existing in ("append", "revise") and not request.force:
        for section in sections:
            if fold(section.title) == wanted:
                raise part_of_journal(section, "changed", BESIDE)
    if taken and existing == "refuse":
        raise Refused(
            f"a note {draft.title!r} already exists ({vault.name}/{taken[0]})",
            Remedy("", {"existing": "append"}, "append to it"),
            Remedy("", {"existing": "revise"}, "replace its text and keep the old version"),
            Remedy("", {"existing": "new"}, "write a numbered note beside it"),
        )
    places = [(vault.name, path) for path in taken]
    if old and existing != "new" and (old.vault, old.path) in places:
        revise = Remedy("", {"existing": "revise"}, "replace its text")
        raise UsageError(f"{draft.title!r} cannot supersede itself", revise)
    places += [(old.vault, old.path)] if old else []
    same = duplicate.memory if duplicate else None
    if duplicate and same and (same.vault, same.path) not in places:
        raise Refused(
            f"{same.vault}/{same.path} says nearly the same ({duplicate.how} "
            f"{duplicate.likeness:.2f}): {same.title!r}, {same.id or 'without id'}; "
            "append to that note",
            Remedy("", {"force": True}, "write it anyway"),
        )
    if existing == "new" and taken:
        return None, replace(draft, title=_numbered(draft.title, titles.values()))
    if len(taken) > 1:
        choices = ", ".join(taken)
        raise UsageError(
            f"{draft.title!r} is the title of several notes: {choices}; give each its own title"
        )
    return (taken[0] if taken else None), draft


def _numbered(title: str, titles: Iterable[str]) -> str:
    """A title with the first number that makes it unique."""
    taken = set(map(fold, titles))
    numbered = (f"{title} ({number})" for number in itertools.count(2))
    return next(name for name in numbered if fold(name) not in taken)


def _titles(state: State, vault: Vault, draft: Draft) -> tuple[dict[str, str], Sequence[TitledRef]]:
    """The titles of notes by path, and the sections of journals."""
    indexed: Sequence[TitledRef] = ()
    # Without the index only notes of the usual name are known.
    with suppress(Busy), state.reading([vault]) as index:
        indexed = index.titles()
    titles = {note.path: note.title for note in indexed if not note.block}
    place = folder(draft.type)
    # Another process may have written such a file just now, so that it is not indexed yet.
    for file in (vault.root / place).glob(f"{slug(draft.title)}*.md"):
        path = f"{place}/{file.name}"
        if path not in titles:
            with suppress(OSError, DjinnError):
                note = parse(path, disk.read(vault, path))
                if not hides_note(state.home, vault, note):
                    titles[path] = note.title
    return titles, [section for section in indexed if section.block]
