"""Which note a file is, when it was moved, edited or both."""

from __future__ import annotations

from uuid import UUID

from djinn_memory.store.ledger.sync_state import NoteBase
from djinn_memory.sync.notes.matching import LocalFile, match, unambiguous

A, B = UUID(int=1), UUID(int=2)
BASES = {A: NoteBase("a.md", b"1", 3, "mem_a"), B: NoteBase("d/b.md", b"2", 4)}


def paths(*files: LocalFile) -> tuple[dict[UUID, str], list[str]]:
    matches = match(files, BASES)
    known = {note_id: file.path for note_id, file in matches.notes.items()}
    return known, [file.path for file in matches.fresh]


def test_a_path_comes_first() -> None:
    files = LocalFile("a.md", b"2", 1), LocalFile("x.md", b"1", 1)
    assert paths(*files) == ({A: "a.md"}, ["x.md"])


def test_a_note_is_followed_by_its_id() -> None:
    edited = LocalFile("renamed.md", b"9", 1, "mem_a")
    assert paths(edited, LocalFile("copy.md", b"1", 1)) == ({A: "renamed.md"}, ["copy.md"])


def test_a_note_is_followed_by_its_bytes() -> None:
    assert paths(LocalFile("x.md", b"2", 1)) == ({B: "x.md"}, [])
    # An attachment with the bytes of a note is no note.
    assert paths(LocalFile("x.txt", b"2", 1)) == ({}, ["x.txt"])


def test_a_note_is_followed_by_a_path_in_another_case() -> None:
    assert paths(LocalFile("D/B.md", b"9", 1)) == ({B: "D/B.md"}, [])


def test_a_copy_is_a_new_note() -> None:
    files = LocalFile("a.md", b"1", 1), LocalFile("copy of a.md", b"1", 1)
    assert paths(*files) == ({A: "a.md"}, ["copy of a.md"])


def test_an_id_of_two_files_says_nothing() -> None:
    assert unambiguous(["a", None, "b", "a"]) == {"b"}
