"""The scopes of a server: the vaults that it keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from msgspec import Struct

from djinn_memory.errors import Refused, Remedy

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
    row = tx.fetchone()
    assert row
    first: int = row[0]
    return first
