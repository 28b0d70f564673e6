"""What a home knows of its server survives in the ledger, and is no event."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID, uuid4

from djinn_memory.store.ledger import Event, Ledger, uuid7
from djinn_memory.store.ledger.sync_state import (
    LOST,
    PAST,
    SEEN,
    NoteBase,
    PlannedStep,
    ScopeState,
    advance,
    bases,
    home_id,
    is_unerased,
    mark_erased,
    mark_purged,
    mark_unerased,
    past_hashes,
    plan,
    record_bases,
    restored,
    scope_state,
    see,
    seen,
    steps,
)
from djinn_memory.store.salvage import read

SCOPE, OTHER = uuid4(), uuid4()


def test_a_ledger_keeps_what_was_concluded(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    assert scope_state(ledger, SCOPE) == ScopeState(0, True, None)
    assert home_id(ledger) == home_id(ledger)
    first, second = UUID(uuid7()), UUID(uuid7())
    step = PlannedStep(first, "push", "a.md", b"1", "a.md", b"1", 0)
    plan(ledger, SCOPE, [step, PlannedStep(second, "pull", "b.md", b"2", "b.md", b"2", 4)])
    base = NoteBase("a.md", b"1", 5, "mem_a", "1 2 3 4")
    record_bases(ledger, SCOPE, {first: base})
    see(ledger, SCOPE, {5: OTHER})
    assert [step.note_id for step in steps(ledger, SCOPE)] == [second]
    assert bases(ledger, SCOPE) == bases(ledger, SCOPE, [first, second]) == {first: base}
    assert bases(ledger, SCOPE, [second]) == {}
    assert seen(ledger, SCOPE) == {5: OTHER}
    mark_purged(ledger, str(SCOPE), ["a.md", "unknown.md"])
    assert bases(ledger, SCOPE)[first].purged
    record_bases(ledger, SCOPE, {first: None})
    assert bases(ledger, SCOPE) == bases(ledger, OTHER) == {}


def test_a_scope_is_unerased_until_it_was_erased(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    for _ in range(2):
        mark_unerased(ledger, SCOPE)
    assert is_unerased(ledger, SCOPE) and not is_unerased(ledger, OTHER)
    mark_erased(ledger, OTHER)
    assert is_unerased(ledger, SCOPE)
    mark_erased(ledger, SCOPE)
    assert not is_unerased(ledger, SCOPE)


def test_a_restored_server_makes_later_bases_doubtful(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    old, new = uuid4(), uuid4()
    record_bases(ledger, SCOPE, {old: NoteBase("a.md", b"", 3), new: NoteBase("b.md", b"", 9)})
    advance(ledger, SCOPE, ScopeState(9, False), {3: uuid4(), 9: uuid4()})
    restored(ledger, SCOPE, 4)
    restored(ledger, SCOPE, 6)
    assert {key: base.rev for key, base in bases(ledger, SCOPE).items()} == {old: 3, new: LOST}
    assert scope_state(ledger, SCOPE) == ScopeState(0, True, 4)
    assert list(seen(ledger, SCOPE)) == [3]


def test_only_the_newest_marks_are_kept(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    advance(ledger, SCOPE, ScopeState(), {rev: uuid4() for rev in range(SEEN + 50)})
    assert len(seen(ledger, SCOPE)) == SEEN
    assert max(seen(ledger, SCOPE)) == SEEN + 49


def test_salvage_takes_none_of_it_for_an_event(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    ledger = Ledger(path)
    ledger.append([Event("memory.opened", "mem_a", {"agent": "me"})])
    ids = [UUID(uuid7()) for _ in range(300)]
    record_bases(ledger, SCOPE, {note_id: NoteBase("a.md", b"1", 1) for note_id in ids})
    see(ledger, SCOPE, {1: OTHER})
    plan(ledger, SCOPE, [PlannedStep(note_id, "push", "a", b"", "a", b"", 0) for note_id in ids])
    advance(ledger, SCOPE, ScopeState(), {})
    ledger.close()
    salvaged = read(path)
    assert len(salvaged.events) == 1
    assert salvaged.lost == {}


def test_the_earlier_texts_of_a_note_are_remembered(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    note_id, other = UUID(uuid7()), UUID(uuid7())
    texts = [number.to_bytes(16, "little") for number in range(PAST + 10)]
    for rev, text in enumerate(texts):
        record_bases(ledger, SCOPE, {note_id: NoteBase("a.md", text, rev)})
        record_bases(ledger, SCOPE, {note_id: NoteBase("b.md", text, rev)})
    assert past_hashes(ledger, SCOPE, [note_id, other]) == {note_id: {*texts[-PAST - 1 :]}}
    assert past_hashes(ledger, OTHER, [note_id]) == past_hashes(ledger, SCOPE, []) == {}
    record_bases(ledger, SCOPE, {note_id: None})
    assert past_hashes(ledger, SCOPE, [note_id]) == {}
