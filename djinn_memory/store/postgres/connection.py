"""Opens connections to a Postgres server, with its transactions and its errors.

Nothing is set for a session, so that a pooler may stand in between: a setting holds for one
transaction (`set local`), and no statement is prepared on the server. A message holds one
statement, because a Citus cluster passes the text of a message on as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from djinn_memory.errors import (
    Busy,
    ConfigError,
    DjinnError,
    Refused,
    Remedy,
    Unavailable,
    install_extra,
)

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[tuple[Any, ...]]
    Cursor = psycopg.Cursor[tuple[Any, ...]]

PASS_ON = "set local citus.propagate_set_commands = 'local'"
"""Lets the settings that follow in a transaction reach the workers of a Citus cluster."""

_SNAPSHOT = "isolation level repeatable read, read only"
"""How a transaction sees one state of the server. Citus begins those of workers in the same way."""

CONNECT_SECONDS = 5
"""Maximum time to connect. Local work must not wait for a server that is down."""


class ServerLost(Unavailable):
    """The connection was lost. The server keeps nothing of an uncommitted transaction."""


@dataclass(frozen=True)
class ServerAddress:
    """Where a server is. Its text and `repr` are without the password."""

    conninfo: str = field(repr=False)
    """The connection string, which may hold a password."""
    name: str
    """The name for messages: `Postgres at db.example.com/djinn`."""
    source: str = "the address"
    """The setting with the address, for messages."""

    @classmethod
    def of(
        cls,
        conninfo: str,
        password: str | None = None,
        *,
        source: str = "sync.url",
        name: str | None = None,
    ) -> ServerAddress:
        """The address in a URL or connection string. `password` is used if it has none.

        `source` names the setting in each `ConfigError` about the address. `name` is the server's
        name in messages, by default made from host and database.
        """
        _require_driver()
        import psycopg
        from psycopg.conninfo import conninfo_to_dict, make_conninfo

        try:
            parts = conninfo_to_dict(conninfo)
        except psycopg.Error as error:
            raise _no_address(source, unknown=_unknown_parameter(conninfo, str(error))) from None
        if _is_split_in_password(conninfo, str(parts.get("port") or "")):
            raise _no_address(source, "; in a password, write / as %2F, : as %3A and @ as %40")
        if password and not parts.get("password"):
            parts["password"] = password
        host = parts.get("host") or parts.get("hostaddr") or "the default host"
        port = f":{parts['port']}" if parts.get("port") and not str(host).startswith("/") else ""
        database = f"/{parts['dbname']}" if parts.get("dbname") else ""
        name = name or f"Postgres at {host}{port}{database}"
        return cls(make_conninfo("", **parts), name, source)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class ScopeWriter:
    """A transaction that writes to a scope. Writers of the same scope wait for each other."""

    tx: Cursor
    """The cursor in whose transaction everything is written."""
    scope: UUID
    rev: int
    """The revision of every row that this transaction writes."""


def _require_driver() -> None:
    """Raise `Unavailable`, with how to install it, if the Python driver is missing."""
    try:
        import pgvector  # noqa: F401
        import psycopg  # noqa: F401
    except ImportError as error:
        raise Unavailable(
            f"the Python package {(error.name or 'psycopg').split('.')[0]} for Postgres is missing",
            install_extra("postgres"),
        ) from None


def connect(address: ServerAddress) -> Connection:
    """Connect to a server, without a look at its schema. Close the connection after use."""
    _require_driver()
    from logging import NullHandler, getLogger

    import psycopg

    # The driver raises an error for a lost connection, and logs those that follow while it closes
    # the connection. Without a handler, Python prints them.
    if not getLogger("psycopg").handlers:
        getLogger("psycopg").addHandler(NullHandler())
    with explained(address):
        return psycopg.connect(
            address.conninfo,
            autocommit=True,
            prepare_threshold=None,
            connect_timeout=CONNECT_SECONDS,
            application_name="djinn",
            # A server that vanished is noticed after a minute, also in the middle of a COPY.
            keepalives_idle=20,
            keepalives_interval=10,
            keepalives_count=3,
            tcp_user_timeout=60_000,
        )


def _no_address(source: str, hint: str = "", unknown: str | None = None) -> ConfigError:
    if unknown:
        return ConfigError(
            f"{source} has the parameter {unknown}, which PostgreSQL does not know; "
            "remove it or correct its name"
        )
    return ConfigError(
        f"{source} is no address of a Postgres server; "
        f"write it as postgresql://user@host:5432/database{hint}"
    )


def _unknown_parameter(conninfo: str, error: str) -> str | None:
    """The parameter that the driver does not know, unless it may be part of a password."""
    known = re.search(r'invalid URI query parameter: "(\w+)"', error)
    return known[1] if known and "@" not in conninfo.partition("?")[2] else None


def _is_split_in_password(conninfo: str, port: str) -> bool:
    """Whether a URL has a `/` in its password, so that a part of it counts as port or database.

    Both are shown in messages.
    """
    rest = conninfo.partition("://")[2].partition("/")[2]
    return "@" in rest.partition("?")[0] or not re.fullmatch(r"[\d,]*", port)


@contextmanager
def transaction(connection: Connection, address: ServerAddress) -> Iterator[Cursor]:
    """A transaction that writes no revision."""
    with explained(address), connection.transaction(), connection.cursor() as cursor:
        yield cursor


@contextmanager
def reading(connection: Connection, address: ServerAddress) -> Iterator[Cursor]:
    """A transaction that sees one snapshot and writes nothing."""
    with transaction(connection, address) as cursor:
        cursor.execute(f"set transaction {_SNAPSHOT}".encode())
        yield cursor


@contextmanager
def snapshot(
    connection: Connection, address: ServerAddress, settings: Sequence[str], queries: Sequence[str]
) -> Iterator[tuple[Cursor, list[list[tuple[Any, ...]]]]]:
    """A transaction that sees one snapshot and writes nothing, and the rows of each first query.

    `settings` are statements such as `set local`. Neither they nor `queries` have parameters.
    Inside another snapshot of the connection, the outer one is read.

    The connection is in pipeline mode: statements are sent one by one, without waiting for the
    results of those before. So all that begins the snapshot takes one round trip.
    """
    from psycopg.pq import PipelineStatus

    nested = connection.info.pipeline_status is not PipelineStatus.OFF
    with explained(address), connection.cursor() as cursor:
        try:
            with connection.pipeline():
                for statement in () if nested else (f"begin {_SNAPSHOT}", PASS_ON, *settings):
                    cursor.execute(statement.encode())
                asked = [connection.execute(query.encode()) for query in queries]
                yield cursor, [answer.fetchall() for answer in asked]
                if not nested:
                    cursor.execute("commit")
        except BaseException:
            if not nested:
                _roll_back(connection)
            raise


def _roll_back(connection: Connection) -> None:
    import psycopg

    try:
        connection.execute("rollback")
    except psycopg.Error:
        # The next question opens another.
        connection.close()


@contextmanager
def writing(connection: Connection, address: ServerAddress, scope: UUID) -> Iterator[ScopeWriter]:
    """A transaction that writes to a scope under a new revision.

    Raises `Refused` if the server does not know the scope.
    """
    with transaction(connection, address) as cursor:
        cursor.execute("update scopes set rev = rev + 1 where user_id = %s returning rev", (scope,))
        row = cursor.fetchone()
        if row is None:
            raise Refused(
                f"{address} does not know the vault {scope}", Remedy("sync.init", {}, "register it")
            )
        [rev] = row
        # The mark tells this revision from one with its number on a server that was restored.
        add = (
            "insert into revisions (user_id, rev, mark) values (%s, %s, %s) on conflict do nothing"
        )
        cursor.execute(add, (scope, rev, uuid4()))
        if not cursor.rowcount:
            # Somebody set the number of the scope back.
            cursor.execute("select max(rev) + 1 from revisions where user_id = %s", (scope,))
            [(rev,)] = cursor.fetchall()
            cursor.execute("update scopes set rev = %s where user_id = %s", (rev, scope))
            cursor.execute(add, (scope, rev, uuid4()))
        yield ScopeWriter(cursor, scope, rev)


@contextmanager
def explained(address: ServerAddress) -> Iterator[None]:
    """Turn errors of the driver into errors of one line, without password or traceback."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        raise _explanation(error, address) from None


def _explanation(error: psycopg.Error, address: ServerAddress) -> DjinnError:
    import psycopg

    state = error.sqlstate or _state_of_refusal(str(error))
    known = _KNOWN.get(state) or _KNOWN.get(state[:2])
    if known:
        kind, message, remedy = known
        how = remedy if isinstance(remedy, Remedy) else Remedy(purpose=remedy)
        return kind(f"{address} {message}", how)
    text = _one_line(error, address)
    wrong = None if state else re.search(r"invalid [\w ]+ (?:number|value)\b.*", text)
    if wrong:
        return ConfigError(f"{address}: {wrong[0]}", Remedy(purpose=f"correct {address.source}"))
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return ServerLost(f"the connection to {address} was lost: {text}", _TRY_AGAIN)
    return Unavailable(f"{address}: {text}")


def _one_line(error: psycopg.Error, address: ServerAddress) -> str:
    from psycopg.conninfo import conninfo_to_dict

    # A detail of the server's message may hold the text of a row.
    text = error.diag.message_primary or str(error)
    password = conninfo_to_dict(address.conninfo).get("password")
    if password:
        text = text.replace(str(password), "***")
    return " ".join(text.split())[:300].rstrip(".")


def _state_of_refusal(text: str) -> str:
    """The SQLSTATE of a refused connection, which the driver has only as text."""
    states = (state for pattern, state in _REFUSALS if re.search(pattern, text, re.IGNORECASE))
    return next(states, "")


_REFUSALS = (
    (r"password authentication failed|no password supplied|authentication failed", "28P01"),
    (r"no pg_hba\.conf entry", "28000"),
    (r'database ".*" does not exist', "3D000"),
    (r'role ".*" does not exist', "28P01"),
    (r"too many (clients|connections)|remaining connection slots", "53300"),
    (r"starting up|shutting down|in recovery mode", "57P03"),
    (r"could not translate host|Name or service not known|nodename nor servname"
     r"|Temporary failure in name resolution", "host"),
    (r"connection refused|No such file or directory|timeout expired|No route to host"
     r"|Network is unreachable|is the server running|connection timeout", "down"),
)  # fmt: skip
"""Messages of libpq, and the SQLSTATE, or a word of our own, for each."""

_TRY_AGAIN = Remedy(purpose="run the command again; what was not finished is resumed")

_PREPARE = Remedy("sync.init", {}, "prepare it")

_KNOWN: dict[str, tuple[type[DjinnError], str, Remedy | str]] = {
    "down": (Unavailable, "does not answer", "start the server, or check host and port"),
    "host": (Unavailable, "cannot be found", "check the name of the host"),
    "28P01": (
        Unavailable,
        "rejected the user or the password",
        "check the user in the address, and the password in the variable sync.key_env, "
        "PGPASSWORD or ~/.pgpass",
    ),
    "28": (
        Unavailable,
        "does not let this user in from here",
        "check the user, and the server's pg_hba.conf",
    ),
    "3D000": (Unavailable, "has no such database", "create the database, or check its name"),
    "08": (ServerLost, "closed the connection", _TRY_AGAIN),
    "57P01": (ServerLost, "closed the connection", _TRY_AGAIN),
    "57P02": (ServerLost, "closed the connection", _TRY_AGAIN),
    "57P03": (ServerLost, "is starting or shutting down", _TRY_AGAIN),
    "57014": (
        Unavailable,
        "stopped a statement that took too long",
        "raise statement_timeout of this user on the server",
    ),
    "25006": (
        Unavailable,
        "accepts no changes: it is a read-only copy, or this user may only read",
        "use the address of the primary server, or a user that may write",
    ),
    "42501": (
        Unavailable,
        "does not allow this user to read or change its tables",
        "grant the user the rights, or use another user",
    ),
    "53100": (Unavailable, "has no space left on its disk", "make room on the server"),
    "53200": (Unavailable, "has no memory left", "try again later"),
    "53300": (
        Unavailable,
        "has no free connection",
        "try again later, or raise max_connections on the server",
    ),
    "40": (Busy, "is busy with another change to the same rows", "try again"),
    "55P03": (Busy, "is busy with another change to the same rows", "try again"),
    "42P07": (
        Refused,
        "has tables of another program",
        "create a database for djinn alone, and use its name in the address",
    ),
    "42P01": (Refused, "lacks a table of djinn", _PREPARE),
}
"""The error, its message and its remedy, or the purpose of one, by SQLSTATE, or by the class, its
first two letters."""
