"""The vectors of windows, in sqlite-vec tables partitioned by compartment.

The vectors of one model are a space. One space answers queries. While the vectors of another model
are being made, they fill a second space, which replaces the first when it is complete.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import apsw
from msgspec import Struct
from msgspec.structs import asdict, replace

from djinn_memory.models import Calibration, Vault
from djinn_memory.store.sqlite import rows, write_row

_WINDOWS = (
    "from window join chunk on chunk.id = chunk_id join memory on memory.id = memory_id "
    "join note on note.id = note_id"
)


class VectorSpace(Struct, frozen=True):
    """The vectors of one model."""

    number: int
    identity: str
    dimensions: int
    recipe: str
    """The settings of its embedder, as JSON."""
    calibration: Calibration
    serving: bool

    @property
    def table(self) -> str:
        """The name of its `vec0` table."""
        return f"vectors_{self.number}"

    @property
    def _mark(self) -> str:
        """The column of `window` that records whether a window has a vector in this space."""
        return "embedded" if self.serving else "coming"


def serving(connection: apsw.Connection) -> VectorSpace | None:
    """The space that answers queries, or None while nothing is embedded."""
    return next((space for space in spaces(connection) if space.serving), None)


def holds(connection: apsw.Connection, space: VectorSpace, compartments: Iterable[int]) -> bool:
    """Whether any window of these compartments has a vector in a space."""
    exists: int = connection.execute(
        f"select exists (select 1 from {space.table}_chunks where validity <> "
        "zeroblob(length(validity)) and partition00 in (select value from json_each(?)))",
        (json.dumps(list(compartments)),),
    ).get
    return bool(exists)


def coming(connection: apsw.Connection) -> VectorSpace | None:
    """The space that is being filled and will answer later."""
    return next((space for space in spaces(connection) if not space.serving), None)


def spaces(connection: apsw.Connection) -> list[VectorSpace]:
    """The space that answers queries, then the space that is being filled, if they exist."""
    # An index that was cloned may hold a text as id, which becomes a part of SQL.
    return [
        VectorSpace(number, identity, dimensions, recipe, Calibration(scale, shift), bool(serves))
        for number, identity, dimensions, recipe, scale, shift, serves in connection.execute(
            "select cast(id as integer), identity, dimensions, recipe, scale, shift, serving "
            "from space order by serving desc"
        )
    ]


def begin(
    connection: apsw.Connection,
    identity: str,
    dimensions: int,
    recipe: str,
    calibration: Calibration,
) -> VectorSpace:
    """Create an empty space.

    It answers queries if no other space does; otherwise it is being filled. Another space that was
    being filled is dropped.
    """
    serves = serving(connection) is None
    if not serves and (other := coming(connection)):
        drop(connection, other)
    values = {
        "identity": identity,
        "dimensions": dimensions,
        "recipe": recipe,
        **asdict(calibration),
        "serving": serves,
    }
    number = write_row(connection, "space", values)
    space = VectorSpace(number, identity, dimensions, recipe, calibration, serves)
    _create(connection, space)
    connection.execute(f"update window set {space._mark} = 0")
    return space


def _create(connection: apsw.Connection, space: VectorSpace) -> None:
    connection.execute(
        f"create virtual table {space.table} using vec0("
        "window_id integer primary key, compartment_id integer partition key, "
        f"embedding float[{space.dimensions}] distance_metric=cosine)"
    )
    _bind(connection, space)


def _bind(connection: apsw.Connection, space: VectorSpace) -> None:
    """Create a trigger that deletes the vector of a window with the window."""
    connection.execute(
        f"create trigger if not exists window_{space.table} after delete on window begin "
        f"delete from {space.table} where window_id = old.id; end"
    )


def mend(connection: apsw.Connection) -> None:
    """Remove vectors without a window, and mark windows without a vector as waiting.

    Earlier versions of djinn left vectors behind when a change of model was interrupted.
    """
    for space in spaces(connection):
        _bind(connection, space)
        held, mark = f"(select rowid from {space.table}_rowids)", space._mark
        orphans = rows(
            connection,
            f"select rowid from {space.table}_rowids "
            f"where rowid not in (select id from window where {mark})",
        )
        connection.executemany(f"delete from {space.table} where window_id = ?", orphans)
        connection.execute(f"update window set {mark} = 0 where {mark} and id not in {held}")


def keep_recipe(connection: apsw.Connection, space: VectorSpace, recipe: str) -> VectorSpace:
    """Store new embedder settings for a space, such as another address; returns the space."""
    if space.recipe == recipe:
        return space
    connection.execute("update space set recipe = ? where id = ?", (recipe, space.number))
    return replace(space, recipe=recipe)


def drop(connection: apsw.Connection, space: VectorSpace) -> None:
    """Remove a space. Its vectors stay in the cache."""
    connection.execute(f"drop trigger if exists window_{space.table}")
    connection.execute(f"drop table {space.table}")
    connection.execute(f"update window set {space._mark} = 0 where {space._mark}")
    connection.execute("delete from space where id = ?", (space.number,))


def take_over(connection: apsw.Connection, space: VectorSpace) -> VectorSpace:
    """Let a filled space answer queries, and drop the space that answered before."""
    if before := serving(connection):
        drop(connection, before)
    connection.execute("update space set serving = 1 where id = ?", (space.number,))
    connection.execute("update window set embedded = coming, coming = 0")
    return replace(space, serving=True)


def add(
    connection: apsw.Connection, space: VectorSpace, vectors: Iterable[tuple[int, bytes, bytes]]
) -> None:
    """Store vectors, given as (window id, text hash, float32 bytes).

    A vector is skipped if its window no longer exists, or if another window now has that id.
    """
    for window_id, digest, vector in vectors:
        connection.execute(
            f"insert into {space.table} select window.id, memory.compartment_id, ? from window "
            "join chunk on chunk.id = chunk_id join memory on memory.id = memory_id "
            f"where window.id = ? and window.hash = ? and not {space._mark}",
            (vector, window_id, digest),
        )
        if connection.changes():
            connection.execute(f"update window set {space._mark} = 1 where id = ?", (window_id,))


@contextmanager
def preserved(connection: apsw.Connection, memory_id: int | None) -> Iterator[None]:
    """While the block rewrites a memory, windows with unchanged text keep their vectors."""
    if memory_id is None:
        yield
        return
    sql = "select window.id, hash from window join chunk on chunk.id = chunk_id where memory_id = ?"
    windows = rows(connection, sql, (memory_id,))
    held = [
        (
            space,
            {
                digest: vector
                for window, digest in windows
                for (vector,) in connection.execute(
                    f"select embedding from {space.table} where window_id = ?", (window,)
                )
            },
        )
        for space in spaces(connection)
    ]
    yield
    windows = rows(connection, sql, (memory_id,))
    for space, known in held:
        same = [(key, digest, known[digest]) for key, digest in windows if digest in known]
        add(connection, space, same)


@contextmanager
def moved(connection: apsw.Connection, memory_id: int) -> Iterator[None]:
    """While the block moves a memory to another compartment, its vectors move too."""
    sql = "select window.id from window join chunk on chunk.id = chunk_id where memory_id = ?"
    with preserved(connection, memory_id):
        for space in spaces(connection):
            windows = rows(connection, sql, (memory_id,))
            connection.executemany(f"delete from {space.table} where window_id = ?", windows)
            connection.executemany(f"update window set {space._mark} = 0 where id = ?", windows)
        yield


def rearrange(connection: apsw.Connection) -> None:
    """Store all vectors again, in the compartments that their memories have now.

    This takes less time than moving many vectors. It also leaves no holes, which every search would
    read.
    """
    for space in spaces(connection):
        connection.execute(
            f"create temp table held as select window_id, embedding from {space.table}; "
            f"drop trigger if exists window_{space.table}; drop table {space.table}"
        )
        _create(connection, space)
        connection.execute(
            f"insert into {space.table} select window_id, memory.compartment_id, embedding "
            "from temp.held join window on window.id = window_id "
            "join chunk on chunk.id = chunk_id join memory on memory.id = memory_id "
            "order by memory.compartment_id, window_id; drop table temp.held"
        )


def texts(connection: apsw.Connection, window_ids: Sequence[int]) -> dict[int, str]:
    """The text that is embedded for each window. Windows that no longer exist are left out."""
    from djinn_memory.chunking.chunks import path_at, prefix, window_text

    texts = {}
    for window_id, start, stop, text, headings, parts, title, date, kind in connection.execute(
        # A date says nothing of what a memory is about if it is its file's, or a document's.
        "select window.id, start, stop, text, headings, parts, title, "
        "iif(dated and type is not 'document', date, null), type "
        "from window join chunk on chunk.id = chunk_id join memory on memory.id = memory_id "
        "where window.id in (select value from json_each(?))",
        (json.dumps(window_ids),),
    ):
        path = path_at(json.loads(headings), json.loads(parts or "[]"), start)
        texts[window_id] = window_text(prefix(title, path, date, kind), text[start:stop])
    return texts


def count(connection: apsw.Connection, compartments: Iterable[int] | None = None) -> int:
    """The number of windows in these compartments, or in all."""
    sql = "select count(*) from window"
    if compartments is not None:
        sql = f"select count(*) {_WINDOWS} where compartment_id in (select value from json_each(?))"
    values = () if compartments is None else (json.dumps(list(compartments)),)
    number: int = connection.execute(sql, values).get
    return number


def windows(
    connection: apsw.Connection,
    space: VectorSpace,
    compartments: Iterable[int] | None = None,
    *,
    embedded: bool,
) -> list[tuple[int, bytes, int]]:
    """Windows with or without a vector in a space: id, hash, tokens.

    They are in these compartments, or in all.
    """
    has = space._mark if embedded else f"not {space._mark}"
    sql = f"select window.id, hash, length from window where {has}"
    if compartments is None:
        listed = rows(connection, sql)
    else:
        sql = sql.replace("where", "join chunk on chunk.id = chunk_id where")
        among = "in_compartment in (select value from json_each(?))"
        listed = rows(connection, f"{sql} and {among}", (json.dumps(list(compartments)),))
    return [(window, digest, length) for window, digest, length in listed]


def lacking(connection: apsw.Connection) -> bool:
    """Whether any window lacks a vector, in the current space or in one that is being filled."""
    waits: int = connection.execute("select exists (select 1 from window where not embedded)").get
    return bool(waits) or coming(connection) is not None


def pending(
    connection: apsw.Connection, compartments: Iterable[int], space: VectorSpace | None = None
) -> int:
    """Count windows of these compartments without a vector in `space`, else in the current one."""
    mark = space._mark if space else "embedded"
    if not connection.execute(f"select exists (select 1 from window where not {mark})").get:
        return 0
    number: int = connection.execute(
        f"select count(*) {_WINDOWS} where not {mark} "
        "and compartment_id in (select value from json_each(?))",
        (json.dumps(list(compartments)),),
    ).get
    return number


def pending_in(connection: apsw.Connection, vault: Vault, paths: Sequence[str]) -> bool:
    """Whether any note at these paths of a vault has a window without a vector."""
    waits: int = connection.execute(
        f"select exists (select 1 {_WINDOWS} where not embedded "
        "and path in (select value from json_each(?)) "
        "and vault_id = (select id from vault where uuid = ?))",
        (json.dumps(list(paths)), vault.id),
    ).get
    return bool(waits)
