"""The server's own catalogue of djinn's tables, and changes to all of the tables at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from djinn_memory.errors import Unavailable

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor, ServerAddress

SCOPED = """
select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid
where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
and a.attname = 'user_id' and a.attnotnull and not a.attisdropped order by c.relname
"""

UNSCOPED = ("schema_migrations", "server", "role_scopes")
"""The tables without a scope. Each node of a cluster has a copy of them."""

FUNCTIONS = ("djinn_scopes()", "djinn_reads_all()")

READ_COPY = (
    "create or replace function djinn_scopes() returns uuid[] language sql stable parallel safe "
    "as $$ select coalesce(pg_catalog.array_agg(user_id) filter (where user_id is not null), "
    "'{{}}') from {copy} where role_name operator(pg_catalog.=) current_user $$",
    "create or replace function djinn_reads_all() returns boolean language sql stable "
    "parallel safe as $$ select exists (select from {copy} "
    "where role_name operator(pg_catalog.=) current_user and user_id is null) $$",
)
"""The functions of the policies on a cluster, whose nodes have copies of `role_scopes`.

A role cannot put tables or operators of its own in place of these by its search path.
"""

DEPENDENCIES = """
select c.relname, f.relname from pg_constraint k
join pg_class c on c.oid = k.conrelid join pg_class f on f.oid = k.confrelid
where k.contype = 'f' and c.relnamespace = current_schema()::regnamespace and c.oid <> f.oid
"""

SECURE = (
    "alter table {table} enable row level security",
    "alter table {table} force row level security",
    "drop policy if exists djinn_read on {table}",
    "drop policy if exists djinn_write on {table}",
    "create policy djinn_read on {table} for select "
    "using (user_id = any (djinn_scopes()) or djinn_reads_all())",
    "create policy djinn_write on {table} for all "
    "using (user_id = any (djinn_scopes())) with check (user_id = any (djinn_scopes()))",
    "grant select, insert, update, delete on {table} to public",
)

OPEN_UNSCOPED = (
    "grant select on schema_migrations, server, role_scopes to public",
    "grant usage on schema {schema} to public",
    "alter table role_scopes enable row level security",
    "drop policy if exists djinn_read on role_scopes",
    "create policy djinn_read on role_scopes for select using (true)",
)


def postgres_version(cursor: Cursor) -> str:
    """The version of the server, such as 18.4."""
    [(version,)] = cursor.execute("show server_version")
    return str(version).split()[0]


def extensions(cursor: Cursor) -> dict[str, str]:
    """The versions of the installed extensions that djinn uses."""
    cursor.execute(
        "select extname, extversion from pg_extension "
        "where extname in ('vector', 'pg_trgm', 'citus') order by extname"
    )
    return dict(cursor.fetchall())


def scoped_tables(cursor: Cursor) -> list[str]:
    """The tables with a scope. A table comes after those to which its foreign keys refer."""
    cursor.execute(SCOPED.encode())
    rest = [name for (name,) in cursor]
    cursor.execute(DEPENDENCIES.encode())
    needs: dict[str, set[str]] = {name: set() for name in rest}
    for table, other in cursor:
        if table in needs and other in needs:
            needs[table].add(other)
    ordered: list[str] = []
    while rest:
        ready = [name for name in rest if needs[name] <= set(ordered)]
        ordered += ready
        rest = [name for name in rest if name not in ready] if ready else []
    return ordered


def secure_rows(cursor: Cursor) -> None:
    """Let each role see only the rows of the scopes that `role_scopes` grants to it.

    This holds for the owner of the tables too, who keeps the scopes that exist now. A superuser
    sees everything. Only the owner writes `role_scopes`, also after `grant all on all tables`.
    """
    change_in_order(cursor)
    [(schema,)] = cursor.execute("select current_schema()")
    for statement in OPEN_UNSCOPED:
        _execute(cursor, statement, schema=schema)
    cursor.execute("select user_id from scopes")
    cursor.executemany(
        "insert into role_scopes (role_name, user_id) values (current_user, %s) "
        "on conflict do nothing",
        cursor.fetchall(),
    )
    for table in scoped_tables(cursor):
        for statement in SECURE:
            _execute(cursor, statement, table=table)
    if is_distributed(cursor):
        _let_workers_read_grants(cursor)


def is_secured(cursor: Cursor) -> bool:
    """Whether row-level security holds for every table with a scope."""
    cursor.execute(
        "select coalesce(bool_and(relrowsecurity and relforcerowsecurity), false) from pg_class "
        "where relnamespace = current_schema()::regnamespace and relname = any (%s)",
        (scoped_tables(cursor),),
    )
    return cursor.fetchone() == (True,)


def distribute(cursor: Cursor, address: ServerAddress) -> None:
    """Distribute the tables over the nodes of a Citus cluster, by scope.

    Tables that are distributed already stay as they are. Raises `Unavailable` without Citus.
    """
    if "citus" not in extensions(cursor):
        raise Unavailable(
            f"{address} has no extension citus, so its tables cannot be distributed; "
            "create the extension, add the workers, and run this again"
        )
    change_in_order(cursor)
    cursor.execute("select logicalrelid::regclass::text from pg_dist_partition")
    done = {name for (name,) in cursor}
    for table in UNSCOPED:
        if table not in done:
            cursor.execute("select create_reference_table(%s)", (table,))
    for function in FUNCTIONS:
        cursor.execute("select create_distributed_function(%s)", (function,))
    for table in scoped_tables(cursor):
        if table not in done:
            together = "none" if table == "scopes" else "scopes"
            cursor.execute(
                "select create_distributed_table(%s, 'user_id', colocate_with => %s)",
                (table, together),
            )
    _let_workers_read_grants(cursor)


def _let_workers_read_grants(cursor: Cursor) -> None:
    """Let the functions of the policies read the copy of `role_scopes` on their own node.

    Citus refuses queries of a distributed table inside a query that it has sent to a worker.
    """
    cursor.execute(
        "select quote_ident(current_schema()), shardid::text from pg_dist_shard "
        "where logicalrelid = 'role_scopes'::regclass"
    )
    [(schema, shard)] = cursor.fetchall()
    for statement in READ_COPY:
        _execute(cursor, statement, copy=f"{schema}.role_scopes_{shard}")


def change_in_order(cursor: Cursor) -> None:
    """Let the nodes of a cluster change one after the other in this transaction.

    Citus requires this where a transaction reads or changes rows, and then changes their tables,
    or tables of which each node has a copy. A server without Citus ignores it.
    """
    cursor.execute("set local citus.multi_shard_modify_mode = 'sequential'")


def is_distributed(cursor: Cursor) -> bool:
    """Whether the tables are distributed over a Citus cluster."""
    if "citus" not in extensions(cursor):
        return False
    cursor.execute("select count(*) from pg_dist_partition where logicalrelid = 'scopes'::regclass")
    return cursor.fetchone() != (0,)


def _vector_columns(cursor: Cursor) -> list[tuple[str, str]]:
    """Every table and column of type `vector`."""
    cursor.execute(
        "select c.relname, a.attname from pg_attribute a join pg_class c on c.oid = a.attrelid "
        "where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') "
        "and a.atttypid = 'vector'::regtype and not a.attisdropped order by 1, 2"
    )
    return [(table, column) for table, column in cursor]


def count_vectors(cursor: Cursor) -> int:
    """The number of vectors in all tables."""
    number = 0
    for table, column in _vector_columns(cursor):
        _execute(cursor, "select count({column}) from {table}", table=table, column=column)
        [(count,)] = cursor.fetchall()
        number += int(count)
    return number


def empty_vectors(cursor: Cursor, dimensions: int) -> int:
    """Set all vectors to null, and their columns to another dimension. Returns how many there were.

    HNSW indexes are dropped; they are made again when the vectors are filled.
    """
    removed = count_vectors(cursor)
    cursor.execute("delete from index_token_signs")
    for table, column in _vector_columns(cursor):
        cursor.execute(
            "select indexrelid::regclass::text from pg_index join pg_depend on objid = indexrelid "
            "join pg_attribute on attrelid = refobjid and attnum = refobjsubid "
            "join pg_class on pg_class.oid = indexrelid join pg_am on pg_am.oid = relam "
            "where refobjid = %s::regclass and attname = %s and amname = 'hnsw'",
            (table, column),
        )
        for (index,) in cursor.fetchall():
            _execute(cursor, "drop index {index}", index=index)
        change = "alter table {table} alter column {column} type vector({dimensions}) using null"
        _execute(cursor, change, table=table, column=column, dimensions=str(dimensions))
    return removed


def _execute(cursor: Cursor, statement: str, **names: str) -> None:
    """Run a statement with names from the catalogue in it."""
    cursor.execute(statement.format(**names).encode())
