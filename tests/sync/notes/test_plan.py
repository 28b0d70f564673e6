"""Plans: whatever the states, both sides agree afterwards, and each path belongs to one note."""

from __future__ import annotations

from random import Random
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.store.ledger.sync_state import NoteBase, ScopeState
from djinn_memory.store.postgres.notes import ServerNote
from djinn_memory.sync.notes.listing import LocalFile
from djinn_memory.sync.notes.names import path_key
from djinn_memory.sync.notes.plan import SyncPlan, SyncStates, make_plan

SCOPE = UUID(int=1)
PATHS = ("a.md", "A.md", "b.md", "ü.md", "d/a.md", "D/a.md")


def states(dice: Random) -> SyncStates:
    """Any states in which each side has a path once."""
    ids = [UUID(int=number) for number in range(10, 15)]
    bases, server = {}, {}
    base_keys, server_keys = set[str](), set[str]()
    for note_id in ids:
        path, digest = dice.choice(PATHS), dice.choice([b"1", b"2"])
        if dice.random() < 0.7 and path_key(path) not in base_keys:
            base_keys.add(path_key(path))
            bases[note_id] = NoteBase(path, digest, dice.randrange(1, 5))
    for note_id in ids:
        path = dice.choice(PATHS)
        deleted = dice.random() < 0.2
        if note_id in bases and dice.random() < 0.4:
            base = bases[note_id]
            note = ServerNote(note_id, base.path, base.hash, 0, base.rev)
        else:
            digest = dice.choice([b"1", b"2", b"3"])
            note = ServerNote(note_id, path, digest, 0, dice.randrange(5, 9), deleted)
        if note.deleted or path_key(note.path) not in server_keys:
            server_keys |= set() if note.deleted else {path_key(note.path)}
            server[note_id] = note
        elif note_id in bases:
            server[note_id] = ServerNote(note_id, note.path, note.hash, 0, 9, True)
    files = [
        LocalFile(path, dice.choice([b"1", b"2", b"4"]), 1) for path in PATHS if dice.random() < 0.5
    ]
    return SyncStates(files, bases, server, ScopeState(4, dice.random() < 0.3))


def carried_out(plan: SyncPlan, before: SyncStates) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The files of both sides after a plan."""
    here = {file.path: file.hash for file in before.files}
    for pull in plan.pulls:
        if pull.before:
            assert here.pop(pull.before.path) == pull.before.hash
            if pull.conflict:
                here[pull.conflict] = pull.before.hash
    for pull in plan.pulls:
        if pull.after:
            assert pull.after.path not in here
            here[pull.after.path] = pull.after.hash
    there = {note.note_id: note for note in before.server.values() if not note.deleted}
    for push in plan.pushes:
        known = before.server.get(push.note_id)
        assert push.rev == (known.rev if known else 0)
        there.pop(push.note_id, None)
        if push.after:
            there[push.note_id] = ServerNote(push.note_id, push.after.path, push.after.hash, 0, 9)
    paths = {note.path: note.hash for note in there.values()}
    assert len(paths) == len(there)
    return here, paths


@given(st.randoms(use_true_random=False))
def test_both_sides_agree_after_a_plan(dice: Random) -> None:
    before = states(dice)
    fresh = iter(range(1000, 2000))
    plan = make_plan(before, SCOPE, "home", lambda: UUID(int=next(fresh)))
    here, there = carried_out(plan, before)
    copies = {pull.conflict for pull in plan.pulls if pull.conflict}
    assert {path: digest for path, digest in here.items() if path not in copies} == there
    keys = [path_key(path) for path in there]
    assert len(keys) == len(set(keys))


@given(st.randoms(use_true_random=False))
def test_a_plan_keeps_what_was_written_here(dice: Random) -> None:
    before = states(dice)
    fresh = iter(range(1000, 2000))
    plan = make_plan(before, SCOPE, "home", lambda: UUID(int=next(fresh)))
    here, _ = carried_out(plan, before)
    # No base has this content, so that it was written here since the last run.
    assert (b"4" in here.values()) == any(file.hash == b"4" for file in before.files)
