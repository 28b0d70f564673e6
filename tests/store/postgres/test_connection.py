"""Connections to a real server: transactions, and one clear line for each failure."""

from __future__ import annotations

from contextlib import closing
from logging import getLogger
from uuid import uuid4

import psycopg
import pytest

from djinn_memory.errors import ConfigError, DjinnError, Refused, Unavailable
from djinn_memory.store.postgres.connection import (
    ServerAddress,
    ServerLost,
    connect,
    explained,
    reading,
    snapshot,
    writing,
)
from djinn_memory.store.postgres.scopes import take_numbers
from tests.postgres import DatabaseServer


def refusal(address: ServerAddress) -> str:
    with pytest.raises(Unavailable) as caught:
        connect(address)
    assert "\n" not in str(caught.value)
    assert caught.value.__suppress_context__
    return str(caught.value)


def test_a_server_that_is_down_is_named() -> None:
    text = refusal(ServerAddress.of("postgresql://me:geheim@127.0.0.1:1/notes"))
    assert text == (
        "Postgres at 127.0.0.1:1/notes does not answer; start the server, or check host and port"
    )


def test_a_host_that_does_not_exist_is_named() -> None:
    assert "cannot be found; check" in refusal(ServerAddress.of("postgresql://db.invalid/notes"))


def test_a_database_that_does_not_exist_is_named(postgres: DatabaseServer) -> None:
    assert postgres.server, "a schema of a cluster is no database"
    assert "nowhere has no such database" in refusal(postgres.address("nowhere"))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:geheim@[::1/x",
        # Such a slash ends the host, so that the driver takes the rest for port and database.
        "postgresql://me:geheim/er@db.example.com/notes",
        "postgresql://me:1/geheim@db.example.com/notes",
    ],
)
def test_text_that_is_no_address_is_not_repeated(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ServerAddress.of(url, source="DJINN_POSTGRES_URL")
    assert "geheim" not in str(caught.value)
    assert str(caught.value).startswith("DJINN_POSTGRES_URL is no address")


@pytest.mark.parametrize("wrong", [":99999/notes", "/notes?sslmode=strict"])
def test_an_address_that_the_driver_refuses_is_not_tried_again(wrong: str) -> None:
    with pytest.raises(ConfigError, match=r"invalid .*; correct sync\.url") as caught:
        connect(ServerAddress.of(f"postgresql://me:geheim@127.0.0.1{wrong}"))
    assert "geheim" not in str(caught.value)


def test_an_unknown_parameter_is_named_unless_it_may_be_of_a_password() -> None:
    with pytest.raises(ConfigError, match="PORT_URL has the parameter foo, which PostgreSQL does"):
        ServerAddress.of("postgresql://me:geheim@h/notes?foo=bar", source="PORT_URL")
    with pytest.raises(ConfigError, match="PORT_URL is no address") as caught:
        ServerAddress.of("postgresql://me:a/b?geheim=b@h/notes", source="PORT_URL")
    assert "geheim" not in str(caught.value)


def test_passwords_are_not_shown() -> None:
    address = ServerAddress.of("postgresql://me:geheim@db.example.com:5433/notes")
    assert "geheim" not in f"{address} {address!r}"
    assert str(address) == "Postgres at db.example.com:5433/notes"


def test_a_killed_connection_is_lost_also_inside_a_copy(database: ServerAddress) -> None:
    with closing(connect(database)) as victim, closing(connect(database)) as other:
        victim.execute("create table plain (value text)")
        number = victim.info.backend_pid
        with (
            pytest.raises(ServerLost) as caught,
            explained(database),
            victim.transaction(),
            victim.cursor().copy("copy plain from stdin") as copy,
        ):
            copy.write_row(("a",))
            other.execute("select pg_terminate_backend(%s::int)", (number,))
            while True:
                copy.write_row(("a" * 10_000,))
        assert "run the command again" in str(caught.value)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("set local statement_timeout = 1; select pg_sleep(5)", "took too long"),
        ("set transaction read only; create table plain (value text)", "accepts no changes"),
        ("select * from absent", "lacks a table of djinn"),
        ("do $$ begin raise 'full' using errcode = '53100'; end $$", "no space left"),
        ("do $$ begin raise 'busy' using errcode = '40001'; end $$", "try again"),
        ("create table notes (value text)", "tables of another program; create a database"),
        ("select 1 / 0", "division by zero"),
    ],
)
def test_a_failed_statement_is_one_line(
    database: ServerAddress, statement: str, message: str
) -> None:
    with (
        closing(connect(database)) as connection,
        pytest.raises(DjinnError, match=message),
        explained(database),
        connection.transaction(),
    ):
        connection.execute(statement.encode())


def test_reading_writes_nothing(database: ServerAddress) -> None:
    with (
        closing(connect(database)) as connection,
        pytest.raises(Unavailable, match="no changes"),
        reading(connection, database) as cursor,
    ):
        cursor.execute("create table plain (value text)")


def test_a_connection_that_is_lost_in_a_search_prints_nothing(
    database: ServerAddress, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Those of pytest, without which Python prints warnings.
    monkeypatch.setattr(getLogger(), "handlers", [])
    with (
        closing(connect(database)) as connection,
        pytest.raises(ServerLost),
        snapshot(connection, database, (), ["select 1"]) as (cursor, _),
    ):
        cursor.execute("select pg_terminate_backend(pg_backend_pid())")
        cursor.fetchall()
    assert capsys.readouterr().err == ""


def test_nothing_is_set_for_a_session(database: ServerAddress) -> None:
    with closing(connect(database)) as connection:
        changed = connection.execute(
            "select name from pg_settings "
            "where source = 'session' and name <> 'transaction_isolation'"
        ).fetchall()
    assert changed == []


def test_each_writing_transaction_has_a_revision_and_numbers_of_its_own(
    database: ServerAddress,
) -> None:
    scope = uuid4()
    with closing(connect(database)) as connection:
        with (
            pytest.raises(Refused, match="does not know the vault"),
            writing(connection, database, scope),
        ):
            pass
        connection.execute("insert into scopes (user_id, name) values (%s, 'shared')", (scope,))
        with writing(connection, database, scope) as first:
            first_number = take_numbers(first.tx, scope, 3)
        with pytest.raises(ZeroDivisionError), writing(connection, database, scope) as failing:
            take_numbers(failing.tx, scope, 9)
            raise ZeroDivisionError
        with writing(connection, database, scope) as second:
            second_number = take_numbers(second.tx, scope, 1)
        marks = connection.execute("select count(distinct mark) from revisions").fetchone()
    assert (first.rev, second.rev, second_number - first_number) == (1, 2, 3)
    assert marks == (2,)
    assert connection.info.status is psycopg.pq.ConnStatus.BAD
