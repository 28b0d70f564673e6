"""Synchronizes a vault with the server: pulls, pushes, and starts again where another was faster.

Every run compares states. What a killed run left behind is therefore found by the next one; the
plan in the ledger only tells it which changes were its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal, TypeVar
from uuid import UUID

from msgspec import Struct, field
from msgspec.structs import replace

from djinn_memory.errors import DjinnError, Refused, Remedy, Unavailable
from djinn_memory.store.ledger import sync_state, uuid7
from djinn_memory.store.ledger.sync_state import NoteBase, PlannedStep, ScopeState
from djinn_memory.store.postgres import notes as server_notes
from djinn_memory.store.postgres.connection import reading
from djinn_memory.store.postgres.notes import ServerHead, ServerNote
from djinn_memory.sync.notes import pull, push, vectors
from djinn_memory.sync.notes.link import VaultLink
from djinn_memory.sync.notes.listing import list_files, list_notes, unlisted
from djinn_memory.sync.notes.names import is_note
from djinn_memory.sync.notes.plan import PullStep, PushStep, SyncPlan, SyncStates, make_plan

S = TypeVar("S", NoteBase, ServerNote)

Direction = Literal["pull", "push", "both"]

MANY = 20
"""Fewer deletions than this are never taken for an unplugged disk."""

ROUNDS = 20
"""Number of times that a run starts again when other homes write at the same time."""


class Exchanged(Struct):
    """What a run changed, or a dry run would change."""

    received: int = 0
    """Notes and attachments that were written here."""
    removed: int = 0
    """Notes and attachments that were moved to the trash here."""
    sent: int = 0
    """Notes and attachments that were written on the server."""
    withdrawn: int = 0
    """Notes and attachments that were deleted on the server."""
    conflicts: list[str] = field(default_factory=list)
    """Paths of conflict copies that were made here."""
    waiting: list[str] = field(default_factory=list)
    """Paths that could not be synchronized now."""
    too_large: list[str] = field(default_factory=list)
    """Paths of attachments that are too large to be sent."""


class _Snapshot(Struct):
    """What the server says at one moment."""

    head: ServerHead
    mark: dict[int, UUID]
    notes: dict[UUID, ServerNote]


def exchange(
    link: VaultLink,
    direction: Direction = "both",
    *,
    dry_run: bool = False,
) -> Exchanged:
    """Synchronize a vault. The caller holds the home's lock for synchronization.

    Raises `Unavailable` if other homes write faster than this one, and `Refused` if the server has
    vectors of another model.
    """
    result = Exchanged()
    vectors.check_model(link)
    _recover(link)
    doubtful: set[UUID] = set()
    for _ in range(ROUNDS):
        state = _agree_on_history(link)
        bases = _exchanged(link, sync_state.bases(link.ledger, link.scope))
        files = list_files(link, bases)
        snapshot = _look(link, state, bases.keys(), doubtful)
        if snapshot.head.purged_rev > state.rev:
            # Deletions that this home has not seen were forgotten.
            state = replace(state, whole=True)
        left = unlisted(link, files, bases)
        states = SyncStates(files, bases, _exchanged(link, snapshot.notes), state, left)
        plan = make_plan(states, link.scope, link.home_name, lambda: UUID(uuid7()))
        if dry_run:
            return _foreseen(plan, direction)
        if direction != "pull":
            _check_deletions(link, plan, len(bases))
        pulled, pushed, lost = _carry_out(link, plan, direction, result)
        doubtful |= lost
        behind = _behind(plan, pulled, left, snapshot, state)
        if not (pulled or pushed or lost):
            _finish(link, snapshot, state, behind)
            vectors.embed(link)
            if link.base_texts:
                link.base_texts.prune({base.hash for base in bases.values()})
            unsent = [step.path for step in plan.pushes if direction != "pull"]
            result.waiting = sorted({*behind.values(), *unsent})
            result.too_large = list(link.too_large)
            return result
    raise Unavailable(
        f"other homes change vault {link.vault.name} faster than this one can follow",
        Remedy(purpose="run the command again"),
    )


def _check_deletions(link: VaultLink, plan: SyncPlan, known: int) -> None:
    """Raise `Refused` if most notes are missing: a disk may be unplugged, or a folder moved."""
    missing = sum(step.after is None and not step.purged for step in plan.pushes)
    if missing >= MANY and missing > known / 2 and not link.deletes_many:
        raise Refused(
            f"{missing:,} of {known:,} notes of vault {link.vault.name} are missing in "
            f"{link.vault.root}; restore the folder",
            Remedy(arguments={"delete_many": True}, purpose="delete them on the server"),
        )


def _exchanged(link: VaultLink, states: Mapping[UUID, S]) -> dict[UUID, S]:
    """The states of what this home exchanges: notes, and attachments if it takes them."""
    taken = link.attachment_bytes > 0
    return {note_id: state for note_id, state in states.items() if taken or is_note(state.path)}


def _recover(link: VaultLink) -> None:
    """Conclude the steps of an interrupted run that were carried out."""
    steps = sync_state.steps(link.ledger, link.scope)
    if not steps:
        return
    with reading(link.connection, link.address) as cursor:
        ids = [step.note_id for step in steps if step.step == "push"]
        current = server_notes.states(cursor, link.scope, ids)
    states: dict[UUID, NoteBase | None] = {}
    for step in steps:
        if step.step == "pull" and _has(link, step):
            states[step.note_id] = NoteBase(step.server_path, step.server_hash, step.rev)
        note = current.get(step.note_id)
        if step.step == "pull" or note is None or note.deleted or note.rev <= step.rev:
            continue
        if (note.path, note.hash) == (step.path, step.hash):
            states[step.note_id] = NoteBase(note.path, note.hash, note.rev)
    sync_state.conclude(link.ledger, link.scope, states)
    sync_state.plan(link.ledger, link.scope, [])


def _has(link: VaultLink, step: PlannedStep) -> bool:
    try:
        return link.files.hash(step.path) == step.hash
    except (DjinnError, OSError):
        return False


def _agree_on_history(link: VaultLink) -> ScopeState:
    """How far the home has read the server, after a look whether the server was restored."""
    seen = sync_state.seen(link.ledger, link.scope)
    if seen:
        with reading(link.connection, link.address) as cursor:
            marks = server_notes.marks(cursor, link.scope, list(seen))
        common = max((rev for rev in seen if marks.get(rev) == seen[rev]), default=0)
        if common < max(seen):
            sync_state.restored(link.ledger, link.scope, common)
    return sync_state.scope_state(link.ledger, link.scope)


def _look(
    link: VaultLink, state: ScopeState, known: Iterable[UUID], doubtful: set[UUID]
) -> _Snapshot:
    """Read what changed on the server, and notes whose state is in doubt."""
    with reading(link.connection, link.address) as cursor:
        head = server_notes.head(cursor, link.scope)
        if head is None:
            raise Refused(
                f"{link.address} does not know vault {link.vault.name}",
                Remedy("sync.init", {}, "register it"),
            )
        whole = state.whole or head.purged_rev > state.rev
        changed = server_notes.changed(cursor, link.scope, -1 if whole else state.rev)
        notes = {note.note_id: note for note in changed}
        notes |= server_notes.states(cursor, link.scope, list(doubtful - notes.keys()))
        mark = server_notes.marks(cursor, link.scope, [head.rev])
    sync_state.advance(link.ledger, link.scope, state, mark)
    return _Snapshot(head, mark, notes)


def _carry_out(
    link: VaultLink,
    plan: SyncPlan,
    direction: Direction,
    result: Exchanged,
) -> tuple[set[UUID], set[UUID], set[UUID]]:
    """Carry out a plan. Returns the notes that were pulled, pushed, and changed by others."""
    pulls = plan.pulls if direction != "push" and not link.vault.read_only else []
    _write_plan(link, plan, pulls)
    done = pull.pull(link, pulls) if pulls else {}
    _count_pulls(result, [step for step in pulls if step.note_id in done], done)
    vectors.fetch(link, {*done, *plan.adopted})
    if direction == "pull":
        return set(done), set(), set()
    # What another home changed, and could not be written here, is not sent either.
    stuck = {step.note_id for step in plan.pulls} - done.keys()
    steps = [step for step in plan.pushes if step.note_id not in stuck]
    if not steps:
        return set(done), set(), set()
    list_notes(link)
    vectors.embed(link)
    vectors.check_model(link)
    sent, lost = push.push(link, steps)
    _count_pushes(result, [step for step in steps if step.note_id in sent])
    return set(done), sent, lost


def _write_plan(link: VaultLink, plan: SyncPlan, pulls: list[PullStep]) -> None:
    if plan.agreed:
        sync_state.conclude(link.ledger, link.scope, plan.agreed)
    steps = [*map(pull.planned, pulls), *map(push.planned, plan.pushes)]
    sync_state.plan(link.ledger, link.scope, [step for step in steps if step])


def _count_pulls(
    result: Exchanged, steps: Iterable[PullStep], done: Mapping[UUID, str | None]
) -> None:
    for step in steps:
        result.received += step.after is not None
        result.removed += step.after is None
    result.conflicts += [copy for copy in done.values() if copy]


def _count_pushes(result: Exchanged, steps: Iterable[PushStep]) -> None:
    counts = Counter(step.after is not None for step in steps)
    result.sent += counts[True]
    result.withdrawn += counts[False]


def _foreseen(plan: SyncPlan, direction: Direction) -> Exchanged:
    """What a plan would change."""
    result = Exchanged()
    if direction != "push":
        _count_pulls(result, plan.pulls, {step.note_id: step.conflict for step in plan.pulls})
    if direction != "pull":
        _count_pushes(result, plan.pushes)
    return result


def _behind(
    plan: SyncPlan,
    pulled: set[UUID],
    left: frozenset[UUID],
    snapshot: _Snapshot,
    state: ScopeState,
) -> dict[UUID, str]:
    """The changes of the server that are not in the home, by note with their paths."""
    behind: dict[UUID, str] = {}
    for step in plan.pulls:
        if step.note_id not in pulled and (shown := step.after or step.before):
            behind[step.note_id] = shown.path
    for note_id in left & snapshot.notes.keys():
        if snapshot.notes[note_id].rev > state.rev:
            behind[note_id] = snapshot.notes[note_id].path
    return behind


def _finish(
    link: VaultLink, snapshot: _Snapshot, state: ScopeState, behind: Mapping[UUID, str]
) -> None:
    """Record how far this home has come. What it could not write is read again next time."""
    rev, whole = snapshot.head.rev, False
    if behind:
        rev, whole = state.rev, state.whole
    sync_state.advance(link.ledger, link.scope, replace(state, rev=rev, whole=whole), snapshot.mark)
    sync_state.plan(link.ledger, link.scope, [])
    with link.transaction() as cursor:
        server_notes.record_home(cursor, link.scope, link.home_id, link.home_name, rev)
