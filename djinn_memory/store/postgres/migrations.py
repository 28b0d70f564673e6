"""Creates and migrates djinn's tables on a Postgres server."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from msgspec import Struct

from djinn_memory.errors import Refused, Remedy, Unavailable
from djinn_memory.store.postgres import catalog
from djinn_memory.store.postgres.connection import ServerAddress, reading, transaction

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Connection, Cursor

LOCK = 0x646A696E6E
"""The number of the advisory lock that one migration at a time holds."""

LEAST_POSTGRES = 16
LEAST_PGVECTOR = (0, 8)


class VectorModel(Struct, frozen=True):
    """The model that made all vectors of a server."""

    identity: str
    dimensions: int
    scale: float
    shift: float


class ServerState(Struct, frozen=True):
    """The identity, vector model and schema version that a server states."""

    server_id: UUID
    model: VectorModel
    version: int


def scripts() -> dict[int, tuple[str, str]]:
    """Name and text of the numbered scripts, by number and in order."""
    folder = files("djinn_memory.store.postgres") / "schema"
    texts = {
        int(file.name[:3]): (file.name, file.read_text(encoding="utf-8"))
        for file in folder.iterdir()
        if file.name.endswith(".sql")
    }
    return dict(sorted(texts.items()))


def statements(script: str) -> list[str]:
    """The statements of a script, in which the lines of a statement's body are indented.

    Citus passes the text of a message on to workers as a whole, so each is sent alone.
    """
    return [text for text in re.split(r";\n(?! |end\b)", script) if text]


def migrate(connection: Connection, address: ServerAddress, model: VectorModel | None) -> list[str]:
    """Bring a database to the newest schema, in one transaction. Returns the scripts that ran.

    `model` is that of a new server; on an existing one it is unused. With None, a database without
    djinn's tables is refused. `{dimensions}` in a script stands for the dimensions of the server's
    model. New tables are distributed and secured like the others. Raises `Refused` if a newer djinn
    made the schema, and `Unavailable` if the server lacks pgvector.
    """
    with transaction(connection, address) as cursor:
        cursor.execute("select pg_advisory_xact_lock(%s)", (LOCK,))
        done = _applied(cursor)
        if not done:
            if model is None:
                raise _unprepared(address)
            _require_extensions(cursor, address)
        _refuse_newer(done, address)
        distributed = bool(done) and catalog.is_distributed(cursor)
        secured = bool(done) and catalog.is_secured(cursor)
        if distributed:
            catalog.change_in_order(cursor)
        applied: list[str] = []
        for number, (name, text) in scripts().items():
            if number in done:
                continue
            of_server = _state(cursor).model if done or applied else model
            assert of_server
            for statement in statements(text):
                sized = statement.replace("{dimensions}", str(of_server.dimensions))
                cursor.execute(sized.encode())
            cursor.execute(
                "insert into schema_migrations (version, name) values (%s, %s)", (number, name)
            )
            if number == 0:
                _insert_server(cursor, of_server)
            applied.append(name)
        if applied and distributed:
            catalog.distribute(cursor, address)
        if applied and secured:
            catalog.secure_rows(cursor)
    return applied


def preview(connection: Connection, address: ServerAddress) -> tuple[list[str], VectorModel, int]:
    """The scripts that `migrate` would run, the model, and the number of vectors. Writes nothing.

    Raises `Refused` for a database without djinn's tables, or with those of a newer djinn.
    """
    with reading(connection, address) as cursor:
        done = _applied(cursor)
        if not done:
            raise _unprepared(address)
        _refuse_newer(done, address)
        pending = [name for number, (name, _) in scripts().items() if number not in done]
        return pending, _state(cursor).model, catalog.count_vectors(cursor)


def state(connection: Connection, address: ServerAddress) -> ServerState:
    """The state of a server whose schema fits this djinn.

    Raises `Refused`, with the remedy, if the database was not prepared, or if its schema is older
    or newer than this djinn's.
    """
    with transaction(connection, address) as cursor:
        done = _applied(cursor)
        if not done:
            raise _unprepared(address)
        _refuse_newer(done, address)
        if scripts().keys() - done:
            raise Refused(
                f"{address} has tables of an older djinn", Remedy("sync.migrate", {}, "update them")
            )
        return _state(cursor)


def change_model(connection: Connection, address: ServerAddress, model: VectorModel) -> int:
    """Make `model` the model of the server. Returns how many vectors were removed.

    The vectors of the earlier model are removed in the same transaction, so that vectors of two
    models never meet.
    """
    with transaction(connection, address) as cursor:
        cursor.execute("select pg_advisory_xact_lock(%s)", (LOCK,))
        catalog.change_in_order(cursor)
        removed = catalog.empty_vectors(cursor, model.dimensions)
        cursor.execute(
            "update server set identity = %s, dimensions = %s, scale = %s, shift = %s",
            (model.identity, model.dimensions, model.scale, model.shift),
        )
    return removed


def _unprepared(address: ServerAddress) -> Refused:
    return Refused(f"{address} has no tables of djinn", Remedy("sync.init", {}, "create them"))


def _applied(cursor: Cursor) -> set[int]:
    """The numbers of the scripts that ran; empty for a database without djinn's tables."""
    cursor.execute("select to_regclass('schema_migrations') is not null")
    if cursor.fetchone() != (True,):
        return set()
    cursor.execute("select version from schema_migrations")
    return {number for (number,) in cursor}


def _refuse_newer(applied: set[int], address: ServerAddress) -> None:
    if applied - scripts().keys():
        raise Refused(
            f"{address} has tables of a newer djinn", Remedy(purpose="update djinn on this machine")
        )


def _state(cursor: Cursor) -> ServerState:
    [(server_id, *model, version)] = cursor.execute(
        "select server_id, identity, dimensions, scale, shift, "
        "(select max(version) from schema_migrations) from server"
    )
    return ServerState(server_id, VectorModel(*model), version)


def _insert_server(cursor: Cursor, model: VectorModel) -> None:
    cursor.execute(
        "insert into server (server_id, identity, dimensions, scale, shift) "
        "values (%s, %s, %s, %s, %s)",
        (uuid4(), model.identity, model.dimensions, model.scale, model.shift),
    )


def _require_extensions(cursor: Cursor, address: ServerAddress) -> None:
    """Create the extensions: pgvector is required, pg_trgm is used where the server has it."""
    cursor.execute(
        "select name, default_version, installed_version from pg_available_extensions "
        "where name in ('vector', 'pg_trgm')"
    )
    available = {name: installed or default for name, default, installed in cursor}
    [(release,)] = cursor.execute("select current_setting('server_version_num')::int / 10000")
    if "vector" not in available:
        old = release < LEAST_POSTGRES
        upgrade = f"upgrade the server to PostgreSQL {LEAST_POSTGRES} or newer, and " if old else ""
        raise Unavailable(
            f"{address} runs PostgreSQL {release} without the extension pgvector",
            Remedy(purpose=upgrade + _install_pgvector(max(release, LEAST_POSTGRES))),
        )
    if release < LEAST_POSTGRES:
        raise Unavailable(
            f"{address} runs PostgreSQL {release}, and djinn needs {LEAST_POSTGRES} or newer",
            Remedy(purpose="upgrade the server"),
        )
    if tuple(int(part) for part in available["vector"].split(".")[:2]) < LEAST_PGVECTOR:
        raise Unavailable(
            f"{address} has pgvector {available['vector']}, and djinn needs 0.8 or newer",
            Remedy(purpose=_install_pgvector(release)),
        )
    _create_extension(cursor, "vector", address)
    if "pg_trgm" in available:
        _create_extension(cursor, "pg_trgm", address)


def _install_pgvector(release: int) -> str:
    return (
        "install it on the server (Debian and Ubuntu: apt-get install "
        f"postgresql-{release}-pgvector from apt.postgresql.org; "
        "others: https://github.com/pgvector/pgvector)"
    )


def _create_extension(cursor: Cursor, name: str, address: ServerAddress) -> None:
    import psycopg

    try:
        with cursor.connection.transaction():
            cursor.execute(f"create extension if not exists {name}".encode())
    except psycopg.errors.InsufficientPrivilege:
        if name == "vector":
            raise Unavailable(
                f"{address} does not let this user create the extension pgvector",
                Remedy(purpose="run `create extension vector` in this database as its superuser"),
            ) from None
