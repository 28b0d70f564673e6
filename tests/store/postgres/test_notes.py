"""Notes on a server: compare and swap, paths that belong to one note, tombstones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from threading import Thread
from typing import TYPE_CHECKING
from uuid import UUID

import pytest

from djinn_memory.store.postgres.connection import (
    ServerAddress,
    connect,
    reading,
    writing,
)
from djinn_memory.store.postgres.notes import (
    ServerChange,
    announce,
    changed,
    contents,
    head,
    listen,
    marks,
    states,
    write,
)
from tests.sync.homes import SCOPE, register

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Connection

HOME = UUID(int=7)
A, B, C = (UUID(int=number) for number in (1, 2, 3))


@pytest.fixture
def connection(database: ServerAddress) -> Iterator[Connection]:
    register(database)
    with closing(connect(database)) as connection:
        yield connection


def change(note_id: UUID, path: str, content: bytes | None, rev: int = 0) -> ServerChange:
    return ServerChange(note_id, path, path.lower(), content or b"", content, rev)


def written(
    connection: Connection, database: ServerAddress, *changes: ServerChange
) -> tuple[int, set[UUID]]:
    with writing(connection, database, SCOPE) as writer:
        return writer.rev, write(writer, HOME, "notes", changes)


def test_only_the_expected_revision_is_replaced(
    connection: Connection, database: ServerAddress
) -> None:
    first, done = written(connection, database, change(A, "a.md", b"1"), change(B, "b.md", b"1"))
    assert done == {A, B}
    second, done = written(connection, database, change(A, "a.md", b"2", first))
    assert done == {A}
    late = change(A, "a.md", b"3", first)
    _, done = written(connection, database, late, change(A, "x.md", b"3"))
    assert done == set()
    with reading(connection, database) as cursor:
        assert dict(contents(cursor, SCOPE, changed(cursor, SCOPE, 0))) == {A: b"2", B: b"1"}
        assert [note.note_id for note in changed(cursor, SCOPE, first)] == [A]
        assert marks(cursor, SCOPE, [first, second, 99]).keys() == {first, second}
        present = head(cursor, SCOPE)
        assert present and present.rev == 3
        assert head(cursor, UUID(int=99)) is None


def test_a_path_belongs_to_one_note(connection: Connection, database: ServerAddress) -> None:
    rev, _ = written(connection, database, change(A, "a.md", b"1"), change(B, "b.md", b"1"))
    _, done = written(connection, database, change(C, "A.md", b"2"))
    assert done == set()
    # Two notes may exchange their paths, and one may take the path of a note that goes.
    rev, done = written(
        connection, database, change(A, "b.md", b"1", rev), change(B, "a.md", b"1", rev)
    )
    assert done == {A, B}
    _, done = written(connection, database, change(A, "b.md", None, rev), change(C, "b.md", b"3"))
    assert done == {A, C}
    with reading(connection, database) as cursor:
        now = states(cursor, SCOPE, [A, B, C])
    assert {key: (note.path, note.deleted) for key, note in now.items()} == {
        A: ("b.md", True), B: ("a.md", False), C: ("b.md", False),
    }  # fmt: skip


def test_a_note_that_lost_keeps_its_path(connection: Connection, database: ServerAddress) -> None:
    rev, _ = written(connection, database, change(A, "a.md", b"1"), change(B, "b.md", b"1"))
    # A moves away only with an outdated revision, so that its path stays taken.
    _, done = written(
        connection, database, change(A, "c.md", b"1", rev + 9), change(B, "a.md", b"1", rev)
    )
    assert done == set()


def test_a_deletion_leaves_a_tombstone(connection: Connection, database: ServerAddress) -> None:
    rev, _ = written(connection, database, change(A, "a.md", b"1"))
    deleted, done = written(connection, database, change(A, "a.md", None, rev))
    assert done == {A}
    with reading(connection, database) as cursor:
        [note] = changed(cursor, SCOPE, rev)
        assert note.deleted
        assert list(contents(cursor, SCOPE, [note])) == []
    _, done = written(connection, database, change(A, "a.md", b"again", deleted))
    assert done == {A}


def test_a_writer_is_heard(connection: Connection, database: ServerAddress) -> None:
    heard: list[bool] = []

    def wait() -> None:
        with closing(connect(database)) as listener:
            heard.append(listen(listener, database, {str(SCOPE)}, 20))

    thread = Thread(target=wait)
    thread.start()
    while thread.is_alive():
        with writing(connection, database, SCOPE) as writer:
            announce(writer)
        thread.join(0.05)
    assert heard == [True]
    assert listen(connection, database, {str(SCOPE)}, 0.01) is False
