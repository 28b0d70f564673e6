"""Plans the changes of a run in a home and on the server, from the states of all notes. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from uuid import UUID, uuid5

from msgspec import Struct, field

from djinn_memory.store.ledger.sync_state import LOST, NoteBase, ScopeState
from djinn_memory.store.postgres.notes import ServerNote
from djinn_memory.sync.notes import names
from djinn_memory.sync.notes.listing import LocalFile, match


class NoteState(Struct, frozen=True):
    """The state of a note on one side. A missing note has none."""

    path: str
    hash: bytes
    """The hash of its bytes."""


class Agreement(Struct, frozen=True):
    """The state that a note gets on both sides."""

    state: NoteState | None
    """None if it is deleted."""
    conflict: bool = False
    """Whether both sides wrote different bytes. `state` then has those of the server, and those of
    the home become a note of their own."""


def classify(
    local: NoteState | None,
    base: NoteState | None,
    server: NoteState | None,
    *,
    deletes: bool = True,
) -> Agreement:
    """The outcome for a note.

    `base` is the state that home and server last had in common; None if there is none or if it is
    unknown. An edit beats a deletion. Without `deletes`, nothing is deleted: a missing note then
    says nothing, because the home or the server has forgotten too much.
    """
    if local == server:
        return Agreement(local)
    if local is None or server is None:
        present = server if local is None else local
        deleted = base is not None and present == base and deletes
        return Agreement(None if deleted else present)
    moved_by_server = base is None or server.path != base.path
    path = server.path if moved_by_server else local.path
    if base is not None and server.hash == base.hash:
        return Agreement(NoteState(path, local.hash))
    unchanged = base is not None and local.hash == base.hash
    conflict = not unchanged and local.hash != server.hash
    return Agreement(server if conflict else NoteState(path, server.hash), conflict)


class PullStep(Struct):
    """A change of a file in the home. Afterwards the server's state is the base."""

    note_id: UUID
    before: NoteState | None
    after: NoteState | None
    server: ServerNote | None
    """The state of the server; None if it has no note or a tombstone."""
    conflict: str | None = None
    """The path of the copy that keeps the home's version."""
    purged: bool = False


class PushStep(Struct):
    """A change of a note on the server, if it still has the revision `rev`."""

    note_id: UUID
    after: NoteState | None
    """None for a deletion; the path and the hash are then those of `path` and `hash`."""
    path: str
    hash: bytes
    rev: int
    """The revision that is replaced; 0 if the server has no row of the note."""
    uid: str | None = None
    purged: bool = False
    conflict_of: UUID | None = None
    stat: str | None = None
    """Of an attachment: size and times of the file, as they were before it was read."""


class SyncPlan(Struct):
    """The changes of a run."""

    pulls: list[PullStep] = field(default_factory=list)
    pushes: list[PushStep] = field(default_factory=list)
    agreed: dict[UUID, NoteBase | None] = field(default_factory=dict)
    """Notes on which both sides agree already, with their new base."""

    adopted: set[UUID] = field(default_factory=set)
    """Notes that both sides turned out to have."""


class SyncStates(Struct):
    """The states of all notes of a vault."""

    files: Collection[LocalFile]
    bases: Mapping[UUID, NoteBase]
    server: Mapping[UUID, ServerNote]
    """The notes of the server beyond the bases: those that changed, or all of them."""
    scope: ScopeState
    past: Mapping[UUID, Collection[bytes]] = field(default_factory=dict)
    """The hashes of the texts that notes ever had on both sides, if their base is lost."""
    unlisted: frozenset[UUID] = frozenset()
    """Known notes whose files exist but are no notes now, for example because they are excluded.
    They are left as they are."""
    unfit: Mapping[UUID, str] = field(default_factory=dict)
    """The paths of notes whose rows on the server are left out, and which stay as they are."""


def make_plan(states: SyncStates, scope: UUID, home: str, mint: Callable[[], UUID]) -> SyncPlan:
    """Plan a run. `home` names conflict copies, and `mint` makes the ids of new notes."""
    planner = _Planner(states, scope, home, mint)
    planner.identify()
    return planner.plan()


class _Planner:
    def __init__(
        self, states: SyncStates, scope: UUID, home: str, mint: Callable[[], UUID]
    ) -> None:
        self._states, self._scope, self._home, self._mint = states, scope, home, mint
        self._deletes = not states.scope.whole
        self._server = {
            **{
                note_id: ServerNote(
                    note_id, base.path, base.hash, 0, base.rev, conflict_of=base.conflict_of
                )
                for note_id, base in states.bases.items()
                if self._deletes
            },
            **states.server,
        }
        """The notes of the server, and those of its tombstones that were read."""
        self._local: dict[UUID, LocalFile] = {}

    def identify(self) -> None:
        """Find the note of each file. New files get an id."""
        states = self._states
        listed = {
            note_id: base
            for note_id, base in states.bases.items()
            if note_id not in states.unlisted
        }
        matches = match(states.files, listed)
        self._local = matches.notes
        unclaimed = {
            names.path_key(note.path): note
            for note in self._server.values()
            if not note.deleted
            and note.note_id not in states.unfit
            and note.note_id not in self._local
            and note.note_id not in states.bases
        }
        for file in matches.fresh:
            self._local[self._identity(file, unclaimed)] = file

    def _identity(self, file: LocalFile, unclaimed: dict[str, ServerNote]) -> UUID:
        """The id of a new file: that of a note on the server which it is, or a new one."""
        key = names.path_key(file.path)
        if (note := unclaimed.get(key)) and (not self._deletes or note.hash == file.hash):
            return unclaimed.pop(key).note_id
        if file.uid:
            note_id = uuid5(self._scope, file.uid)
            if note_id not in self._local and note_id not in self._states.bases:
                unclaimed.pop(self._path_key(note_id), None)
                return note_id
        return self._mint()

    def _path_key(self, note_id: UUID) -> str:
        note = self._server.get(note_id)
        return names.path_key(note.path) if note else ""

    def plan(self) -> SyncPlan:
        """Classify every note and make the steps."""
        plan = SyncPlan()
        outcomes: dict[UUID, NoteState | None] = {}
        conflicts: set[UUID] = set()
        known = {*self._local, *self._states.bases, *self._server}
        for note_id in sorted(
            known - self._states.unlisted - self._states.unfit.keys(), key=self._order
        ):
            outcome = classify(
                self._local_state(note_id),
                self._base_state(note_id),
                self._server_state(note_id),
                deletes=self._deletes,
            )
            outcomes[note_id] = outcome.state
            if outcome.conflict:
                conflicts.add(note_id)
        self._separate(outcomes)
        for note_id, state in outcomes.items():
            self._add_steps(plan, note_id, state, note_id in conflicts)
        return plan

    def _order(self, note_id: UUID) -> tuple[str, UUID]:
        path = self._local[note_id].path if note_id in self._local else ""
        return path, note_id

    def _local_state(self, note_id: UUID) -> NoteState | None:
        file = self._local.get(note_id)
        return NoteState(file.path, file.hash) if file else None

    def _server_state(self, note_id: UUID) -> NoteState | None:
        note = self._server.get(note_id)
        return None if note is None or note.deleted else NoteState(note.path, note.hash)

    def _base_state(self, note_id: UUID) -> NoteState | None:
        """The state that both sides had in common.

        A base that a restored server lost says nothing, unless the server's state is older: it was
        there before the base, or another home that was behind sent its text again.
        """
        base = self._states.bases.get(note_id)
        if base is None:
            return None
        if base.rev != LOST:
            return NoteState(base.path, base.hash)
        note, restored_rev = self._server.get(note_id), self._states.scope.restored_rev
        if note is None or note.deleted:
            return None
        if restored_rev is not None and note.rev <= restored_rev:
            return self._server_state(note_id)
        had = note.hash == base.hash or note.hash in self._states.past.get(note_id, ())
        return NoteState(base.path, note.hash) if had else None

    def _separate(self, outcomes: dict[UUID, NoteState | None]) -> None:
        """Give the second note on one path another path.

        A note keeps the path that it has on the server.
        """
        taken: dict[str, UUID] = {}
        chosen_here: list[UUID] = []
        for note_id in self._states.unlisted:
            taken[names.path_key(self._states.bases[note_id].path)] = note_id
        for note_id in self._states.unfit.keys() & self._local.keys():
            taken[names.path_key(self._local[note_id].path)] = note_id
        on_server: set[str] = set()
        for note_id, state in outcomes.items():
            if state is None:
                continue
            server, key = self._server_state(note_id), names.path_key(state.path)
            # No home writes a second row on one path.
            if server is not None and server.path == state.path and key not in on_server:
                on_server.add(key)
                taken[key] = note_id
            else:
                chosen_here.append(note_id)
        for note_id in chosen_here:
            state = outcomes[note_id]
            assert state
            path, digits = state.path, names.DIGITS
            while names.path_key(path) in taken:
                path, digits = names.numbered_path(state.path, note_id, digits), digits + 4
            taken[names.path_key(path)] = note_id
            outcomes[note_id] = NoteState(path, state.hash)

    def _add_steps(
        self, plan: SyncPlan, note_id: UUID, state: NoteState | None, conflict: bool
    ) -> None:
        local, server = self._local_state(note_id), self._server_state(note_id)
        row, base = self._server.get(note_id), self._states.bases.get(note_id)
        file = self._local.get(note_id)
        uid, stat = (file.uid, file.stat) if file else (None, None)
        if local != state:
            copy = None
            if conflict and local:
                copy = names.conflict_path(local.path, self._home, local.hash)
            live = row if server else None
            purged = bool(row and row.purged and row.deleted)
            plan.pulls.append(PullStep(note_id, local, state, live, copy, purged))
        elif server == state:
            agreed = None
            if server and row:
                agreed = NoteBase(
                    server.path, server.hash, row.rev, uid, stat, conflict_of=row.conflict_of
                )
            if agreed != base:
                plan.agreed[note_id] = agreed
            if agreed and base is None:
                plan.adopted.add(note_id)
        if server != state:
            kept = state or server
            assert kept
            purged = bool(state is None and base and base.purged)
            rev = row.rev if row and row.rev > 0 else 0
            plan.pushes.append(
                PushStep(
                    note_id, state, kept.path, kept.hash, rev, uid, purged,
                    None if base or row else self._conflict_of(kept.path), stat,
                )
            )  # fmt: skip

    def _conflict_of(self, path: str) -> UUID | None:
        """The note of which a new file is a conflict copy."""
        original = names.original_path(path) if names.is_note(path) else None
        return None if original is None else self._by_key.get(names.path_key(original))

    @cached_property
    def _by_key(self) -> Mapping[str, UUID]:
        """The notes that the server has, by their paths as they are compared."""
        live = [note for note in self._server.values() if not note.deleted]
        return {names.path_key(note.path): note.note_id for note in live}
