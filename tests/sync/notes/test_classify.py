"""What becomes of a note that changed in a home, on the server, or on both."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.sync.notes.plan import Agreement, NoteState, classify

STATES = st.none() | st.builds(
    NoteState, st.sampled_from(["a.md", "b.md"]), st.sampled_from([b"1", b"2", b"3"])
)
BASE = NoteState("a.md", b"1")


@given(STATES, STATES, st.booleans())
def test_one_side_that_changed_wins(base: NoteState | None, other: NoteState, keep: bool) -> None:
    here = classify(other, base, base)
    there = classify(base, base, other)
    assert here == there == Agreement(other)


@given(STATES, STATES, STATES, st.booleans())
def test_no_text_is_lost(
    local: NoteState | None, base: NoteState | None, server: NoteState | None, deletes: bool
) -> None:
    outcome = classify(local, base, server, deletes=deletes)
    kept = {outcome.state.hash} if outcome.state else set()
    if outcome.conflict:
        assert local
        kept.add(local.hash)
    written = {state.hash for state in (local, server) if state and state != base}
    replaced = {base.hash} if base else set()
    assert written - replaced <= kept
    if not deletes and (local or server):
        assert outcome.state


@given(STATES, STATES, STATES, st.booleans())
def test_the_outcome_is_final(
    local: NoteState | None, base: NoteState | None, server: NoteState | None, deletes: bool
) -> None:
    state = classify(local, base, server, deletes=deletes).state
    assert classify(state, state, state) == Agreement(state)
    # After the home has taken the outcome, with the server's state as base, the server follows.
    assert classify(state, server, server).state == state


@given(STATES, STATES, STATES)
def test_a_deletion_needs_two_that_agree(
    local: NoteState | None, base: NoteState | None, server: NoteState | None
) -> None:
    if (local or server) and classify(local, base, server).state is None:
        assert base in (local, server)
        assert None in (local, server)


def test_an_edit_beats_a_deletion() -> None:
    edited = NoteState("a.md", b"2")
    assert classify(None, BASE, edited) == Agreement(edited)
    assert classify(edited, BASE, None) == Agreement(edited)


def test_a_rename_and_an_edit_meet() -> None:
    renamed, edited = NoteState("b.md", b"1"), NoteState("a.md", b"2")
    both = Agreement(NoteState("b.md", b"2"))
    assert classify(renamed, BASE, edited) == both
    assert classify(edited, BASE, renamed) == both


def test_a_conflict_keeps_the_text_of_the_server() -> None:
    server = NoteState("b.md", b"3")
    assert classify(NoteState("a.md", b"2"), BASE, server) == Agreement(server, conflict=True)


def test_without_a_base_different_texts_are_a_conflict() -> None:
    server = NoteState("a.md", b"3")
    assert classify(NoteState("a.md", b"2"), None, server) == Agreement(server, conflict=True)
    assert classify(server, None, server) == Agreement(server)
