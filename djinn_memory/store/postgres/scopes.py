"""The scopes of a server: the vaults that it keeps, and the homes that synchronize them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from msgspec import Struct

from djinn_memory.errors import Refused, Remedy
from djinn_memory.store.postgres.values import clean

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor


class Scope(Struct, frozen=True):
    """A vault on the server."""

    user_id: UUID
    """The id of the vault."""
    name: str
    rev: int
    """The revision of the last change."""
    notes: int
    """The notes, without deleted ones."""


def scopes(cursor: Cursor) -> list[Scope]:
    """The scopes that this user may see, in the order in which they were registered."""
    # A cluster refuses subqueries in the list of columns.
    cursor.execute(
        "select user_id, name, rev, coalesce(notes, 0) from scopes "
        "left join (select user_id, count(*) as notes from notes where not deleted "
        "group by user_id) as notes using (user_id) order by created_at, user_id"
    )
    return [Scope(*row) for row in cursor]


def names(cursor: Cursor) -> list[tuple[UUID, str]]:
    """The ids and names of the scopes that this user may see, the first registered one first."""
    cursor.execute("select user_id, name from scopes order by created_at, user_id")
    return [(scope, name) for scope, name in cursor]


def remove(cursor: Cursor, scope: UUID) -> bool:
    """Remove a scope with all its rows. Returns whether there was one."""
    cursor.execute("delete from scopes where user_id = %s", (scope,))
    return cursor.rowcount > 0


def register(cursor: Cursor, scope: UUID, name: str) -> bool:
    """Add a scope unless it exists. Returns whether it was added.

    With row-level security, the owner of the tables gets the scope. Raises `Refused`, with the
    statement that helps, for another role to which it was not granted.
    """
    cursor.execute(
        "select row_security_active('scopes') and not %s = any (djinn_scopes()), "
        "pg_has_role(relowner, 'member'), "
        "format('insert into role_scopes (role_name, user_id) values (%%L, %%L)', current_user, "
        "%s::text), current_user from pg_class where oid = 'role_scopes'::regclass",
        (scope, scope),
    )
    [(is_missing, is_owner, grant, role)] = cursor.fetchall()
    if is_missing and not is_owner:
        raise Refused(
            f"vault {name} is not granted to the role {role} of the server",
            Remedy(purpose=f"ask the owner of its tables to run `{grant}` there"),
        )
    if is_missing:
        cursor.execute(grant + " on conflict do nothing")
    cursor.execute(
        "insert into scopes (user_id, name) values (%s, %s) on conflict do nothing", (scope, name)
    )
    return cursor.rowcount > 0


def take_numbers(tx: Cursor, scope: UUID, count: int) -> int:
    """Reserve numbers of a scope; returns the first of them."""
    tx.execute(
        "update scopes set next_number = next_number + %s where user_id = %s "
        "returning next_number - %s",
        (count, scope, count),
    )
    [(first,)] = tx.fetchall()
    return int(first)


def homes(cursor: Cursor, scope: UUID, now: datetime) -> list[tuple[UUID, str, int, datetime, int]]:
    """The homes that synchronize a scope, the one seen last first, none later than `now`.

    Each has its id, the name of its machine, the last revision that it has read, when it last
    synchronized, and the number of deletions on the server that it has not read.
    """
    cursor.execute(
        "select home.home_id, home.name, home.rev, "
        # The driver cannot read infinite times.
        "greatest(least(home.seen_at, %(now)s), 'epoch'), count(gone.rev) "
        "from homes as home left join ("
        "select user_id, rev from notes where user_id = %(scope)s and deleted union all "
        "select user_id, rev from attachments where user_id = %(scope)s and deleted"
        ") as gone on gone.user_id = home.user_id and gone.rev > home.rev "
        "where home.user_id = %(scope)s "
        "group by home.home_id, home.name, home.rev, home.seen_at "
        "order by home.seen_at desc, home.home_id",
        {"scope": scope, "now": now},
    )
    return cursor.fetchall()


def remove_home(cursor: Cursor, scope: UUID, home: UUID) -> None:
    """Forget that a home synchronizes a scope. When it comes back, it compares everything."""
    cursor.execute("delete from homes where user_id = %s and home_id = %s", (scope, home))


def record_home(
    cursor: Cursor, scope: UUID, home: UUID, name: str, rev: int, large_files: Sequence[str]
) -> None:
    """Record how far a home has read a scope, and which of its attachments it cannot send."""
    cursor.execute(
        "insert into homes (user_id, home_id, name, rev, large_files) values (%s, %s, %s, %s, %s) "
        "on conflict (user_id, home_id) do update set name = excluded.name, rev = excluded.rev, "
        "large_files = excluded.large_files, seen_at = excluded.seen_at",
        (scope, home, name, rev, [clean(path) for path in large_files]),
    )


def large_files(cursor: Cursor, scope: UUID, home: UUID) -> list[tuple[str, str]]:
    """The attachments that other homes than `home` cannot send: path, and name of the home."""
    cursor.execute(
        "select path, name from homes cross join unnest(large_files) as path "
        "where user_id = %s and home_id <> %s order by path, name",
        (scope, home),
    )
    return cursor.fetchall()
