"""Checks that each statement of djinn names a scope, so that a Citus cluster sends it to one node.

Citus does so if the planner knows a constant scope for every table of a statement. On a plain
server, the plan of the statement shows that. On a cluster, the plan says to how many shards the
statement goes. Each different statement is looked at once in a test process.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from threading import Lock
from typing import Any

import psycopg

from tests.cluster_rules import READS_OR_WRITES, violations

CATALOG = "djinn_memory.store.postgres.catalog"
SCOPES = "djinn_memory.store.postgres.scopes"
QUERIES = "djinn_memory.store.postgres.queries"

FANS_OUT = {
    # Administration: it prepares a server, changes its model, lists its vaults and counts rows.
    f"{CATALOG}.count_vectors", f"{CATALOG}.empty_vectors", f"{CATALOG}.secure_rows",
    f"{SCOPES}.names", f"{SCOPES}.scopes",
    f"{QUERIES}.count_rows",
    "djinn_memory.store.postgres.migrations.migrate",
}  # fmt: skip
"""The functions whose statements may read all scopes."""

_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_CONSTANT = re.compile(rf"\(*(?:\w+\.)?user_id = '{_UUID}'::uuid\)*")
_NEAR = "index_windows_near_"

_TABLES = (
    "select relname from pg_class join pg_attribute on attrelid = pg_class.oid "
    "where relkind in ('r', 'p') and attname = 'user_id' and attnotnull "
    "and relnamespace = current_schema()::regnamespace"
)

Cursor = psycopg.Cursor[Any]


def fanning_out(cursor: Cursor, statement: str, values: Any = None) -> list[str]:
    """The tables of which a statement reads or writes rows of more than one scope.

    On a cluster, the list has the number of shards instead. The statement does not run.
    """
    cursor.execute(f"explain (verbose, format json) {statement}".encode(), values)
    [[[plan]]] = cursor.fetchall()
    shards = [count for count in _values(plan, "Task Count") if count > 1]
    if shards or _values(plan, "Distributed Query"):
        return [f"{count} shards" for count in shards]
    cursor.execute(_TABLES.encode())
    return list(_unscoped(plan["Plan"], {name for (name,) in cursor}))


def _unscoped(plan: dict[str, Any], tables: set[str]) -> Iterator[str]:
    table, parts = plan.get("Relation Name"), plan.get("Plans", [])
    if table in tables:
        if plan["Node Type"] != "ModifyTable":
            conditions = (plan.get(key, "") for key in ("Index Cond", "Recheck Cond", "Filter"))
            # The condition of a partial index is left out.
            near = any(str(name).startswith(_NEAR) for name in _values(plan, "Index Name"))
            if not near and not any(map(_names_scope, conditions)):
                yield table
        elif plan["Operation"] == "Insert":
            # The scope is the first column. A scope that is read is checked where it is read.
            first = parts[0]["Output"][0]
            if not re.fullmatch(rf"'{_UUID}'::uuid|(?:\w+\.)?user_id", first):
                yield table
    for part in parts:
        yield from _unscoped(part, tables)


def _names_scope(condition: str) -> bool:
    """Whether a condition, as a plan shows it, requires one scope."""
    plain = re.sub(rf"('{_UUID}')|'(?:[^']|'')*'", r"\1", condition)
    # Alternatives, and what is inside other expressions, are no requirements.
    depth, parts = 0, [""]
    for word in re.split(r"( AND |[()])", plain.removeprefix("(").removesuffix(")")):
        depth += {"(": 1, ")": -1}.get(word, 0)
        if word == " AND " and not depth:
            parts.append("")
        else:
            parts[-1] += word
    return any(_CONSTANT.fullmatch(part) for part in parts)


def _values(plan: Any, key: str) -> list[Any]:
    """The values of a key, at any depth."""
    if isinstance(plan, list):
        return [value for part in plan for value in _values(part, key)]
    if not isinstance(plan, dict):
        return []
    own = [plan[key]] if key in plan else []
    return own + [value for part in plan.values() for value in _values(part, key)]


class RoutedCursor(psycopg.Cursor[Any]):
    """A cursor that refuses statements of djinn that a cluster refuses or sends to many nodes."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> RoutedCursor:
        _check(self.connection, query, params)
        return super().execute(query, params, **options)

    def executemany(self, query: Any, params_seq: Any, **options: Any) -> None:
        rows: Sequence[Any] = list(params_seq)
        if rows:
            _check(self.connection, query, rows[0])
        super().executemany(query, rows, **options)


_checked: set[tuple[str, bool]] = set()
_beside: tuple[str, psycopg.Connection[Any]] | None = None
"""A connection beside those of a test, so that nothing happens in their transactions."""
_lock = Lock()


def release() -> None:
    """Close the connection to the database of the last test, so that the database can be copied."""
    global _beside
    with _lock:
        if _beside:
            _beside[1].close()
            _beside = None


def _check(connection: psycopg.Connection[Any], query: Any, values: Any) -> None:
    statement = query.decode() if isinstance(query, bytes) else str(query)
    caller = _caller()
    if caller is None:
        return
    one_scope = bool(READS_OR_WRITES.match(statement)) and not caller & FANS_OUT
    key = re.sub(rf"{_UUID}|[0-9a-f]{{32}}", "", statement), one_scope
    if key in _checked:
        return
    with _lock, suppress(psycopg.Error):
        cursor = _other(connection).cursor()
        broken = violations(cursor, statement)
        assert not broken, f"{'; '.join(broken)}: {statement}"
        tables = fanning_out(cursor, statement, values) if one_scope else []
        assert not tables, f"reads {', '.join(tables)} of all scopes: {statement}"
        _checked.add(key)


def _caller() -> set[str] | None:
    """The functions of djinn on the stack; None if a test runs the statement."""
    names: set[str] = set()
    frame = sys._getframe(2)
    while frame := frame.f_back:  # type: ignore[assignment]
        module = frame.f_globals.get("__name__", "")
        if module.startswith("djinn_memory."):
            names.add(f"{module}.{frame.f_code.co_name}")
        elif module.startswith("tests.") and not names:
            return None
    return names


def _other(connection: psycopg.Connection[Any]) -> psycopg.Connection[Any]:
    global _beside
    info = connection.info
    options = f"{info.get_parameters().get('options', '')} -c lock_timeout=100ms"
    key = f"{info.dsn} {options}"
    if _beside and (_beside[0] != key or _beside[1].closed):
        _beside[1].close()
        _beside = None
    if not _beside:
        other = psycopg.connect(
            info.dsn, password=info.password, autocommit=True, prepare_threshold=None,
            connect_timeout=2, options=options, cursor_factory=psycopg.Cursor,
        )  # fmt: skip
        _beside = key, other
    return _beside[1]
