"""Finds the note that a file is, or of which it is a conflict copy. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from uuid import UUID

from msgspec import Struct

from djinn_memory.store.ledger.sync_state import NoteBase
from djinn_memory.sync.notes.names import is_note, original_path, path_key


class LocalFile(Struct, frozen=True):
    """A file of a vault in a home."""

    path: str
    hash: bytes
    size: int
    uid: str | None = None
    """The id in the front matter, if the file owns it."""
    stat: str | None = None
    """Of an attachment: size and times of the file."""


class Matches(Struct):
    """The notes that files are."""

    notes: dict[UUID, LocalFile]
    fresh: list[LocalFile]
    """Files that belong to no known note, by path."""


def match(files: Iterable[LocalFile], bases: Mapping[UUID, NoteBase]) -> Matches:
    """Find the known note of each file.

    A file at the path of a note is the note. A file with another path is a note whose file is
    missing if the paths differ only as `path_key` ignores, if both have the same id, or if they
    have the same bytes.
    """
    left = {file.path: file for file in files}
    missing = dict(bases)
    notes: dict[UUID, LocalFile] = {}

    def pair(of_file: Callable[[LocalFile], object], of_base: Callable[[NoteBase], object]) -> None:
        waiting: defaultdict[object, list[LocalFile]] = defaultdict(list)
        for path in sorted(left, reverse=True):
            if (key := of_file(left[path])) is not None:
                waiting[key].append(left[path])
        for note_id in sorted(missing, key=lambda note_id: missing[note_id].path):
            if candidates := waiting.get(of_base(missing[note_id])):
                notes[note_id] = candidates.pop()
                del left[notes[note_id].path], missing[note_id]

    pair(lambda file: file.path, lambda base: base.path)
    pair(lambda file: path_key(file.path), lambda base: path_key(base.path))
    pair(lambda file: file.uid, lambda base: base.uid or "")
    pair(
        lambda file: (is_note(file.path), file.hash),
        lambda base: (is_note(base.path), base.hash),
    )
    return Matches(notes, [left[path] for path in sorted(left)])


def unambiguous(uids: Collection[str | None]) -> set[str]:
    """The ids that occur once."""
    seen: set[str] = set()
    repeated: set[str] = set()
    for uid in filter(None, uids):
        (repeated if uid in seen else seen).add(uid)
    return seen - repeated


def find_copies(
    files: Mapping[str, str | None], bases: Mapping[UUID, NoteBase]
) -> Iterator[tuple[str, str | None]]:
    """The conflict copies among files, by path, each with the path of its note.

    `files` has the id in the front matter of each file. The note is the one that the server has
    recorded for the copy, else the one with the id of the copy, else the one with its name. It is
    None if there is none.
    """
    originals = {path: uid for path, uid in files.items() if not original_path(path)}
    linked = {base.path: bases.get(base.conflict_of) for base in bases.values() if base.conflict_of}
    by_id = {uid: path for path, uid in originals.items() if uid}
    by_name = {path_key(path): path for path in files}
    for path in sorted(files.keys() - originals.keys()):
        note = linked.get(path)
        if note and note.path in originals:
            yield path, note.path
        else:
            named = by_name.get(path_key(original_path(path) or ""))
            yield path, by_id.get(files[path] or "", named)
