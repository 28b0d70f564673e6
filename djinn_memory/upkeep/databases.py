"""Looks at the databases: the ledger, the cache of vectors, the index and what it says of notes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import apsw

from djinn_memory.indexing.indexer import outdated
from djinn_memory.indexing.sweep import stale
from djinn_memory.models import Vault
from djinn_memory.notes.ids import new_id
from djinn_memory.store import index as index_store
from djinn_memory.store import ledger, vector_cache
from djinn_memory.store.expiring import sqlite
from djinn_memory.store.salvage import SalvagedLedger, read, recover, unfinished
from djinn_memory.store.sqlite import Schema, fault, load_vectors, newer_database, peek, rows
from djinn_memory.store.state import set_aside
from djinn_memory.system.plural import count
from djinn_memory.upkeep.findings import Check, CheckedHome, Mend, error, hint, ok, warning

LOOK_SECONDS = 20
"""Spent at most on looking for changed notes."""

WASTE = 10_000_000
"""Bytes of empty pages in a database that are worth giving back."""

_UPDATE = "update djinn"
_FIX = "run `djinn doctor --fix`"


def events(case: CheckedHome) -> Iterator[Check]:
    """The ledger: what no note tells."""
    path = case.home.ledger_path
    if found := _unusable("ledger", path, ledger.SCHEMA):
        yield found
        return
    if not path.exists() and not unfinished(path):
        yield ok("ledger", "nothing has happened yet")
        return
    wrong = fault(path, ledger.SCHEMA, thorough=True)
    if wrong is None and unfinished(path):
        wrong = "waits for the end of a recovery that was interrupted"
    if wrong is None and (unseen := _unseen(path)):
        wrong = f"is damaged ({count(unseen, 'event')} in its log not seen any more)"
    if wrong is None:
        number = _one(path, "select count(*) from event")
        yield ok("ledger", f"{count(number, 'event')}")
        return
    found_events = read(path) if path.is_file() else SalvagedLedger({}, {})
    what = f"{path} {wrong}; can be read: {found_events}"
    yield error("ledger", what, _FIX, _recovering(path))


def _recovering(path: Path) -> Mend:
    def mend() -> str:
        found, aside = recover(path)
        kept = f"; the damaged one is kept as {aside.name}" if aside else ""
        return f"recovered {found}{kept}"

    return mend


def _unseen(path: Path) -> int:
    """How many events lie in a log that SQLite does not read, since a part of it is damaged."""
    log = Path(f"{path}-wal")
    if not log.exists() or not log.stat().st_size:
        return 0
    # In this order: what is written meanwhile is known then.
    found = read(path)
    with closing(peek(path)) as connection:
        known = {key for (key,) in rows(connection, "select id from event")}
    return len((found.events.keys() | found.lost.keys()) - known)


def cache(case: CheckedHome) -> Iterator[Check]:
    """The cache of vectors."""
    path = case.home.embeddings_path
    if found := _unusable("vectors", path, vector_cache.SCHEMA):
        yield found
    elif wrong := fault(path, vector_cache.SCHEMA):
        remedy = "run `djinn index`: it is set aside and made anew"
        yield error("vectors", f"{path} {wrong}", remedy, case.reindexed)
    elif not path.exists():
        yield ok("vectors", "none are kept yet")
    else:
        yield from _roomy("vectors", path)
        number = _one(path, "select count(*) from embedding")
        yield ok("vectors", f"{number:,} are kept")


def working(case: CheckedHome) -> Iterator[Check]:
    """Working memory: what expires."""
    if case.home.config.working_memory:
        case.state.working.entries("")
        yield ok("working", "the Redis server answers")
        return
    path = case.home.working_path
    if found := _unusable("working", path, sqlite.SCHEMA):
        yield found
    elif wrong := fault(path, sqlite.SCHEMA):
        what = f"{path} {wrong}; nothing of it lasts long, so nothing is recovered"
        yield error("working", what, _FIX, lambda: f"set aside as {set_aside(path).name}")
    elif not path.exists():
        yield ok("working", "nothing is held yet")
    else:
        number = _one(path, "select count(*) from entry where expires > unixepoch('subsec')")
        yield ok("working", f"holds {count(number, 'value')}")


def index(case: CheckedHome) -> Iterator[Check]:
    """The index: whether it is whole, and as the vaults are."""
    path, mend = case.home.index_path, case.reindexed
    if found := _unusable("index", path, index_store.SCHEMA):
        yield found
    elif not path.exists() or not path.stat().st_size:
        yield warning("index", "there is none yet", "run `djinn index`", mend)
    elif wrong := index_store.fault(path):
        remedy = "run `djinn index`: it is set aside and made anew"
        yield error("index", f"{path} {wrong}", remedy, mend)
    elif _one(path, "pragma user_version") < index_store.SCHEMA.newest:
        what = "it is of an older version of djinn"
        yield hint("index", what, "run `djinn index`", mend)
    else:
        yield from _roomy("index", path)
        with closing(peek(path)) as connection:
            load_vectors(connection)
            yield from _content(case, connection)


def _content(case: CheckedHome, connection: apsw.Connection) -> Iterator[Check]:
    refresh = case.reindexed
    if outdated(connection):
        what = "another version of djinn cut the notes it holds"
        yield warning("index", what, "run `djinn index`", refresh)
    others = _others(case, connection)
    if others:
        what = f"it holds {count(others, 'vault')} not of this home any more"
        yield hint("index", what, "run `djinn index`", refresh)
    deadline = time.monotonic() + LOOK_SECONDS
    seen = stale(connection, _there(case), case.home.config.exclude, deadline)
    if seen.changed:
        what = f"{count(seen.changed, 'note')} new, changed or gone since the last reading"
        yield hint("index", what, "run `djinn index`", refresh)
    waiting = connection.execute("select count(*) from window where not embedded").get
    if waiting and case.home.config.embedding.provider != "none":
        what = f"{count(waiting, 'window')} without a vector yet, found by words only"
        yield hint("index", what, "run `djinn index`", refresh)
    notes = connection.execute("select count(*) from note").get
    yield ok("index", f"{count(notes, 'note')}")


def notes(case: CheckedHome) -> Iterator[Check]:
    """What the index knows of notes that a person should look at."""
    path = case.home.index_path
    if not path.exists() or index_store.fault(path):
        return
    if _one(path, "pragma user_version") != index_store.SCHEMA.newest:
        return
    with closing(peek(path)) as connection:
        found = [*_misread(connection), *_twins(connection)]
    yield from found or [ok("notes", "every note is understood, every id is one note's")]


def _misread(connection: apsw.Connection) -> Iterator[Check]:
    found = rows(
        connection,
        "select vault.name || '/' || path, problem from note join vault on vault.id = vault_id "
        "where problem is not null order by 1",
    )
    for name, problem in found[:20]:
        yield warning("notes", f"{name}: {problem}", "mend the note")
    if len(found) > 20:
        what = f"{count(len(found) - 20, 'more note')} not understood in part"
        yield warning("notes", what, "`djinn index` names them all")


def _twins(connection: apsw.Connection) -> Iterator[Check]:
    # The older keeps the id: by what the notes say of themselves, else by their files' times.
    found = rows(
        connection,
        "select uid, json_group_array(vault.name || '/' || path order by "
        "coalesce(created, 'z'), mtime_ns, path) from memory join note on note.id = note_id "
        "join vault on vault.id = vault_id where uid is not null group by uid having count(*) > 1",
    )
    for identity, names in found:
        older, *others = json.loads(names)
        for other in others:
            what = f"{older} and {other} have one id, {identity}: the older, {older}, keeps it"
            yield warning("notes", what, f"write `id: {new_id()}` into {other}")


def _others(case: CheckedHome, connection: apsw.Connection) -> int:
    kept = {vault.id for vault in case.home.vaults}
    return sum(uuid not in kept for (uuid,) in connection.execute("select uuid from vault"))


def _there(case: CheckedHome) -> Sequence[Vault]:
    return [vault for vault in case.home.vaults if vault.root.is_dir()]


def _unusable(part: str, path: Path, schema: Schema) -> Check | None:
    if path.is_symlink():
        return error(part, f"{path} is a link and may lead anywhere", "put the file itself there")
    if version := newer_database(path, schema):
        what = f"{path} was made by a newer djinn (version {version})"
        return error(part, what, _UPDATE)
    return None


def _roomy(part: str, path: Path) -> Iterator[Check]:
    free = _one(path, "pragma freelist_count") * _one(path, "pragma page_size")
    if free > WASTE and free > path.stat().st_size // 2:
        what = f"{free / 1e6:,.0f} MB of {path.name} are empty"
        yield hint(part, what, _FIX, _vacuuming(path))


def _vacuuming(path: Path) -> Mend:
    def mend() -> str:
        before = path.stat().st_size
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
            load_vectors(connection)
            connection.set_busy_timeout(10_000)
            connection.execute("vacuum; pragma wal_checkpoint(truncate)")
        return f"gave back {(before - path.stat().st_size) / 1e6:,.0f} MB"

    return mend


def _one(path: Path, sql: str) -> int:
    with closing(peek(path)) as connection:
        return int(connection.execute(sql).get)
