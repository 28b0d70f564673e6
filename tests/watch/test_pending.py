"""What waits to be looked at: nothing is forgotten, nothing comes twice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.watch.heard import ALL, SLICE, FileChanged, PendingChanges

CHANGES = st.lists(
    st.builds(
        FileChanged,
        st.sampled_from(["a", "b", "other", None]),
        st.sampled_from([ALL, "x.md", "y.md", "z"]) | st.text(max_size=3),
    ),
    max_size=40,
)


def taken(pending: PendingChanges) -> list[tuple[str, list[str] | None]]:
    found = []
    while pending:
        found.append(pending.take())
    return found


@given(CHANGES)
def test_all_that_was_noted_is_looked_at_once(changes: list[FileChanged]) -> None:
    pending = PendingChanges(["a", "b"])
    for change in changes:
        pending.add(change)
    looked = [(name, path) for name, paths in taken(pending) for path in (paths or [ALL])]
    noted = {(name, one.path) for one in changes for name in "ab" if one.vault in (None, name)}
    assert len(looked) == len(set(looked))
    assert set(looked) == noted
    assert not pending


@given(CHANGES)
def test_single_paths_come_before_whole_vaults(changes: list[FileChanged]) -> None:
    pending = PendingChanges(["a", "b"])
    for change in changes:
        pending.add(change)
    assert pending.single == any(one.path != ALL and one.vault != "other" for one in changes)
    whole = [paths is None for _, paths in taken(pending)]
    assert whole == sorted(whole)


def test_a_great_many_are_looked_at_in_slices_in_their_order() -> None:
    pending = PendingChanges(["a"])
    paths = [f"{number}.md" for number in range(2 * SLICE + 1)]
    for path in paths:
        pending.add(FileChanged("a", path))
    slices = [one or [] for _, one in taken(pending)]
    assert [len(one) for one in slices] == [SLICE, SLICE, 1]
    assert [path for one in slices for path in one] == paths


def test_what_is_for_later_waits_for_its_time() -> None:
    pending = PendingChanges(["a"])
    pending.add_later(FileChanged("a", "x.md"), 5.0)
    pending.add_later(FileChanged("a", "x.md"), 7.0)
    pending.ripen(6.0)
    assert not pending
    pending.ripen(7.0)
    assert taken(pending) == [("a", ["x.md"])]
    pending.ripen(99.0)
    assert not pending
