"""Writes the changes of a plan to the server, each only if nobody was faster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from uuid import UUID

from djinn_memory.errors import DjinnError
from djinn_memory.indexing.indexer import LARGE_BYTES
from djinn_memory.models import Progress, extended
from djinn_memory.notes.note_file import content_hash
from djinn_memory.store.ledger.sync_state import NoteBase, PlannedStep, record_bases
from djinn_memory.store.postgres.notes import ServerChange, announce, write
from djinn_memory.sync.notes import derived
from djinn_memory.sync.notes.link import Unfinished, VaultLink
from djinn_memory.sync.notes.names import is_note, path_key
from djinn_memory.sync.notes.plan import PushStep

BATCH = 500
BATCH_BYTES = 8_000_000
"""Maximum size of the files in a transaction. A lost connection costs no more. All rows of a
transaction are in memory: the vectors and token signs of a text take 14 times its size."""

Batch = list[tuple[PushStep, bytes | None]]


def planned(step: PushStep) -> PlannedStep | None:
    """The record of a step from which it is recognised after a kill; None for a deletion."""
    if step.after is None:
        return None
    return PlannedStep(step.note_id, "push", step.path, step.hash, step.path, step.hash, step.rev)


def push(link: VaultLink, steps: Sequence[PushStep]) -> set[UUID]:
    """Carry out steps. Returns the notes that are done. The others are unfinished.

    A file that was changed since the plan was made is left for the next run.
    """
    done: set[UUID] = set()
    for step in steps:
        link.unfinished[step.note_id] = Unfinished(step.path, "unsent")
    # Deletions and renames free paths for new notes.
    ordered = sorted(steps, key=lambda step: (step.after is not None, not step.rev, step.path))
    at = 0
    for batch, at in _batches(link, ordered):
        for step, data in batch:
            size = len(data or b"")
            if size >= LARGE_BYTES and is_note(step.path):
                text = f"sending {link.vault.name}/{step.path} ({size / 1e6:,.0f} MB)"
                link.runtime.progress(Progress("wait", 0, None, text))
        accepted = _push(link, batch)
        done |= accepted
        for step, _ in batch:
            link.unfinished[step.note_id] = Unfinished(step.path, "overtaken")
            if step.note_id in accepted:
                del link.unfinished[step.note_id]
        link.runtime.progress(Progress("push", at, len(ordered), link.vault.name))
    if done:
        derived.finish_load(link, len(done))
    return done


def _batches(link: VaultLink, steps: Sequence[PushStep]) -> Iterator[tuple[Batch, int]]:
    """Steps with the bytes of their files, and the number of steps up to there."""
    batch: Batch = []
    size = 0
    for at, step in enumerate(steps):
        data = _read(link, step) if step.after else None
        if step.after and data is None:
            continue
        if batch and (len(batch) >= BATCH or size + len(data or b"") > BATCH_BYTES):
            yield batch, at
            batch, size = [], 0
        batch.append((step, data))
        size += len(data or b"")
    if batch:
        yield batch, len(steps)


def _read(link: VaultLink, step: PushStep) -> bytes | None:
    """The bytes of the file of a step; None if they are not as planned."""
    try:
        data = link.files.read(step.path)
    except OSError as error:
        link.report(step.path, f"cannot be read: {error.strerror or error}")
        return None
    except DjinnError as error:
        link.report(step.path, error.message)
        return None
    return data if data is not None and content_hash(data) == step.hash else None


def _push(link: VaultLink, batch: Batch) -> set[UUID]:
    notes, others = list[ServerChange](), list[ServerChange]()
    for step, data in batch:
        change = extended(step, ServerChange, key=path_key(step.path), content=data)
        (notes if is_note(step.path) else others).append(change)
    with link.writing() as writer:
        accepted = write(writer, link.home_id, "notes", notes)
        derived.write(link, writer, notes, accepted)
        accepted |= write(writer, link.home_id, "attachments", others)
        announce(writer)
    states = {
        step.note_id: _base(step, writer.rev) for step, _ in batch if step.note_id in accepted
    }
    record_bases(link.ledger, link.scope, states)
    if link.base_texts:
        for step, data in batch:
            if step.note_id in accepted and data is not None and is_note(step.path):
                link.base_texts.keep(data)
    return accepted


def _base(step: PushStep, rev: int) -> NoteBase | None:
    if step.after is None:
        return None
    return NoteBase(step.path, step.hash, rev, step.uid, step.stat, conflict_of=step.conflict_of)
