"""Statements that name one scope are told from those that a cluster sends to many nodes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any
from uuid import UUID

import pytest

from djinn_memory.store.postgres import scopes
from djinn_memory.store.postgres.connection import ServerAddress, connect
from tests import routing
from tests.routing import fanning_out

A, B = UUID(int=1), UUID(int=2)
OF_A = f"user_id = '{A}'"


@pytest.fixture
def cursor(database: ServerAddress) -> Iterator[Any]:
    with closing(connect(database)) as connection, connection.cursor() as cursor:
        for scope in (A, B):
            scopes.register(cursor, scope, "x")
        yield cursor


@pytest.mark.parametrize(
    "statement",
    [
        f"select * from notes where {OF_A}",
        f"select * from notes where {OF_A} and path = any('{{a,b}}') and note_id = '{B}'",
        f"select * from notes join homes using (user_id) where {OF_A}",
        f"select * from scopes left join homes using (user_id) cross join server where {OF_A}",
        f"with one as (select * from notes where {OF_A}) delete from homes where {OF_A} "
        "and home_id in (select home_id from one)",
        f"update notes set rev = 1 from unnest(array[1]) where notes.{OF_A}",
        f"insert into revisions (user_id, rev, mark) values ('{A}', 1, '{B}')",
        f"insert into revisions (user_id, rev, mark) select '{A}', number, '{B}' "
        "from unnest(array[1, 2]) as number on conflict do nothing",
        f"insert into revisions (user_id, rev, mark) select user_id, 1, '{B}' from scopes "
        f"where {OF_A}",
        "select * from server",
        "select 1",
    ],
)
def test_one_scope_is_one_node(cursor: Any, statement: str) -> None:
    assert fanning_out(cursor, statement) == []


@pytest.mark.parametrize(
    "statement",
    [
        "select * from notes",
        f"select * from notes where user_id in ('{A}', '{B}')",
        f"select (select count(*) from homes where homes.user_id = notes.user_id) from notes "
        f"where {OF_A}",
        f"select * from notes where {OF_A} and (deleted or exists (select from homes "
        "where homes.user_id = notes.user_id))",
        f"select * from notes where {OF_A} and rev in (select rev from revisions)",
        "delete from notes where deleted",
        f"update notes set rev = 1 where {OF_A} or rev = 2",
    ],
)
def test_many_scopes_are_many_nodes(cursor: Any, statement: str) -> None:
    assert fanning_out(cursor, statement)


def test_a_statement_of_djinn_that_fans_out_fails(
    cursor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    scopes.names(cursor)
    monkeypatch.setattr(routing, "FANS_OUT", set())
    with pytest.raises(AssertionError, match=r"reads .+ of all scopes: select user_id, name"):
        scopes.names(cursor)
