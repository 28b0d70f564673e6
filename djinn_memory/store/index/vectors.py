"""The meaning leg: sqlite-vec over windows, partitioned by vault so that none starves another.

Vectors of one model are a space. One space answers; while another model's vectors are being made,
they fill a second one beside it, which takes over when it is whole.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import apsw
from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.models import Calibration, Vault
from djinn_memory.store.index import matrix
from djinn_memory.store.sqlite import rows

MAX_NEIGHBOURS = 4096
"""The most that vec0 gives for one query."""

_WAITING = (
    "from window join chunk on chunk.id = chunk_id join memory on memory.id = memory_id "
    "join note on note.id = note_id where not embedded"
)


class VectorSpace(Struct, frozen=True):
    """The vectors of one model."""

    number: int
    identity: str
    dimensions: int
    recipe: str
    """JSON of the settings that make its embedder."""
    calibration: Calibration
    serving: bool

    @property
    def _table(self) -> str:
        return f"vectors_{self.number}"

    @property
    def _mark(self) -> str:
        """The column of `window` that says whether it has a vector here."""
        return "embedded" if self.serving else "coming"


def serving(connection: apsw.Connection) -> VectorSpace | None:
    """The space that answers; None while nothing was embedded."""
    return next((space for space in spaces(connection) if space.serving), None)


def coming(connection: apsw.Connection) -> VectorSpace | None:
    """The space that is being filled to take over."""
    return next((space for space in spaces(connection) if not space.serving), None)


def spaces(connection: apsw.Connection) -> list[VectorSpace]:
    """The space that answers, then the one that is being filled, as far as they exist."""
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
    """Create an empty space, which serves if no other does; else it is filled to take over.

    Another space that was being filled is dropped.
    """
    serves = serving(connection) is None
    if not serves and (other := coming(connection)):
        drop(connection, other)
    number = connection.execute(
        "insert into space (identity, dimensions, recipe, scale, shift, serving) "
        "values (?, ?, ?, ?, ?, ?) returning id",
        (identity, dimensions, recipe, calibration.scale, calibration.shift, serves),
    ).get
    space = VectorSpace(number, identity, dimensions, recipe, calibration, serves)
    connection.execute(
        f"create virtual table {space._table} using vec0("
        "window_id integer primary key, vault_id integer partition key, "
        f"embedding float[{dimensions}] distance_metric=cosine)"
    )
    connection.execute(f"update window set {space._mark} = 0")
    return space


def keep_recipe(connection: apsw.Connection, space: VectorSpace, recipe: str) -> VectorSpace:
    """Store new settings of the embedder of a space, such as another address; returns the space."""
    if space.recipe == recipe:
        return space
    connection.execute("update space set recipe = ? where id = ?", (recipe, space.number))
    return replace(space, recipe=recipe)


def drop(connection: apsw.Connection, space: VectorSpace) -> None:
    """Remove a space; its vectors stay in the cache."""
    connection.execute(f"drop table {space._table}")
    connection.execute(f"update window set {space._mark} = 0 where {space._mark}")
    connection.execute("delete from space where id = ?", (space.number,))


def take_over(connection: apsw.Connection, space: VectorSpace) -> VectorSpace:
    """Let a filled space answer, and drop the one that answered so far."""
    if before := serving(connection):
        drop(connection, before)
    connection.execute("update space set serving = 1 where id = ?", (space.number,))
    connection.execute("update window set embedded = coming, coming = 0")
    return replace(space, serving=True)


def add(
    connection: apsw.Connection, space: VectorSpace, vectors: Iterable[tuple[int, bytes]]
) -> None:
    """Store the vectors of (window id, float32 bytes); a window that is gone is left out."""
    for window_id, vector in vectors:
        vault_id = connection.execute(
            "select note.vault_id from window join chunk on chunk.id = window.chunk_id "
            "join memory on memory.id = chunk.memory_id join note on note.id = memory.note_id "
            f"where window.id = ? and not window.{space._mark}",
            (window_id,),
        ).get
        if vault_id is not None:
            connection.execute(
                f"insert into {space._table} values (?, ?, ?)", (window_id, vault_id, vector)
            )
            connection.execute(f"update window set {space._mark} = 1 where id = ?", (window_id,))


def remove(connection: apsw.Connection, window_ids: Sequence[int]) -> None:
    """Remove the vectors of windows."""
    for space in spaces(connection):
        connection.executemany(
            f"delete from {space._table} where window_id = ?",
            [(window_id,) for window_id in window_ids],
        )


class WindowSource(Struct, frozen=True):
    """A window with what stands above its text when it is embedded."""

    window_id: int
    start: int
    """Offset of its text in the chunk's."""
    text: str
    headings: list[str]
    """Those at the beginning of its chunk."""
    parts: list[tuple[int, int | None, list[str]]]
    """As `Chunk.parts`."""
    title: str
    date: str | None
    """None where the memory's date says nothing of what it is about."""


def sources(connection: apsw.Connection, window_ids: Sequence[int]) -> Iterator[WindowSource]:
    """What is embedded of each window; a window that is gone is left out."""
    for window_id, start, stop, text, headings, parts, title, date in connection.execute(
        "select window.id, start, stop, text, headings, parts, title, "
        "iif(dated and type is not 'document', date, null) "
        "from window join chunk on chunk.id = chunk_id join memory on memory.id = memory_id "
        "where window.id in (select value from json_each(?))",
        (json.dumps(window_ids),),
    ):
        yield WindowSource(
            window_id,
            start,
            text[start:stop],
            json.loads(headings),
            json.loads(parts or "[]"),
            title,
            date,
        )


def count(connection: apsw.Connection) -> int:
    """How many windows there are."""
    number: int = connection.execute("select count(*) from window").get
    return number


def waiting(connection: apsw.Connection, space: VectorSpace) -> list[tuple[int, bytes, int]]:
    """The windows that have no vector in a space: id, text hash, tokens."""
    listed = rows(connection, f"select id, hash, length from window where not {space._mark}")
    return [(window_id, digest, length) for window_id, digest, length in listed]


def lacking(connection: apsw.Connection) -> bool:
    """Whether a window waits for a vector, to answer by or of the model that is to take over."""
    waits: int = connection.execute("select exists (select 1 from window where not embedded)").get
    return bool(waits) or coming(connection) is not None


def pending(connection: apsw.Connection, vault_ids: Iterable[int]) -> int:
    """How many windows of these vaults wait for a vector to answer by."""
    if not connection.execute("select exists (select 1 from window where not embedded)").get:
        return 0
    number: int = connection.execute(
        f"select count(*) {_WAITING} and vault_id in (select value from json_each(?))",
        (json.dumps(list(vault_ids)),),
    ).get
    return number


def pending_in(connection: apsw.Connection, vault: Vault, paths: Sequence[str]) -> bool:
    """Whether a window of the notes at these paths of a vault waits for a vector to answer by."""
    waits: int = connection.execute(
        f"select exists (select 1 {_WAITING} and path in (select value from json_each(?)) "
        "and vault_id = (select id from vault where uuid = ?))",
        (json.dumps(list(paths)), vault.id),
    ).get
    return bool(waits)


def nearest(
    connection: apsw.Connection,
    space: VectorSpace,
    query: bytes,
    vault_id: int,
    limit: int,
    *,
    restrict: tuple[str, Sequence[object]] | None = None,
) -> list[int]:
    """The windows of a vault nearest to `query` by cosine, best first, exact.

    `restrict` is a condition over note, memory and chunk, with its values, on the answer.
    """
    if restrict is None:
        known = matrix.nearest(
            connection, space._table, space.dimensions, query, vault_id, min(limit, MAX_NEIGHBOURS)
        )
        if known is not None:
            return known
    sql = f"select window_id from {space._table} where embedding match ? and k = ? and vault_id = ?"
    values: Sequence[object] = ()
    if restrict:
        where, values = restrict
        sql += (
            " and window_id in (select window.id from window join chunk on chunk.id = chunk_id "
            "join memory on memory.id = memory_id join note on note.id = note_id "
            f"where {where})"
        )
    near = connection.execute(
        f"{sql} order by distance", (query, min(limit, MAX_NEIGHBOURS), vault_id, *values)
    )
    return [window_id for (window_id,) in near]


class EmbeddedWindow(NamedTuple):
    """A window with its vector in one space."""

    window_id: int
    chunk_id: int
    span: tuple[int, int]
    """In the chunk's text."""
    vector: bytes
    """float32."""


def embedded_windows(
    connection: apsw.Connection, space: VectorSpace, chunk_ids: Collection[int]
) -> list[EmbeddedWindow]:
    """The windows of some chunks that have a vector in a space, in their order."""
    listed = rows(
        connection,
        f"select id, chunk_id, start, stop from window where {space._mark} "
        "and chunk_id in (select value from json_each(?)) order by id",
        (json.dumps(list(chunk_ids)),),
    )
    held = of_windows(connection, space, [key for key, *_ in listed])
    return [
        EmbeddedWindow(key, chunk, (start, stop), held[key])
        for key, chunk, start, stop in listed
        if key in held
    ]


def of_windows(
    connection: apsw.Connection, space: VectorSpace, window_ids: Sequence[int]
) -> dict[int, bytes]:
    """The vectors of windows in a space, float32 bytes, of those that have one.

    They are read where `vec0` keeps them: it looks for several by reading all it has.
    """
    known = matrix.of_windows(connection, space._table, space.dimensions, window_ids)
    if known is not None:
        return known
    size = 4 * space.dimensions
    held: dict[int, bytes] = {}
    blob: apsw.Blob | None = None
    at = 0
    places = rows(
        connection,
        f"select rowid, chunk_id, chunk_offset from {space._table}_rowids "
        "where rowid in (select value from json_each(?)) order by chunk_id, chunk_offset",
        (json.dumps(list(window_ids)),),
    )
    try:
        for window, chunk, offset in places:
            if blob is None:
                table = f"{space._table}_vector_chunks00"
                blob = connection.blob_open("main", table, "vectors", chunk, False)
            elif chunk != at:
                blob.reopen(chunk)
            at = chunk
            blob.seek(offset * size)
            held[window] = blob.read(size)
    finally:
        if blob:
            blob.close()
    return held
