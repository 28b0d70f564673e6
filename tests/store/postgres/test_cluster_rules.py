"""Statements that a Citus cluster refuses, or whose value would depend on the node."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from djinn_memory.store.postgres import catalog
from djinn_memory.store.postgres.connection import ServerAddress, connect
from tests.cluster_rules import violations

SCOPE = "user_id = '00000000-0000-0000-0000-000000000001'"
HOME = "insert into homes (user_id, home_id, name, rev) values (%s, %s, %s, %s) "
ON_CONFLICT = f"{HOME}on conflict (user_id, home_id) do update set"
BEGIN = "begin isolation level repeatable read, read only"


@pytest.fixture
def cursor(database: ServerAddress) -> Iterator[Any]:
    with closing(connect(database)) as connection, connection.cursor() as cursor:
        yield cursor


@pytest.mark.parametrize(
    "statement",
    [
        f"{BEGIN}; set local hnsw.ef_search = 324; select user_id from scopes where {SCOPE}",
        "grant select on server to public; alter table role_scopes enable row level security;",
        "set local citus.propagate_set_commands = 'local'; set transaction read only",
        "create table a (b text); create table c (d text)",
    ],
)
def test_several_statements(cursor: Any, statement: str) -> None:
    assert violations(cursor, statement) == ["several statements in one message"]


@pytest.mark.parametrize(
    ("statement", "function"),
    [
        (f"{ON_CONFLICT} rev = excluded.rev, seen_at = now()", "now"),
        (f"{ON_CONFLICT} seen_at = current_timestamp where homes.rev < 2", "current_timestamp"),
        (f"{ON_CONFLICT} name = current_user", "current_user"),
        (f"{ON_CONFLICT} rev = excluded.rev where homes.seen_at < now()", "now"),
        (f"delete from homes where {SCOPE} returning clock_timestamp()", "clock_timestamp"),
    ],
)
def test_functions_where_citus_refuses_them(cursor: Any, statement: str, function: str) -> None:
    assert violations(cursor, statement)[0].startswith(f"{function} after `")


@pytest.mark.parametrize(
    ("statement", "function"),
    [
        (f"select least(seen_at, now()) from homes where {SCOPE}", "now"),
        (f"select min(rev) from homes where {SCOPE} and seen_at < current_date", "current_date"),
        (f"with one as (select random() from notes where {SCOPE}) select from one", "random"),
        (f"select gen_random_uuid() from notes where {SCOPE}", "gen_random_uuid"),
        (f"select current_setting('a.b') from notes where {SCOPE}", "current_setting"),
        (f"select txid_current(), rev from notes where {SCOPE}", "txid_current"),
        (f"select 'notes'::regclass, rev from notes where {SCOPE}", "regclass"),
        (f"select to_regclass(path) from notes where {SCOPE}", "to_regclass"),
        (f"update notes set written_at = localtimestamp where {SCOPE}", "localtimestamp"),
    ],
)
def test_functions_of_which_each_node_has_its_own(
    cursor: Any, statement: str, function: str
) -> None:
    assert violations(cursor, statement) == [f"{function}, whose value each node has its own of"]


@pytest.mark.parametrize(
    "statement",
    [
        "set local hnsw.ef_search = 324;",
        "create function a() returns integer language sql begin atomic select 1; select 2; end",
        f"{HOME}on conflict do nothing",
        f"{ON_CONFLICT} rev = greatest(homes.rev, excluded.rev), seen_at = excluded.seen_at",
        f"{HOME}returning upper(name)",
        # The coordinator computes these.
        f"update notes set written_at = now() where {SCOPE}",
        f"with one as (select 1) delete from notes where {SCOPE} and written_at < now()",
        "select now() - make_interval(secs => 1)",
        "select 'notes'::regclass, current_schema()",
        # Words in texts are no functions.
        f"select path from notes where {SCOPE} and path <> 'now()' -- random()",
        f"select current_user, lower(path) from notes where {SCOPE}",
    ],
)
def test_statements_that_hold_on_a_cluster(cursor: Any, statement: str) -> None:
    assert violations(cursor, statement) == []


def test_a_statement_of_djinn_that_breaks_a_rule_fails(
    cursor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.secure_rows(cursor)
    joined = "; ".join(catalog.OPEN_UNSCOPED)
    monkeypatch.setattr(catalog, "OPEN_UNSCOPED", (joined,))
    with pytest.raises(AssertionError, match="several statements in one message: grant select on"):
        catalog.secure_rows(cursor)
