"""The homes that synchronize a scope, as a Postgres server knows them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from msgspec import Struct

from djinn_memory.store.postgres.values import clean

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor


class ScopeHome(Struct, frozen=True):
    """A home that synchronizes a scope."""

    home_id: UUID
    name: str
    """The name of its machine."""
    rev: int
    """The last revision that it has read."""
    seen_at: datetime
    """When it last synchronized."""
    unseen: int
    """The deletions on the server that it has not read."""


def homes(cursor: Cursor, scope: UUID, now: datetime) -> list[ScopeHome]:
    """The homes that synchronize a scope, the one seen last first, none later than `now`."""
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
    return [ScopeHome(*row) for row in cursor]


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
