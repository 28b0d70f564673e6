"""The files of a vault on a Postgres server: notes and attachments, and their tombstones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Literal
from uuid import UUID

from msgspec import Struct

from djinn_memory.store.postgres.connection import explained
from djinn_memory.store.postgres.values import copying

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import (
        Connection,
        Cursor,
        ScopeWriter,
        ServerAddress,
    )

CHANNEL = "djinn_sync"
"""The channel on which a writer announces the id of its scope."""

FETCH_BYTES = 16_000_000
"""Maximum size of the contents that are fetched at once, unless one is larger."""

FileTable = Literal["notes", "attachments"]
TABLES: tuple[FileTable, ...] = ("notes", "attachments")

_STATE = "note_id, path, hash, size, rev, deleted, purged, conflict_of"


class ServerNote(Struct, frozen=True):
    """A note or an attachment on the server, without its bytes."""

    note_id: UUID
    path: str
    hash: bytes
    size: int
    rev: int
    deleted: bool = False
    """Whether it is a tombstone."""
    purged: bool = False
    """Of a tombstone: whether all copies are to be removed."""
    conflict_of: UUID | None = None
    table: FileTable = "notes"
    """The table with its row."""


class ServerHead(Struct, frozen=True):
    """How far a scope has come."""

    rev: int
    purged_rev: int
    """The revision of the newest tombstone that was removed."""


class ServerChange(Struct, frozen=True):
    """A change of a note or an attachment, to be written if the server still has `rev`."""

    note_id: UUID
    path: str
    key: str
    """The path as file systems compare it that ignore case."""
    hash: bytes
    content: bytes | None
    """None for a deletion."""
    rev: int
    """The revision that it replaces; 0 if the server does not know the note."""
    purged: bool = False
    conflict_of: UUID | None = None


def head(cursor: Cursor, scope: UUID) -> ServerHead | None:
    """How far a scope has come; None if the server does not know it."""
    cursor.execute("select rev, purged_rev from scopes where user_id = %s", (scope,))
    row = cursor.fetchone()
    return ServerHead(*row) if row else None


def marks(cursor: Cursor, scope: UUID, revs: Sequence[int]) -> dict[int, UUID]:
    """The marks of those of the revisions that the server has."""
    cursor.execute(
        "select rev, mark from revisions where user_id = %s and rev = any(%s)", (scope, list(revs))
    )
    return dict(cursor.fetchall())


def changed(cursor: Cursor, scope: UUID, after: int) -> list[ServerNote]:
    """The notes and attachments that changed after a revision, with tombstones."""
    return [
        note
        for table in TABLES
        for note in _select(cursor, table, "user_id = %s and rev > %s", (scope, after))
    ]


def journal_changed(cursor: Cursor, scope: UUID, after: int, last_day: str) -> bool:
    """Whether a journal of a day up to `last_day`, an ISO date, changed after a revision."""
    cursor.execute(
        "select exists (select from notes where user_id = %s and rev > %s "
        "and path like 'journal/%%' and substr(path, 9, 10) collate \"C\" <= %s)",
        (scope, after, last_day),
    )
    return cursor.fetchone() == (True,)


def states(cursor: Cursor, scope: UUID, note_ids: Sequence[UUID]) -> dict[UUID, ServerNote]:
    """Some notes and attachments by their ids, as they are now."""
    values = (scope, list(note_ids))
    return {
        note.note_id: note
        for table in TABLES
        for note in _select(cursor, table, "user_id = %s and note_id = any(%s)", values)
    }


def contents(
    cursor: Cursor, scope: UUID, notes: Sequence[ServerNote]
) -> Iterator[tuple[UUID, bytes]]:
    """The bytes of notes and attachments by their ids.

    Notes that were deleted since are left out, and rows with a wrong size.
    """
    batch: list[UUID] = []
    size = 0
    for note in notes:
        if batch and size + note.size > FETCH_BYTES:
            yield from _contents(cursor, scope, batch)
            batch, size = [], 0
        batch.append(note.note_id)
        size += note.size
    if batch:
        yield from _contents(cursor, scope, batch)


def _contents(cursor: Cursor, scope: UUID, note_ids: list[UUID]) -> Iterator[tuple[UUID, bytes]]:
    for table in TABLES:
        sql = (
            f"select note_id, content from {table} "
            "where user_id = %s and note_id = any(%s) and octet_length(content) = size"
        )
        cursor.execute(sql.encode(), (scope, note_ids), binary=True)
        yield from cursor.fetchall()


def write(
    writer: ScopeWriter, home: UUID, table: FileTable, changes: Sequence[ServerChange]
) -> set[UUID]:
    """Write changes of notes whose revision is still the expected one. Returns their ids.

    A change is left out too if another note has its path.
    """
    values = writer.scope, [change.note_id for change in changes]
    known = _select(writer.tx, table, "user_id = %s and note_id = any(%s)", values)
    revs = {note.note_id: note.rev for note in known}
    current = [change for change in changes if revs.get(change.note_id, 0) == change.rev]
    accepted = _without_taken_paths(writer, table, current)
    _delete(writer, home, table, [change for change in accepted if change.content is None])
    written = [change for change in accepted if change.content is not None]
    _update(writer, home, table, [change for change in written if change.rev])
    _insert(writer, home, table, [change for change in written if not change.rev])
    return {change.note_id for change in accepted}


def _without_taken_paths(
    writer: ScopeWriter, table: FileTable, changes: Sequence[ServerChange]
) -> list[ServerChange]:
    """The changes after which every path belongs to one note.

    A change that is left out keeps its note at its path, which may take the path of another change.
    """
    accepted = list(changes)
    while True:
        ids = [change.note_id for change in accepted]
        keys = [change.key for change in accepted if change.content is not None]
        sql = (
            f"select path_key from {table} where user_id = %s and not deleted "
            "and path_key = any(%s) and not note_id = any(%s)"
        )
        writer.tx.execute(sql.encode(), (writer.scope, keys, ids))
        taken = {key for (key,) in writer.tx.fetchall()}
        remaining = []
        for change in accepted:
            if change.content is not None:
                if change.key in taken:
                    continue
                taken.add(change.key)
            remaining.append(change)
        if len(remaining) == len(accepted):
            return accepted
        accepted = remaining


def _delete(
    writer: ScopeWriter, home: UUID, table: FileTable, changes: Sequence[ServerChange]
) -> None:
    known = [change for change in changes if change.rev]
    sql = (
        f"update {table} set content = null, size = 0, deleted = true, purged = purged or %s, "
        "rev = %s, home_id = %s, written_at = now() where user_id = %s and note_id = %s"
    )
    writer.tx.executemany(
        sql.encode(),
        [(change.purged, writer.rev, home, writer.scope, change.note_id) for change in known],
    )
    _forget_paths(writer, table)


def _forget_paths(writer: ScopeWriter, table: FileTable) -> None:
    """Remove the paths of the tombstones of purged files: the name may be the title."""
    name = "note_id::text || '.md'" if table == "notes" else "note_id::text"
    sql = (
        f"update {table} set path = {name}, path_key = {name} "
        "where user_id = %s and rev = %s and deleted and purged"
    )
    writer.tx.execute(sql.encode(), (writer.scope, writer.rev))


def _update(
    writer: ScopeWriter, home: UUID, table: FileTable, changes: Sequence[ServerChange]
) -> None:
    # Two notes may exchange their paths, so that all are free for a moment.
    sql = (
        f"update {table} set path_key = '/' || note_id::text "
        "where user_id = %s and note_id = any(%s)"
    )
    ids = [change.note_id for change in changes]
    if ids:
        writer.tx.execute(sql.encode(), (writer.scope, ids))
    sql = (
        f"update {table} set path = %s, path_key = %s, content = %s, hash = %s, size = %s, "
        "rev = %s, deleted = false, purged = false, conflict_of = coalesce(%s, conflict_of), "
        "home_id = %s, written_at = now() where user_id = %s and note_id = %s"
    )
    writer.tx.executemany(
        sql.encode(),
        [
            (change.path, change.key, change.content, change.hash, len(change.content or b""),
             writer.rev, change.conflict_of, home, writer.scope, change.note_id)
            for change in changes
        ],
    )  # fmt: skip


def _insert(
    writer: ScopeWriter, home: UUID, table: FileTable, changes: Sequence[ServerChange]
) -> None:
    if not changes:
        return
    columns = "user_id, note_id, path, path_key, content, hash, size, rev, conflict_of, home_id"
    types = ["uuid", "uuid", "text", "text", "bytea", "bytea", "int8", "int8", "uuid", "uuid"]
    with copying(writer.tx, table, columns, types) as copy:
        for change in changes:
            copy.write_row(
                (writer.scope, change.note_id, change.path, change.key, change.content,
                 change.hash, len(change.content or b""), writer.rev, change.conflict_of, home)
            )  # fmt: skip


def restore(cursor: Cursor, scope: UUID, note: ServerNote, content: bytes) -> None:
    """Write the bytes again from which the hash of a note or an attachment was computed.

    The revision stays: for other homes nothing changes.
    """
    sql = (
        f"update {note.table} set content = %s, size = %s "
        "where user_id = %s and note_id = %s and hash = %s and not deleted"
    )
    cursor.execute(sql.encode(), (content, len(content), scope, note.note_id, note.hash))


def purge_deleted(writer: ScopeWriter, digests: Sequence[bytes]) -> None:
    """Mark tombstones of files with these hashes, so that homes empty their trash of them."""
    for table in TABLES:
        sql = (
            f"update {table} set purged = true, rev = %s, written_at = now() "
            "where user_id = %s and deleted and not purged and hash = any(%s)"
        )
        writer.tx.execute(sql.encode(), (writer.rev, writer.scope, list(digests)))
        _forget_paths(writer, table)


def announce(writer: ScopeWriter) -> None:
    """Tell listening homes that the scope changes with this transaction. They also poll."""
    writer.tx.execute("select pg_notify(%s, %s)", (CHANNEL, str(writer.scope)))


def listen(
    connection: Connection, address: ServerAddress, scopes: Collection[str], seconds: float
) -> bool:
    """Wait until a writer announces one of these scopes, at most some seconds. Returns whether."""
    with explained(address):
        connection.execute(f"listen {CHANNEL}".encode())
        announced = any(
            notice.payload in scopes
            for notice in connection.notifies(timeout=seconds, stop_after=1)
        )
        connection.execute(f"unlisten {CHANNEL}".encode())
    return announced


def prune_history(cursor: Cursor, scope: UUID, keep_days: float) -> int:
    """Remove old tombstones and marks of revisions that every active home has seen.

    `keep_days` is their minimum age, and the time in which a home counts as active. Returns the
    number of tombstones. A home that comes back later compares both sides as a whole. The mark of
    the last revision that it has seen is kept: what it knew up to there is no conflict.
    """
    # By one clock: each node of a cluster has its own.
    cursor.execute("select now() - make_interval(secs => %s)", (keep_days * 86400,))
    [(limit,)] = cursor.fetchall()
    values = {"scope": scope, "limit": limit}
    cursor.execute(
        "select min(rev) from homes where user_id = %(scope)s and not seen_at < %(limit)s", values
    )
    [(values["passed"],)] = cursor.fetchall()
    if values["passed"] is None:
        return 0
    old = "user_id = %(scope)s and written_at < %(limit)s"
    cursor.execute(
        f"delete from revisions where {old} and rev < %(passed)s "
        "and not rev in (select rev from homes where user_id = %(scope)s)".encode(),
        values,
    )
    removed: list[int] = []
    for table in TABLES:
        sql = f"delete from {table} where {old} and deleted and rev <= %(passed)s returning rev"
        cursor.execute(sql.encode(), values)
        removed += [rev for (rev,) in cursor.fetchall()]
    if removed:
        cursor.execute(
            "update scopes set purged_rev = greatest(purged_rev, %s) where user_id = %s",
            (max(removed), scope),
        )
    return len(removed)


def _select(
    cursor: Cursor, table: FileTable, where: str, values: Sequence[object]
) -> list[ServerNote]:
    sql = f"select {_STATE}, '{table}' from {table} where {where}"
    cursor.execute(sql.encode(), values, binary=True)
    return [ServerNote(*row) for row in cursor.fetchall()]
