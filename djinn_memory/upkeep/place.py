"""Looks at the home itself: its folders, settings, permissions, disk, and what dead runs left."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from djinn_memory.home.home import Home
from djinn_memory.home.watcher import watcher
from djinn_memory.system.disks import network, open_to, synced
from djinn_memory.system.files import is_abandoned, is_leftover
from djinn_memory.system.locks import is_locked
from djinn_memory.system.plural import count
from djinn_memory.upkeep.findings import (
    Check,
    CheckedHome,
    Mend,
    error,
    hint,
    ok,
    some,
    unlinking,
    warning,
)

LEAST = 20_000_000
"""Bytes of disk without which even a small write may fail."""


def home(case: CheckedHome) -> Iterator[Check]:
    """The home's own folder."""
    root = case.home.root
    if not os.access(root, os.W_OK):
        yield warning("home", f"{root} cannot be written", "mend the folder's permissions")
    elif open_to(root, 0o002):
        yield warning("home", f"every user of this machine can write {root}", f"chmod o-w {root}")
    elif open_to(root, 0o004):
        yield hint("home", f"every user of this machine can read {root}", f"chmod o-rwx {root}")
    else:
        yield ok("home", str(root))


def settings(case: CheckedHome) -> Iterator[Check]:
    """The settings, which have been read without an error."""
    found = list(_settings(case.home))
    yield from found or [ok("config", str(case.home.config_path))]


def _settings(home: Home) -> Iterator[Check]:
    for one in home.untrusted:
        yield warning(
            "config", f"this home is not trusted with {one}", "look at it, then run `djinn trust`"
        )
    if not home.vaults:
        what = f"{home.config_path} names no vault, so no note is read"
        yield warning("config", what, f"run `djinn init {home.root}`, `djinn vault add`")
    for vault in home.vaults:
        for inner in sorted(vault.inner):
            yield hint(
                "config",
                f"the folder {inner} of vault {vault.name} is a vault of its own, and its notes "
                "are found there alone",
            )


def state(case: CheckedHome) -> Iterator[Check]:
    """The folder of the databases."""
    folder = case.home.state
    if not folder.exists():
        yield hint("state", f"{folder} is not there yet", "run `djinn index`", _making(folder))
        return
    if not folder.is_dir():
        yield error("state", f"{folder} is no folder", "move it away, or set state_dir")
        return
    found = list(_state(folder))
    yield from found or [ok("state", str(folder))]


def _state(folder: Path) -> Iterator[Check]:
    if not os.access(folder, os.W_OK | os.X_OK):
        what = f"{folder} cannot be written, so that nothing new is indexed"
        yield error("state", what, "mend its permissions, or set state_dir in config.yaml")
    elif open_to(folder, 0o002):
        what = f"every user of this machine can write {folder}"
        yield warning("state", what, f"chmod o-w {folder}")
    if kind := network(folder):
        what = f"{folder} lies on a network drive ({kind}), where databases break"
        yield warning("state", what, "set state_dir in config.yaml to a folder of this machine")
    if above := synced(folder):
        what = f"{folder} lies in {above}, which a sync client copies: databases break of that"
        yield hint("state", what, "set state_dir in config.yaml to a folder outside")
    shut = [one.name for one in sorted(folder.iterdir()) if not os.access(one, os.R_OK | os.W_OK)]
    if shut:
        what = f"{some(shut)} in {folder} cannot be read and written by you"
        yield error("state", what, "mend the files' permissions or owner")


def _making(folder: Path) -> Mend:
    def mend() -> str:
        folder.mkdir(parents=True, exist_ok=True)
        return "made it"

    return mend


def disk(case: CheckedHome) -> Iterator[Check]:
    """Whether there is room for what an index run writes."""
    folder = next(one for one in (case.home.state, *case.home.state.parents) if one.is_dir())
    free = shutil.disk_usage(folder).free
    # An index is made anew beside the old one, and SQLite writes twice what it commits.
    names = (case.home.index_path, case.home.embeddings_path)
    need = LEAST + 3 * sum(one.stat().st_size for one in names if one.is_file())
    what = f"{_size(free)} free on the disk of {folder}"
    if free < LEAST:
        yield error("disk", f"only {what}: nothing can be indexed", "make room")
    elif free < need:
        yield warning("disk", f"only {what}, an index run may need {_size(need)}", "make room")
    else:
        yield ok("disk", what)


def leftovers(case: CheckedHome) -> Iterator[Check]:
    """What killed processes left in the home: locks, half-written files."""
    found = [*_locks(case.home.state), *_scratch(case.home), *_set_aside(case.home.state)]
    yield from found or [ok("leftovers", "none")]
    if process := watcher(case.home):
        yield ok("watch", f"process {process} follows the vaults")


def _locks(folder: Path) -> Iterator[Check]:
    stale = [one for one in sorted((folder / "locks").glob("ingest-*.lock")) if not is_locked(one)]
    if stale:
        what = f"locks left by {count(len(stale), 'ended run')} of ingest"
        yield hint("leftovers", what, "run `djinn doctor --fix`", unlinking(stale))


def _scratch(home: Home) -> Iterator[Check]:
    folders = [one for one in (home.root, home.state) if one.is_dir()]
    left = [one for folder in folders for one in folder.iterdir() if is_leftover(one)]
    left += [one for one in home.state.glob("ledger.db.recovering*") if is_abandoned(one)]
    if left:
        what = f"a killed process left {some([one.name for one in left])}"
        yield hint("leftovers", what, "run `djinn doctor --fix`", unlinking(left))


def _set_aside(folder: Path) -> Iterator[Check]:
    kept = sorted(folder.glob("*.db.corrupt-*")) if folder.is_dir() else []
    if kept:
        size = sum(one.stat().st_size for one in kept)
        names = [one.name for one in kept if not one.name.endswith(("-wal", "-shm"))]
        what = f"{some(names)}, set aside, take {_size(size)}"
        yield hint("leftovers", what, "delete them when you are sure that nothing is missing")


def _size(number: int) -> str:
    return f"{number / 1e9:,.1f} GB" if number >= 1e9 else f"{number / 1e6:,.1f} MB"
