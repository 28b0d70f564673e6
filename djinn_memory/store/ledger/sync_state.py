"""The state that a home and its server last had in common.

A home without this knowledge compares everything with the server, and deletes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal
from uuid import UUID, uuid4

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.store.ledger.ledger import Ledger, Statement

LOST = -1
"""The revision of a base whose revision the server lost when it was restored from a backup."""

SEEN = 500
"""Number of revisions of a scope that are remembered, to find what a restored server still has."""

_HASH_BYTES = 16

PAST = 100
"""Number of earlier texts of a note that are remembered, at 16 bytes each. A restored server gets
such a text from a home that is behind, and few homes are a hundred edits of a note behind."""


class NoteBase(Struct, frozen=True):
    """The state of a note that the home and the server last had in common."""

    path: str
    hash: bytes
    rev: int
    """The server's revision of the state, or `LOST`."""
    uid: str | None = None
    stat: str | None = None
    """Of an attachment: size and times of the file with these bytes."""
    purged: bool = False
    conflict_of: UUID | None = None
    """The note of which it is a conflict copy."""


class ScopeState(Struct, frozen=True):
    """How far a home has read the server's revisions of a scope."""

    rev: int = 0
    whole: bool = True
    """Whether both sides must be compared as a whole, and nothing may be deleted."""
    restored_rev: int | None = None
    """The newest revision that a restored server has in common with what the home saw before."""


class PlannedStep(Struct, frozen=True):
    """A step of an interrupted run."""

    note_id: UUID
    step: Literal["pull", "push"]
    path: str
    hash: bytes
    """The state that the step produces: in the home for `pull`, on the server for `push`."""
    server_path: str
    server_hash: bytes
    """Of `pull`: the server's state, which becomes the base."""
    rev: int
    """Of `pull`: the revision of that state. Of `push`: the revision that is replaced."""


def home_id(ledger: Ledger) -> UUID:
    """The id by which servers know this home. It is made at the first call."""
    for _ in range(2):
        if known := home_id_if_any(ledger):
            return known
        ledger.change([("insert into sync_home (id) values (?)", [(str(uuid4()),)])])
    raise AssertionError


def home_id_if_any(ledger: Ledger) -> UUID | None:
    """The id by which servers know this home; None if it was never needed."""
    known = ledger.rows("select id from sync_home order by rowid limit 1")
    return UUID(known[0][0]) if known else None


def scope_state(ledger: Ledger, scope: UUID) -> ScopeState:
    """How far the home has read a scope; a scope that it never read is compared as a whole."""
    known = ledger.rows(
        "select rev, whole, restored_rev from sync_scope where scope = ?", (str(scope),)
    )
    return ScopeState(known[0][0], bool(known[0][1]), known[0][2]) if known else ScopeState()


def bases(
    ledger: Ledger, scope: UUID, note_ids: Collection[UUID] | None = None, path: str | None = None
) -> dict[UUID, NoteBase]:
    """The bases of a scope by the ids of the notes: all, or those of some notes, or of a path."""
    sql = (
        "select note_id, path, hash, rev, uid, stat, purged, conflict_of from sync_base "
        "where scope = ?"
    )
    values = [str(scope)]
    if note_ids is not None:
        sql += " and note_id in (select value from json_each(?))"
        values.append(json.dumps([*map(str, note_ids)]))
    if path is not None:
        sql += " and path = ?"
        values.append(path)
    return {
        UUID(note_id): NoteBase(
            path, digest, rev, uid, stat, bool(purged), UUID(original) if original else None
        )
        for note_id, path, digest, rev, uid, stat, purged, original in ledger.rows(sql, values)
    }


def past_hashes(
    ledger: Ledger, scope: UUID, note_ids: Collection[UUID]
) -> dict[UUID, frozenset[bytes]]:
    """The hashes of the texts of notes that the home and the server ever had in common.

    They are those of the bases and the last `PAST` before these.
    """
    if not note_ids:
        return {}
    known = ledger.rows(
        "select note_id, cast(past || hash as blob) from sync_base "
        "where scope = ? and note_id in (select value from json_each(?))",
        (str(scope), json.dumps([*map(str, note_ids)])),
    )
    return {
        UUID(note_id): frozenset(
            hashes[at : at + _HASH_BYTES] for at in range(0, len(hashes), _HASH_BYTES)
        )
        for note_id, hashes in known
    }


def seen(ledger: Ledger, scope: UUID) -> dict[int, UUID]:
    """The marks of the server's revisions that the home has seen, newest first."""
    known = ledger.rows(
        "select rev, mark from sync_seen where scope = ? order by rev desc", (str(scope),)
    )
    return {rev: UUID(mark) for rev, mark in known}


def steps(ledger: Ledger, scope: UUID) -> list[PlannedStep]:
    """The steps that were planned and not concluded, in order."""
    return [
        PlannedStep(UUID(note_id), *rest)
        for note_id, *rest in ledger.rows(
            "select note_id, step, path, hash, server_path, server_hash, rev from sync_plan "
            "where scope = ? order by rowid",
            (str(scope),),
        )
    ]


def plan(ledger: Ledger, scope: UUID, planned: Iterable[PlannedStep]) -> None:
    """Write the steps of a run before they are carried out. They replace those of the last."""
    rows = [
        (str(scope), str(step.note_id), step.step, step.path, step.hash, step.server_path,
         step.server_hash, step.rev)
        for step in planned
    ]  # fmt: skip
    ledger.change(
        [
            ("delete from sync_plan where scope = ?", [(str(scope),)]),
            (
                "insert into sync_plan (scope, note_id, step, path, hash, server_path, "
                "server_hash, rev) values (?, ?, ?, ?, ?, ?, ?, ?)",
                rows,
            ),
        ]
    )


def record_bases(ledger: Ledger, scope: UUID, states: Mapping[UUID, NoteBase | None]) -> None:
    """Record the new bases of notes, whose steps are done. None removes a base."""
    name = str(scope)
    kept = [(name, str(note_id), *_columns(base)) for note_id, base in states.items() if base]
    statements: list[Statement] = [
        (
            "delete from sync_base where scope = ? and note_id = ?",
            [(name, str(note_id)) for note_id, base in states.items() if base is None],
        ),
        (
            "insert into sync_base (scope, note_id, path, hash, rev, uid, stat, purged, "
            "conflict_of) values (?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (scope, note_id) "
            "do update set past = case when hash = excluded.hash then past "
            f"else substr(cast(past || hash as blob), -{PAST * _HASH_BYTES}) end, "
            "path = excluded.path, hash = excluded.hash, rev = excluded.rev, uid = excluded.uid, "
            "stat = excluded.stat, purged = excluded.purged, conflict_of = excluded.conflict_of",
            kept,
        ),
        (
            "delete from sync_plan where scope = ? and note_id = ?",
            [(name, str(note_id)) for note_id in states],
        ),
    ]
    ledger.change(statements)


def advance(ledger: Ledger, scope: UUID, state: ScopeState, marks: Mapping[int, UUID]) -> None:
    """Record how far the home has read a scope, and the marks of revisions."""
    ledger.change([*_put_scope(scope, state), *_seen(str(scope), marks)])


def restored(ledger: Ledger, scope: UUID, common: int) -> None:
    """Record that the server was restored, and has nothing that the home saw after `common`.

    Both sides are then compared as a whole, and all events are exchanged again.
    """
    state, _ = after_restore(scope_state(ledger, scope), {}, common)
    values = [(str(scope), state.restored_rev)]
    ledger.change(
        [
            ("delete from sync_seen where scope = ? and rev > ?", values),
            (f"update sync_base set rev = {LOST} where scope = ? and rev > ?", values),
            ("delete from sync_plan where scope = ?", [(str(scope),)]),
            ("delete from sync_events where scope = ?", [(str(scope),)]),
            *_put_scope(scope, state),
        ]
    )


def see(ledger: Ledger, scope: UUID, marks: Mapping[int, UUID]) -> None:
    """Record the marks of revisions, by which a restored server is recognised."""
    ledger.change(_seen(str(scope), marks))


def after_restore(
    state: ScopeState, bases: Mapping[UUID, NoteBase], common: int
) -> tuple[ScopeState, dict[UUID, NoteBase]]:
    """The state of a scope and its bases after a restoration of the server. Pure."""
    earlier = state.restored_rev
    kept = common if earlier is None else min(earlier, common)
    return ScopeState(0, True, kept), {
        note_id: replace(base, rev=LOST) if base.rev > kept else base
        for note_id, base in bases.items()
    }


def mark_purged(
    ledger: Ledger, scope: str, paths: Sequence[str], digests: Collection[bytes] = ()
) -> None:
    """Record that notes of a vault were purged here, for the next run. Other paths are ignored.

    `digests` are the hashes of their files, which other homes may have in their trash.
    """
    ledger.change(
        [
            (
                "update sync_base set purged = 1 where scope = ? and path = ?",
                [(scope, path) for path in paths],
            ),
            (
                "insert or ignore into sync_purged (scope, hash) values (?, ?)",
                [(scope, digest) for digest in digests],
            ),
        ]
    )


def purged_hashes(ledger: Ledger, scope: UUID) -> list[bytes]:
    """The hashes of files that were purged since the last run."""
    known = ledger.rows("select hash from sync_purged where scope = ?", (str(scope),))
    return [digest for (digest,) in known]


def forget_purged(ledger: Ledger, scope: UUID, digests: Sequence[bytes]) -> None:
    """Remove hashes of purged files, which the server has now."""
    values = [(str(scope), digest) for digest in digests]
    ledger.change([("delete from sync_purged where scope = ? and hash = ?", values)])


def mark_unerased(ledger: Ledger, scope: UUID) -> None:
    """Record that bytes of purged notes of a scope may be in the databases of the home."""
    ledger.change([("insert or ignore into sync_unerased (scope) values (?)", [(str(scope),)])])


def is_unerased(ledger: Ledger, scope: UUID) -> bool:
    """Whether bytes of purged notes of a scope may be in the databases of the home."""
    return bool(ledger.rows("select 1 from sync_unerased where scope = ?", (str(scope),)))


def mark_erased(ledger: Ledger, scope: UUID) -> None:
    """Record that the bytes of all purged notes of a scope are gone."""
    ledger.change([("delete from sync_unerased where scope = ?", [(str(scope),)])])


def _columns(base: NoteBase) -> tuple[object, ...]:
    original = str(base.conflict_of) if base.conflict_of else None
    return base.path, base.hash, base.rev, base.uid, base.stat, int(base.purged), original


def _put_scope(scope: UUID, state: ScopeState) -> list[Statement]:
    return [
        (
            "insert or replace into sync_scope (scope, rev, whole, restored_rev) "
            "values (?, ?, ?, ?)",
            [(str(scope), state.rev, int(state.whole), state.restored_rev)],
        )
    ]


def _seen(name: str, marks: Mapping[int, UUID]) -> list[Statement]:
    if not marks:
        return []
    return [
        (
            "insert or replace into sync_seen (scope, rev, mark) values (?, ?, ?)",
            [(name, rev, str(mark)) for rev, mark in marks.items()],
        ),
        (
            "delete from sync_seen where scope = ?1 and rev not in "
            "(select rev from sync_seen where scope = ?1 order by rev desc limit ?2)",
            [(name, SEEN)],
        ),
    ]


class EventCursor(Struct, frozen=True):
    """How far the events of a scope were exchanged."""

    rev: int = 0
    """Events up to this revision of the server are in the ledger."""
    pushed: str = ""
    """Events of this home up to this id are on the server."""


def event_cursor(ledger: Ledger, scope: UUID) -> EventCursor:
    """How far the events of a scope were exchanged."""
    known = ledger.rows("select rev, pushed from sync_events where scope = ?", (str(scope),))
    return EventCursor(*known[0]) if known else EventCursor()


def move_event_cursor(ledger: Ledger, scope: UUID, after: EventCursor) -> None:
    """Record how far the events of a scope were exchanged."""
    if event_cursor(ledger, scope) == after:
        return
    values = str(scope), after.rev, after.pushed
    ledger.change(
        [("insert or replace into sync_events (scope, rev, pushed) values (?, ?, ?)", [values])]
    )
