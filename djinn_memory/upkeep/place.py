"""Checks of the home: folders, settings, permissions, disk space, hooks, leftovers of processes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from djinn_memory.errors import Remedy
from djinn_memory.home.home import Home
from djinn_memory.home.watcher import watcher
from djinn_memory.home.written_backups import written_backups
from djinn_memory.memories.changes.commit import recover
from djinn_memory.memories.changes.plan import KeptBytes
from djinn_memory.memories.hooks.installation import hook_state
from djinn_memory.memories.sessions.background import LOCK, LOG
from djinn_memory.notes.dates import local_minute
from djinn_memory.system.disks import network, open_to_everyone, synced
from djinn_memory.system.files import is_abandoned, is_leftover, make_folder
from djinn_memory.system.locks import is_locked
from djinn_memory.system.plural import count
from djinn_memory.upkeep.findings import (
    FIX,
    INDEX,
    Check,
    CheckedHome,
    error,
    hint,
    ok,
    privacy,
    removing,
    some,
    warning,
)

LEAST = 20_000_000
"""Minimum free bytes: with less, even a small write may fail."""


def home(case: CheckedHome) -> Iterator[Check]:
    """Check the home's own folder."""
    root = case.home.root
    if not os.access(root, os.W_OK):
        yield warning("home", f"{root} cannot be written", "correct the permissions of the folder")
    elif open_to_everyone(root, 0o002):
        yield warning("home", f"every user of this machine can write {root}", f"chmod o-w {root}")
    else:
        yield ok("home", str(root))


def settings(case: CheckedHome) -> Iterator[Check]:
    """Check the settings, which were already read without an error."""
    checks = list(_settings(case.home))
    yield from checks or [ok("config", str(case.home.config_path))]


def _settings(home: Home) -> Iterator[Check]:
    for endpoint in home.untrusted:
        what = f"the {endpoint} is ignored because it is not trusted"
        yield warning(
            "config", what, Remedy("config.trust", purpose="allow it after you have checked it")
        )
    if not home.vaults:
        what = f"{home.config_path} lists no vault, so no note is indexed"
        yield warning("config", what, Remedy("init", {"folder": str(home.root)}))
    for vault in home.vaults:
        for inner in sorted(vault.inner):
            what = f"the folder {inner} of vault {vault.name} is a separate vault"
            yield hint("config", f"{what}, and its notes belong to that vault only")


def state(case: CheckedHome) -> Iterator[Check]:
    """Check the folder of the databases."""
    folder = case.home.state
    if not folder.exists():

        def make() -> str:
            make_folder(folder, private=True)
            return "created it"

        yield hint("state", f"{folder} does not exist yet", INDEX, make)
        return
    if not folder.is_dir():
        yield error("state", f"{folder} is not a folder", "move the file, or set state_dir")
        return
    checks = list(_state(folder))
    yield from checks or [ok("state", str(folder))]


def _state(folder: Path) -> Iterator[Check]:
    if not os.access(folder, os.W_OK | os.X_OK):
        what = f"{folder} is not writable, so new notes are not indexed"
        yield error("state", what, "correct its permissions, or set state_dir in config.yaml")
    yield from privacy("state", folder)
    if kind := network(folder):
        what = f"{folder} is on a network drive ({kind}), which can damage databases"
        yield warning("state", what, "set state_dir in config.yaml to a local folder")
    if above := synced(folder):
        what = f"{folder} is inside {above}, which a sync client copies; this can damage databases"
        yield hint("state", what, "set state_dir in config.yaml to a folder outside")
    entries = sorted(folder.iterdir())
    if shut := [path.name for path in entries if not os.access(path, os.R_OK | os.W_OK)]:
        what = f"{some(shut)} in {folder} cannot be read and written by the current user"
        yield error("state", what, "correct the permissions or the owner of the files")


def disk(case: CheckedHome) -> Iterator[Check]:
    """Check whether the disk has room for an index run."""
    folder = next(path for path in (case.home.state, *case.home.state.parents) if path.is_dir())
    free = shutil.disk_usage(folder).free
    # An index is made anew beside the old one, and SQLite writes each commit twice.
    databases = (case.home.index_path, case.home.embeddings_path)
    need = LEAST + 3 * sum(path.stat().st_size for path in databases if path.is_file())
    what = f"{_size(free)} free on the disk of {folder}"
    if free < LEAST:
        yield error("disk", f"only {what}: nothing can be indexed", "free disk space")
    elif free < need:
        what = f"only {what}; an index run may need {_size(need)}"
        yield warning("disk", what, "free disk space")
    else:
        yield ok("disk", what)


def leftovers(case: CheckedHome) -> Iterator[Check]:
    """Find leftovers of killed processes in the home: locks, partial files."""
    checks = [*_locks(case.home.state), *_scratch(case.home), *_set_aside(case.home.state)]
    checks += _changes(case)
    yield from checks or [ok("leftovers", "none")]
    if process := watcher(case.home):
        yield ok("watch", f"process {process} is watching the vaults")


def _locks(folder: Path) -> Iterator[Check]:
    locks = sorted((folder / "locks").glob("ingest-*.lock"))
    if stale := [path for path in locks if not is_locked(path)]:
        what = f"locks left by {count(len(stale), 'ended run')} of ingest"
        yield hint("leftovers", what, FIX, removing(stale))


def _scratch(home: Home) -> Iterator[Check]:
    folders = [folder for folder in (home.root, home.state) if folder.is_dir()]
    left = [path for folder in folders for path in folder.iterdir() if is_leftover(path)]
    left += [path for path in home.state.glob("ledger.db.recovering*") if is_abandoned(path)]
    if left:
        what = f"an interrupted process left {some([path.name for path in left])}"
        yield hint("leftovers", what, FIX, removing(left))


def _set_aside(folder: Path) -> Iterator[Check]:
    damaged = sorted(folder.glob("*.db.corrupt-*")) if folder.is_dir() else []
    if damaged:
        size = sum(path.stat().st_size for path in damaged)
        names = [path.name for path in damaged if not path.name.endswith(("-wal", "-shm"))]
        what = f"{some(names)}, set aside earlier, take {_size(size)}"
        yield hint("leftovers", what, "delete them when nothing is missing")


def _changes(case: CheckedHome) -> Iterator[Check]:
    """Find changes of notes that were interrupted, and say what the bytes for an undo take."""
    store = KeptBytes(case.home)
    # A change set that is at work holds the lock.
    if (pending := store.pending()) and not is_locked(case.home.state / "changes.lock"):

        def mend() -> str:
            recover(case.state)
            return "took back what it had changed"

        what = f"{count(len(pending), 'interrupted change')} of notes to take back"
        yield warning("leftovers", what, FIX, mend)
    if ids := store.ids():
        what = (
            f"{count(len(ids), 'change')} can be taken back; the bytes take {_size(store.size())}"
        )
        yield ok("undo", what)


def backups(case: CheckedHome) -> Iterator[Check]:
    """Say when the last backup was written."""
    written = written_backups(case.home)
    if not written:
        yield ok("backup", "none was written yet", Remedy("backups.create"))
        return
    last = written[-1]
    gone = "" if last.left else ", which is no longer as it was written"
    yield ok("backup", f"the last one, of {local_minute(last.created)}, is {last.file}{gone}")


def _size(number: int) -> str:
    return f"{number / 1e9:,.1f} GB" if number >= 1e9 else f"{number / 1e6:,.1f} MB"


MOST_LOG = 300
"""Bytes of the log of an extraction that a finding quotes."""

RECENT = timedelta(days=7)
"""A loss that is older is no finding any more. `djinn hook status` still counts it."""


def hooks(case: CheckedHome) -> Iterator[Check]:
    """Check that installed hooks can record, and that their events were recorded."""
    state = hook_state(case.home)
    checks = []
    for hook in state.hooks:
        if hook.fault:
            again = Remedy("hooks.install", {"client": hook.client}, "install them anew")
            what = f"the hooks in {hook.path} do not work: {hook.fault}"
            checks.append(warning("hooks", what, again))
    for line in state.unreadable:
        checks.append(warning("hooks", line))
    if state.full:
        what = f"the spool of hooks is full; {count(state.refused, 'event')} refused so far"
        checks.append(warning("hooks", what, INDEX))
    elif (lost := state.refused + state.skipped) and _is_recent(state.lost_at):
        why = f" ({state.reason})" if state.reason else ""
        what = f"{count(lost, 'event')} of hooks could not be recorded{why}"
        checks.append(hint("hooks", what, Remedy("hooks.status", purpose="see the counts")))
    if state.hooks and not checks:
        clients = ", ".join(dict.fromkeys(hook.client for hook in state.hooks))
        checks.append(ok("hooks", f"installed for {clients}"))
    yield from checks


def _is_recent(time: str | None) -> bool:
    return time is None or datetime.now(UTC) - datetime.fromisoformat(time) < RECENT


def sessions(case: CheckedHome) -> Iterator[Check]:
    """Check whether the last extraction that the start or end of a session started has failed."""
    log = case.home.state / LOG
    text = log.read_bytes()[:MOST_LOG].decode("utf-8", "replace").strip() if log.is_file() else ""
    if text and not is_locked(case.home.state / LOCK):
        what = f"the extraction of idle sessions failed: {' '.join(text.split())}"
        yield warning("sessions", what, Remedy("sessions.extract"))
