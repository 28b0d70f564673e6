"""Checks of the databases: the ledger, vectors, working memory, the index and its notes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from djinn_memory.errors import DjinnError, Remedy, current_wording
from djinn_memory.indexing.indexer import outdated
from djinn_memory.indexing.scan import stale
from djinn_memory.notes.ids import new_id
from djinn_memory.store import index as index_store
from djinn_memory.store import inspection, ledger, vector_cache
from djinn_memory.store.expiring import sqlite
from djinn_memory.store.faults import fault, newer_database
from djinn_memory.store.postgres.embedded import missing_server
from djinn_memory.store.postgres.scopes import scopes
from djinn_memory.store.postgres.servers import configured_url, connected, embedded_folder
from djinn_memory.store.salvage import SalvagedLedger, read, recover, unfinished
from djinn_memory.store.sqlite import Connection, Schema
from djinn_memory.store.state import set_aside
from djinn_memory.system.locks import is_locked
from djinn_memory.system.plural import count
from djinn_memory.upkeep.findings import FIX, INDEX, Check, CheckedHome, error, hint, ok, warning

LOOK_SECONDS = 20
"""Maximum seconds for the scan for changed notes."""

WASTE = 10_000_000
"""Minimum bytes of empty pages in a database that are worth freeing."""

MOST_NAMED = 20
"""Maximum number of notes with problems that are listed by name."""

REMADE = Remedy("index", purpose="set it aside and rebuild it")


def events(case: CheckedHome) -> Iterator[Check]:
    """Check the ledger, which cannot be rebuilt from the notes."""
    path = case.home.ledger_path
    if unusable := _unusable("ledger", path, ledger.SCHEMA):
        yield unusable
        return
    if not path.exists() and not unfinished(path):
        yield ok("ledger", "the ledger is empty")
        return
    wrong = fault(path, ledger.SCHEMA, thorough=True)
    if wrong is None and unfinished(path):
        wrong = "has an interrupted recovery to finish"
    if wrong is None and (unseen := inspection.count_unseen_events(path)):
        wrong = f"is damaged ({count(unseen, 'event')} in its log missing)"
    if wrong is None:
        yield from _writable("ledger", path)
        yield ok("ledger", count(inspection.number(path, "events"), "event"))
        return

    def mend() -> str:
        recovered, aside = recover(path)
        remark = f"; the damaged one is kept as {aside.name}" if aside else ""
        return f"recovered {recovered}{remark}"

    readable = read(path) if path.is_file() else SalvagedLedger({}, {})
    yield error("ledger", f"{path} {wrong}; can be read: {readable}", FIX, mend)


def cache(case: CheckedHome) -> Iterator[Check]:
    """Check the cache of vectors."""
    path = case.home.embeddings_path
    if unusable := _unusable("vectors", path, vector_cache.SCHEMA):
        yield unusable
    elif wrong := fault(path, vector_cache.SCHEMA):
        yield error("vectors", f"{path} {wrong}", REMADE, case.reindexed)
    elif not path.exists():
        yield ok("vectors", "no vectors are cached yet")
    else:
        yield from _writable("vectors", path)
        yield from _roomy("vectors", path)
        yield ok("vectors", f"{inspection.number(path, 'vectors'):,} are cached")


def working(case: CheckedHome) -> Iterator[Check]:
    """Check working memory."""
    if case.home.config.working_memory:
        case.state.working.entries("")
        yield ok("working", "the Redis server answers")
        return
    path = case.home.working_path
    if unusable := _unusable("working", path, sqlite.SCHEMA):
        yield unusable
    elif wrong := fault(path, sqlite.SCHEMA):
        what = f"{path} {wrong}; its values are short-lived, so nothing is recovered"
        yield error("working", what, FIX, lambda: f"set aside as {set_aside(path).name}")
    elif not path.exists():
        yield ok("working", "no values are stored yet")
    else:
        yield from _writable("working", path)
        yield ok("working", f"contains {count(inspection.number(path, 'values'), 'value')}")


def index(case: CheckedHome) -> Iterator[Check]:
    """Check whether the index is undamaged and up to date, and report problems of its notes."""
    path, mend = case.home.index_path, case.reindexed
    if unusable := _unusable("index", path, index_store.SCHEMA):
        yield unusable
    elif not path.exists() or not path.stat().st_size:
        yield warning("index", "there is no index yet", INDEX, mend)
    elif wrong := index_store.fault(path):
        yield error("index", f"{path} {wrong}", REMADE, mend)
    elif inspection.number(path, "version") < index_store.SCHEMA.newest:
        yield hint("index", "it was written by an older version of djinn", INDEX, mend)
    else:
        yield from _writable("index", path)
        yield from _roomy("index", path)
        with inspection.opened_index(path) as connection:
            yield from _content(case, connection)
            yield from _notes(connection)


def _content(case: CheckedHome, connection: Connection) -> Iterator[Check]:
    content = inspection.index_content(connection)
    if outdated(connection):
        what = "its notes were divided into chunks by another version of djinn"
        yield warning("index", what, INDEX, case.reindexed)
    if others := len(set(content.vault_ids) - {vault.id for vault in case.home.vaults}):
        what = f"it contains {count(others, 'vault')} that the home no longer has"
        yield hint("index", what, INDEX, case.reindexed)
    deadline = time.monotonic() + LOOK_SECONDS
    present = [vault for vault in case.home.vaults if vault.root.is_dir()]
    notes = stale(connection, present, case.home.config.exclude, deadline)
    if notes.changed:
        what = f"{count(notes.changed, 'note')} new, changed or deleted since the last index run"
        yield hint("index", what, INDEX, case.reindexed)
    if content.waiting and case.home.config.embedding.provider != "none":
        what = f"{count(content.waiting, 'window')} not embedded yet (keyword matches only)"
        yield hint("index", what, INDEX, case.reindexed)
    yield ok("index", f"{count(content.notes, 'note')}")


def _notes(connection: Connection) -> Sequence[Check]:
    """Problems of notes that need a person's attention."""
    checks = [*_misread(connection), *_duplicates(connection)]
    return checks or [ok("notes", "all notes can be parsed and all ids are unique")]


def _misread(connection: Connection) -> Iterator[Check]:
    notes = inspection.misread_notes(connection)
    for place, problem in notes[:MOST_NAMED]:
        yield warning("notes", f"{place}: {problem}", "correct the note")
    if more := len(notes[MOST_NAMED:]):
        what = f"{count(more, 'more note')} with problems"
        yield warning("notes", what, Remedy("index", purpose="list all of them"))


def _duplicates(connection: Connection) -> Iterator[Check]:
    for identity, place, older in inspection.duplicate_ids(connection):
        both = f"{older} and {place} have the same id, {identity}"
        what = f"{both}; the older note, {older}, keeps it"
        yield warning("notes", what, f"write `id: {new_id()}` into {place}")


def _unusable(part: str, path: Path, schema: Schema) -> Check | None:
    if path.is_symlink():
        what = f"{path} is a symbolic link, which djinn does not follow"
        return error(part, what, "replace the link with the file")
    if inspection.held(path):
        return _held(part, path, "read")
    if version := newer_database(path, schema):
        what = f"{path} was made by a newer djinn (version {version})"
        return error(part, what, "update djinn")
    return None


def _held(part: str, path: Path, can: str) -> Check:
    what = f"{path} is locked by another process and cannot be {can}"
    return warning(part, what, "end that process, or try again when it has finished")


def _writable(part: str, path: Path) -> Iterator[Check]:
    # A djinn that indexes a large note may write for longer.
    locks = [path.with_name(f"{name}.lock") for name in ("index", "embed")]
    if inspection.held(path, written=True) and not any(map(is_locked, locks)):
        yield _held(part, path, "written")


def _roomy(part: str, path: Path) -> Iterator[Check]:
    free = inspection.free_bytes(path)
    if free > WASTE and free > path.stat().st_size // 2:
        what = f"{free / 1e6:,.0f} MB of {path.name} are unused"
        yield hint(part, what, FIX, lambda: f"freed {inspection.vacuum(path) / 1e6:,.0f} MB")


def server(case: CheckedHome) -> Iterator[Check]:
    """Check the Postgres server, if this home has one. An embedded server is not started."""
    home = case.home
    url = configured_url(home)
    if not url:
        return
    if folder := embedded_folder(home, url):
        if missing := missing_server(folder):
            yield warning("server", missing.message, current_wording().remedies(missing))
        else:
            yield ok("server", f"runs in {folder} when a command needs it")
        return
    try:
        with connected(home) as connection, connection.reading() as cursor:
            known = {str(scope.user_id) for scope in scopes(cursor)}
    except DjinnError as wrong:
        # All else works without the server.
        yield warning("server", wrong.message, current_wording().remedies(wrong))
        return
    for vault in home.synced:
        if vault.id in known:
            yield ok("server", f"{connection.address} has vault {vault.name}")
        else:
            what = f"{connection.address} does not have vault {vault.name}"
            yield warning("server", what, Remedy("sync.init", {}, "register it"))
