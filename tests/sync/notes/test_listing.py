"""Which note a file is, when it was moved, edited or both."""

from __future__ import annotations

from uuid import UUID

from djinn_memory.store.ledger.sync_state import NoteBase
from djinn_memory.sync.notes.listing import LocalFile, find_copies, match, unambiguous

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


COPY = "folder/a (conflict anna 0123abcd).md"


def original(files: dict[str, str | None], *bases: NoteBase) -> str | None:
    known = {UUID(int=number): base for number, base in enumerate(bases, 1)}
    [(path, note)] = find_copies({COPY: None, **files}, known)
    assert path == COPY
    return note


def test_the_note_of_a_copy_is_found_by_link_or_id_after_a_rename() -> None:
    copy = NoteBase(COPY, b"", 1, conflict_of=UUID(int=1))
    assert original({"b.md": None}, NoteBase("b.md", b"", 1), copy) == "b.md"
    assert original({"b.md": "mem_1", COPY: "mem_1"}) == "b.md"
    # Another note has the old name by now.
    assert original({"b.md": None, "folder/a.md": None}, NoteBase("b.md", b"", 1), copy) == "b.md"
    assert original({"b.md": "mem_1", "folder/a.md": "mem_2", COPY: "mem_1"}) == "b.md"


def test_the_note_of_a_copy_without_link_and_id_is_found_by_name() -> None:
    assert original({"Folder/A.md": None}) == "Folder/A.md"
    assert original({"b.md": None, "c.md": "mem_1"}) is None
    gone = NoteBase(COPY, b"", 1, conflict_of=UUID(int=2))
    assert original({"folder/a.md": None}, gone) == "folder/a.md"
