"""Carries out a plan so that a kill at any moment leaves all of it done or none of it.

The plan and the bytes before it are kept, then the files change, then the ledger learns that the
plan is done. The next writer takes back a change that was interrupted in between. If all
files had changed, it records the plan instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress

from msgspec import Struct, field
from msgspec.structs import replace

from djinn_memory.errors import Busy, DjinnError, Unavailable
from djinn_memory.indexing.refresh import Searchable, index_notes
from djinn_memory.memories.changes import files
from djinn_memory.memories.changes.plan import (
    DONE,
    PLANNED,
    ChangePlan,
    FileChange,
    KeptBytes,
    RecordedChange,
)
from djinn_memory.models import Problem, Vault
from djinn_memory.notes.ids import crockford
from djinn_memory.runtime import Runtime
from djinn_memory.store.ledger import Event
from djinn_memory.store.ledger.reading import events_of
from djinn_memory.store.state import State
from djinn_memory.system.files import saved_ns
from djinn_memory.system.interrupts import deferred
from djinn_memory.system.locks import lock
from djinn_memory.system.waits import GLANCE_SECONDS

_LOCK = "changes.lock"

LOCK_SECONDS = 30.0
"""Maximum wait for another change set without progress."""

Content = Mapping[tuple[str, str], bytes | None]
"""The bytes of files by vault id and path; None for a file that does not exist."""

Times = Mapping[tuple[str, str], int | None]
"""The times when files were last saved, in nanoseconds since 1970, by vault id and path."""


class Commit(Struct):
    """The result of a change set."""

    id: str | None = None
    """`chg_` and ten characters; None if nothing was to be changed."""
    problems: list[Problem] = field(default_factory=list)
    """Problems that keep the notes from being searchable at once."""


@contextmanager
def locked(state: State, vaults: Sequence[Vault]) -> Iterator[None]:
    """Lock out other change sets of the home, and other writers of these vaults.

    Files that an interrupted change set wrote are restored first.
    """
    with ExitStack() as stack:
        stack.enter_context(lock(state.home.state / _LOCK, timeout=LOCK_SECONDS))
        _recover(state, LOCK_SECONDS)
        for vault in sorted(vaults, key=lambda vault: vault.id):
            stack.enter_context(state.vault_lock(vault))
        # Ctrl-C waits until the files are whole.
        stack.enter_context(deferred())
        yield


def commit(
    runtime: Runtime,
    plan: ChangePlan,
    before: Content,
    after: Content,
    times: Times | None = None,
    *,
    must_record: bool = True,
) -> Commit:
    """Carry out a plan under the locks of its vaults.

    Either all files change, or none and an error is raised. `times` are the times of saving that
    files get. Without `must_record`, the files stay changed when the ledger cannot be written. The
    next writer then records one write, and any other change has a problem in place of an id.
    """
    state, identity = runtime.state, f"chg_{crockford(50)}"
    vaults = {vault.id: vault for vault in state.home.vaults}
    store, plan = KeptBytes(state.home), replace(plan, by=runtime.caller)
    keys = [(file.vault, file.path) for file in plan.files]
    old = {number: data for number, key in enumerate(keys) if (data := before.get(key)) is not None}
    saved = {
        number: saved_ns(files.writable_place(vaults[vault], path))
        for number, (vault, path) in enumerate(keys)
        if plan.files[number].moved is None
    }
    try:
        store.keep(identity, plan, old, saved)
    except OSError as error:
        why = f"{store.folder} cannot be written: {error.strerror}"
        raise Unavailable(
            f"{why}; nothing was changed; check the disk and its permissions"
        ) from None
    changed = False
    try:
        for file, key in zip(plan.files, keys, strict=True):
            time = (times or {}).get(key)
            files.apply(vaults[file.vault], file, after.get(key), time, plan.trash)
        changed = True
        _record(state, identity, plan)
    except BaseException as error:
        if changed and not must_record and isinstance(error, DjinnError):
            if plan.is_one_write:
                # It stays pending until the next writer can record it.
                return Commit(identity)
            store.drop(identity)
            return Commit(problems=[Problem("undo", f"the change cannot be taken back: {error}")])
        _take_back(state, identity, plan)
        raise
    return Commit(identity)


def _record(state: State, identity: str, plan: ChangePlan) -> None:
    """Record a plan whose files have changed."""
    events = [plan.event(identity), Event(DONE, identity, {})]
    state.ledger.append(events, durable=not plan.is_one_write)
    store = KeptBytes(state.home)
    # An empty folder for each episode would slow every later change down.
    (store.drop if plan.is_appended else store.finish)(identity)


def index_changed(runtime: Runtime, plan: ChangePlan, result: Commit) -> None:
    """Make the changed notes searchable, after the locks were released."""
    vaults = {vault.id: vault for vault in runtime.home.vaults}
    for key in dict.fromkeys(file.vault for file in plan.files):
        paths = [file.path for file in plan.files if file.vault == key]
        make_searchable(runtime, vaults[key], paths, result.problems)


def make_searchable(
    runtime: Runtime, vault: Vault, paths: Sequence[str], problems: list[Problem]
) -> Searchable:
    """Index notes that were written into a vault. A failure is added to the problems."""
    try:
        return index_notes(runtime.state, runtime.models, vault, paths)
    except DjinnError as error:
        # The notes are whole: the next search reads them.
        problems.append(Problem("index", str(error)))
        return "later"


def recover(state: State) -> None:
    """Take back or record the changes of interrupted change sets.

    It stays while another process is at work, or while the ledger cannot be used.
    This costs nothing when no change set is pending.
    """
    if KeptBytes(state.home).pending():
        with suppress(Busy, Unavailable), lock(state.home.state / _LOCK, timeout=0), deferred():
            _recover(state, GLANCE_SECONDS)


def recover_before_reading(state: State) -> None:
    """Take back the changes of interrupted change sets, before all notes are read.

    A state folder that cannot be written keeps it until it can be.
    """
    with suppress(DjinnError, OSError):
        recover(state)


def _recover(state: State, seconds: float) -> None:
    store = KeptBytes(state.home)
    for identity in store.pending():
        # An older version of djinn kept no plan beside the bytes.
        [event, *_] = [*events_of(state.ledger, (PLANNED,), (identity,)), None]
        recorded = RecordedChange.of(event) if event else None
        plan = store.plan(identity) or (recorded.plan if recorded else None)
        if plan is None:
            store.drop(identity)
            continue
        ids = {file.vault for file in plan.files}
        with ExitStack() as stack:
            for vault in sorted(state.home.vaults, key=lambda vault: vault.id):
                if vault.id not in ids:
                    continue
                stack.enter_context(state.vault_lock(vault, timeout=seconds))
            # It may have been at work, and not interrupted.
            if identity in store.pending():
                _end(state, identity, plan)


def _end(state: State, identity: str, plan: ChangePlan) -> None:
    """Record a change set that was interrupted, or take it back, under the locks of its vaults."""
    if events_of(state.ledger, (DONE,), (identity,)):
        KeptBytes(state.home).finish(identity)
    elif KeptBytes(state.home).plan(identity) and _is_complete(
        {vault.id: vault for vault in state.home.vaults}, plan
    ):
        _record(state, identity, plan)
    else:
        _take_back(state, identity, plan)


def _is_complete(vaults: Mapping[str, Vault], plan: ChangePlan) -> bool:
    """Whether all files are as they are after a plan."""
    with suppress(OSError, DjinnError):
        return all(
            file.vault in vaults and files.state(vaults[file.vault], file) == file.after
            for file in plan.files
        )
    return False


def _take_back(state: State, identity: str, plan: ChangePlan) -> None:
    """Take back the steps of a plan that were made."""
    store = KeptBytes(state.home)
    vaults = {vault.id: vault for vault in state.home.vaults}
    try:
        edited = _restored(vaults, plan, store, identity)
        files.remove_folders(vaults, plan.folders)
    except (OSError, DjinnError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        text = f"{plan.command} was interrupted and cannot be taken back now: {why}"
        problem = Problem(str(store.folder), f"{text}; the next command that writes tries it again")
        state.problems.append(problem)
        return
    if not edited or plan.is_one_write:
        store.drop(identity)
        return
    store.finish(identity)
    for file in edited:
        where = f"{vaults[file.vault].name}/{file.path}" if file.vault in vaults else file.path
        why = (
            f"was edited while an interrupted {plan.command} was taken back, and stays as it is; "
            f"compare it with the files in {store.folder / identity}"
        )
        state.problems.append(Problem(where, why))


def _restored(
    vaults: Mapping[str, Vault], plan: ChangePlan, store: KeptBytes, identity: str
) -> list[FileChange]:
    """Take back the changes of files that were made, last first.

    A file that somebody has changed meanwhile stays as it is. Returns those files.
    """
    edited = []
    for number, file in reversed([*enumerate(plan.files)]):
        vault = vaults.get(file.vault)
        state = files.state(vault, file) if vault else ""
        if vault and state == file.before:
            continue
        keeps = file.before is not None and file.moved is None
        data = store.read(identity, number) if keeps else None
        if vault is None or state != file.after or (keeps and data is None):
            edited.append(file)
        else:
            files.apply(vault, file.reversed(), data, store.saved_ns(identity, number))
    return edited
