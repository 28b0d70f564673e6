"""The jobs that remove expired data: facts, old trash, and bytes kept for an undo."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from djinn_memory.home.access import is_own
from djinn_memory.memories.changes.plan import KeptBytes
from djinn_memory.memories.facts.writer import mark_expired, unmarked_expired
from djinn_memory.models import Problem, Vault
from djinn_memory.notes.vault import TRASH
from djinn_memory.upkeep.jobs.job import Job, JobContext, JobReport
from djinn_memory.upkeep.requests import JobAction


def _expire(context: JobContext) -> JobReport:
    facts = unmarked_expired(context.runtime, context.vaults)
    problems: list[Problem] = []
    if not context.dry_run:
        facts, problems = mark_expired(context.runtime, facts)
    verb = "is to be marked" if context.dry_run else "is marked"
    actions = []
    for fact in facts:
        what = f"{fact.category}/{fact.key} {verb} as expired"
        actions.append(JobAction("expire", what, fact.vault.name, fact.path))
    return JobReport(tuple(actions), tuple(problems))


EXPIRE = Job(
    "expire",
    every=timedelta(days=1),
    does="Marks facts whose time is over as expired.",
    cost="Reads the facts in the index, and edits a line of each fact that has expired.",
    run=_expire,
)


def _empty_trash(context: JobContext) -> JobReport:
    age = timedelta(days=context.runtime.home.config.upkeep.keep_days)
    limit = (context.runtime.now() - age).timestamp()
    verb = "is to be deleted" if context.dry_run else "was deleted"
    actions: list[JobAction] = []
    problems: list[Problem] = []
    for vault in context.vaults:
        # Other vaults belong to the user, and so does their trash.
        if vault.read_only or not is_own(vault):
            continue
        for file in _old(vault, limit):
            path = file.relative_to(vault.root).as_posix()
            try:
                if not context.dry_run:
                    file.unlink()
            except OSError as error:
                why = f"was not deleted: {error.strerror}"
                problems.append(Problem(f"{vault.name}/{path}", why))
            else:
                actions.append(JobAction("trash", f"{verb} from the trash", vault.name, path))
        if not context.dry_run:
            _remove_empty_folders(vault.root / TRASH)
    # The changes of a home may be in vaults that an agent does not see.
    whole = context.vaults == context.runtime.home.vaults
    store = KeptBytes(context.runtime.home)
    pending = set(store.pending())
    for identity in store.ids() if whole else ():
        if identity in pending or store.changed(identity) >= limit:
            continue
        what = "can no longer be taken back" if not context.dry_run else "is to be forgotten"
        actions.append(JobAction("trash", f"{identity} {what}"))
        if not context.dry_run:
            store.drop(identity)
    return JobReport(tuple(actions), tuple(problems))


def _old(vault: Vault, limit: float) -> Iterator[Path]:
    """The files in the trash of a vault that were moved there before `limit`."""
    root = vault.root / TRASH
    if root.is_symlink() or not root.is_dir():
        return
    for path in sorted(root.rglob("*")):
        with suppress(OSError):
            # A move keeps the time of the last save. It sets the time of the last change of status.
            if (path.is_symlink() or path.is_file()) and path.lstat().st_ctime < limit:
                yield path


def _remove_empty_folders(root: Path) -> None:
    if root.is_symlink():
        return
    for folder in sorted(root.rglob("*"), reverse=True):
        with suppress(OSError):
            if folder.is_dir() and not folder.is_symlink():
                folder.rmdir()


DELETE = Job(
    "trash",
    every=timedelta(days=1),
    does="Deletes what has been in the `.trash/` of djinn's own vaults for `upkeep.keep_days`.",
    cost="Lists the trash of the vaults that djinn manages. Deletes files that were moved there "
    "more than `upkeep.keep_days` ago, and the bytes that `djinn undo` needs for changes as old.",
    run=_empty_trash,
)
