"""Brings the files of a vault to the state that a plan wants, with bytes from the server."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from uuid import UUID

from msgspec.structs import replace

from djinn_memory.errors import Changed, DjinnError, NotFound
from djinn_memory.memories.catalog.requests import PurgeMemory
from djinn_memory.memories.removal.purge import purge
from djinn_memory.models import Progress
from djinn_memory.notes.note_file import content_hash
from djinn_memory.store.ledger.sync_state import LOST, NoteBase, PlannedStep, bases, record_bases
from djinn_memory.store.postgres.notes import FETCH_BYTES, ServerNote, contents, states
from djinn_memory.sync.notes import derived
from djinn_memory.sync.notes.link import VaultLink
from djinn_memory.sync.notes.names import DIGITS, conflict_path, is_note, numbered_path, path_key
from djinn_memory.sync.notes.plan import NoteState, PullStep
from djinn_memory.system.interrupts import deferred

BATCH = 200
"""Number of files that are written before the ledger records them."""

DISK_REMEDIES = {
    errno.ENOSPC: "make room",
    errno.EDQUOT: "make room",
    errno.EROFS: "make the disk writable",
}
"""The errors that concern all files of a disk, and what helps."""


def planned(step: PullStep) -> PlannedStep | None:
    """The record of a step from which it is recognised after a kill; None without a new file."""
    if step.after is None or step.server is None:
        return None
    server = step.server
    return PlannedStep(
        step.note_id, "pull", step.after.path, step.after.hash, server.path, server.hash, server.rev
    )


def pull(link: VaultLink, steps: Sequence[PullStep]) -> dict[UUID, str | None]:
    """Carry out steps. Returns the notes that are done, each with the path of a conflict copy.

    A file that was changed since the plan was made is left for the next run.
    """
    done: dict[UUID, str | None] = {}
    remaining = [step for step in steps if not _is_purge(step) or _purge(link, step, done)]
    # Deletions and renames free paths for new notes.
    ordered = sorted(remaining, key=lambda step: (step.after is not None, step.before is None))
    waiting = {step.note_id: step for step in ordered}
    held = {path_key(step.before.path): step.note_id for step in ordered if step.before}
    while waiting:
        batch = _within_size(step for step in waiting.values() if not _blocked(step, held))
        if not batch:
            # Files that exchange their paths: the first makes room, under a name of its own.
            batch = [_make_room(link, next(iter(waiting.values())))]
        done |= _carry_out(link, batch)
        for step in batch:
            before = waiting.pop(step.note_id).before
            if before:
                held.pop(path_key(before.path), None)
        at = len(ordered) - len(waiting)
        link.runtime.progress(Progress("pull", at, len(ordered), link.vault.name))
    return done


def _is_purge(step: PullStep) -> bool:
    """Whether a step removes a note as it was purged in another home."""
    return step.purged and not step.after and bool(step.before and is_note(step.before.path))


def _purge(link: VaultLink, step: PullStep, done: dict[UUID, str | None]) -> bool:
    """Remove a note with all its copies and traces, and add it to `done`.

    Returns whether its file remains to be removed. It stays if the purge fails: it tells what must
    go.
    """
    assert step.before
    path = step.before.path
    try:
        if link.files.hash(path) != step.before.hash:
            return True
        request = PurgeMemory(name=f"{link.vault.name}:{path}")
        report = purge(link.runtime.state, [link.vault], request, elsewhere=True)
    except NotFound:
        # No memory of the index: what remains is removed as a file.
        return True
    except (DjinnError, OSError) as error:
        link.report_purge(path, error)
        return False
    for problem in report.problems:
        link.add(problem)
    record_bases(link.ledger, link.scope, {step.note_id: None})
    done[step.note_id] = None
    return False


def _blocked(step: PullStep, held: Mapping[str, UUID]) -> bool:
    """Whether the path of a step is that of a file which another step moves away."""
    if step.after is None:
        return False
    return held.get(path_key(step.after.path), step.note_id) != step.note_id


def _within_size(steps: Iterable[PullStep]) -> list[PullStep]:
    """The first steps, with no more bytes than are fetched at once. The others are not read."""
    batch: list[PullStep] = []
    size = 0
    for step in islice(steps, BATCH):
        size += step.server.size if step.server else 0
        if batch and size > FETCH_BYTES:
            break
        batch.append(step)
    return batch


def _make_room(link: VaultLink, step: PullStep) -> PullStep:
    assert step.before
    target = numbered_path(step.before.path, step.note_id)
    try:
        with link.runtime.state.vault_lock(link.vault), deferred():
            link.files.move(step.before.path, target)
    except (DjinnError, OSError) as error:
        link.report(step.before.path, str(error))
        return step
    return replace(step, before=NoteState(target, step.before.hash))


def _carry_out(link: VaultLink, steps: Sequence[PullStep]) -> dict[UUID, str | None]:
    wanted = [step.server for step in steps if step.server and _needs_bytes(step)]
    # Before the notes: after a kill they are no longer received, and would be embedded here.
    derived.fetch_vectors(link, [note.note_id for note in wanted])
    fetched = _fetch(link, wanted) if wanted else {}
    known = bases(link.ledger, link.scope, [step.note_id for step in steps])
    done: dict[UUID, str | None] = {}
    concluded: dict[UUID, NoteBase | None] = {}
    with ExitStack() as stack:
        stack.enter_context(link.runtime.state.vault_lock(link.vault))
        # Ctrl-C waits until the files are whole and the ledger knows them.
        stack.enter_context(deferred())
        try:
            for step in steps:
                data = fetched.get(step.note_id)
                if _needs_bytes(step) and data is None:
                    continue  # The server has a newer version by now, or a damaged one.
                try:
                    base = known.get(step.note_id)
                    done[step.note_id] = _apply(link, step, data, base)
                except Changed:
                    continue
                except DjinnError as error:
                    link.report(_path(step), error.message)
                except OSError as error:
                    _report(link, step, error)
                else:
                    concluded[step.note_id] = _base(step, base)
        finally:
            # A recorded file that is missing later counts as deleted by the user.
            link.files.flush()
            record_bases(link.ledger, link.scope, concluded)
    return done


def _fetch(link: VaultLink, notes: Sequence[ServerNote]) -> dict[UUID, bytes]:
    """The bytes of notes which still are as planned."""
    expected = {note.note_id: note.hash for note in notes}
    with link.server.reading() as cursor:
        fetched = {
            note_id: data
            for note_id, data in contents(cursor, link.scope, notes)
            if content_hash(data) == expected[note_id]
        }
        current = states(cursor, link.scope, [*expected.keys() - fetched.keys()])
    for note in notes:
        if note.note_id in current and current[note.note_id].rev == note.rev:
            link.report_row(note, "has not the bytes of its hash and size")
    return fetched


def _needs_bytes(step: PullStep) -> bool:
    return step.after is not None and (step.before is None or step.after.hash != step.before.hash)


def _apply(
    link: VaultLink, step: PullStep, data: bytes | None, base: NoteBase | None
) -> str | None:
    """Change the file of a step. Returns the path of the conflict copy, if one was made.

    Raises `Changed` if the file is not as planned.
    """
    files, before, after = link.files, step.before, step.after
    if link.base_texts and data is not None and after and is_note(after.path):
        link.base_texts.keep(data)
    if before is None:
        assert after and data is not None
        files.create(after.path, data)
        return None
    current = files.read(before.path)
    if current is None or content_hash(current) != before.hash:
        raise Changed(link.vault.root / before.path)
    copy = None
    if step.conflict:
        merged = None
        # The text on a restored server need not follow from a text that the server lost.
        known = base is not None and base.rev != LOST and is_note(before.path)
        if link.base_texts and base and known and data is not None:
            merged = link.base_texts.merged(base.hash, current, data)
        if merged is None:
            copy = _keep_copy(link, step, current)
        else:
            # The server follows with the next push.
            data = merged
    if after is None:
        files.remove(before.path, current, copies=not step.purged)
        return None
    if before.path != after.path:
        files.move(before.path, after.path)
    if data is not None:
        files.replace(after.path, data, current)
    return copy


def _keep_copy(link: VaultLink, step: PullStep, current: bytes) -> str:
    """Write the home's version beside the note. A copy that is there already is enough."""
    assert step.before
    digits = DIGITS
    while True:
        path = conflict_path(step.before.path, link.home_name, step.before.hash, digits)
        present = link.files.read(path)
        if present is None:
            link.files.create(path, current)
            # The text exists nowhere else once the note is replaced.
            link.files.flush()
        if present in (None, current):
            return path
        # Somebody edited the copy: it is a text of its own now.
        digits += 4


def _base(step: PullStep, before: NoteBase | None) -> NoteBase | None:
    if step.server is None:
        return before if step.after else None
    server = step.server
    # The next look at the file records its times: it may have been changed since it was written.
    base = NoteBase(server.path, server.hash, server.rev, conflict_of=server.conflict_of)
    return replace(base, uid=before.uid) if before else base


def _path(step: PullStep) -> str:
    state = step.after or step.before
    return state.path if state else ""


def _report(link: VaultLink, step: PullStep, error: OSError) -> None:
    """Add a problem with the file of a step. Of a full disk, the first file tells enough."""
    why = f"cannot be written: {error.strerror or error}"
    if remedy := DISK_REMEDIES.get(error.errno or 0):
        why += f"; {remedy}, then run the command again"
        if any(problem.why == why for problem in link.problems):
            return
    link.report(_path(step), why)
