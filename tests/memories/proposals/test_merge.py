"""The job `duplicates`: which notes it proposes to merge, and what the merge does."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_vault, init
from djinn_memory.memories.proposals.kinds.merge import near_pairs
from djinn_memory.memories.proposals.requests import Proposal
from djinn_memory.store.index import meta
from djinn_memory.store.sqlite import transaction

TEXT = "The lamp of the harbour is checked each morning before the boats leave the pier."


def write(path: Path, text: str = TEXT, front: str = "type: lesson") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\n{front}\n---\n{text}\n")
    return path


def proposals(djinn: Djinn) -> list[Proposal]:
    """The open proposals to merge, after a run of the job."""
    djinn.index()
    djinn.maintain(["duplicates"])
    return list(djinn.proposals.list(kind="merge").proposals)


def groups(djinn: Djinn) -> list[list[str]]:
    return [
        [f"{subject.vault}/{subject.path}" for subject in proposal.subjects]
        for proposal in proposals(djinn)
    ]


def contents(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(root.rglob("*.md"))}


def test_notes_with_equal_text_are_merged_and_taken_apart(djinn: Djinn, shared: Path) -> None:
    write(shared / "a.md", front="type: lesson\ntitle: First\ntags: [sea]\nimportance: 0.7")
    write(shared / "b.md", f"{TEXT}\n", front="type: lesson\ntitle: Second\ntags: [lamp]")
    write(shared / "sub" / "c.md", front="type: lesson\ntitle: Third")
    write(shared / "links.md", "[[Second]], [[b]], [[Second|that]] and [there](b.md).", "")
    before = contents(shared)
    [proposal] = proposals(djinn)
    assert [each.title for each in proposal.subjects] == ["Second", "First", "Third"]
    assert proposal.reason == "3 notes have the same text." and proposals(djinn) == [proposal]
    assert contents(shared) == before
    report = djinn.proposals.accept([proposal.id])
    assert not report.problems
    [change] = djinn.changes.list().changes
    assert change.what == "Merged First and Third into Second"
    text = (shared / "b.md").read_text()
    assert text.count(TEXT) == 1 and "importance: 0.7" in text
    assert {path.name for path in shared.rglob("*.md")} == {"b.md", "links.md"}
    note = djinn.memories.show("First")
    assert (note.path, set(note.tags)) == ("b.md", {"sea", "lamp"})
    assert proposals(djinn) == []
    djinn.changes.undo()
    assert contents(shared) == before
    assert [each.id for each in proposals(djinn)] == [proposal.id]


def test_a_search_compares_new_notes_and_none_that_were_only_touched(
    djinn: Djinn, shared: Path
) -> None:
    for name in ("a.md", "b.md"):
        write(shared / name)
    djinn.index()
    os.utime(shared / "a.md", (1.7e9, 1.7e9))
    djinn.search("lamp")
    assert not djinn.proposals.list().proposals
    write(shared / "c.md")
    djinn.search("lamp")
    assert len(djinn.proposals.list().proposals) == 1


def test_links_lead_to_the_note_that_is_kept(djinn: Djinn, shared: Path) -> None:
    write(shared / "a.md", front="type: lesson\ntitle: First")
    write(shared / "b.md", f"{TEXT} It is important.", front="type: lesson\ntitle: Second")
    for number in range(3):
        write(shared / f"{number}.md", "See [[First]].", "")
    write(shared / "links.md", "[[Second#x|that]] and [there](b.md).", "")
    before = contents(shared)
    djinn.index()
    [action] = djinn.maintain(["duplicates"]).deeds
    assert "merge 'First' and 'Second'. 2 notes have nearly the same text." in action.what
    [proposal] = proposals(djinn)
    assert [each.title for each in proposal.subjects] == ["First", "Second"]
    assert proposal.reason == "2 notes have nearly the same text."
    djinn.proposals.accept([proposal.id])
    assert "[[First#x|that]] and [there](a.md)" in (shared / "links.md").read_text()
    text = (shared / "a.md").read_text()
    assert text.count(TEXT) == 2 and "## Second" in text
    djinn.changes.undo()
    assert contents(shared) == before


@pytest.mark.parametrize(
    ("second", "front"),
    [
        ("The lamp of the harbour is not checked each morning before the boats leave.", ""),
        (TEXT.replace("each morning", "at 6"), "type: lesson"),
        ("Something else about bread and butter.", "type: lesson"),
        (TEXT, "type: decision"),
        (TEXT, "type: lesson\ndomain: work"),
        (TEXT, "type: lesson\nstatus: superseded"),
        (TEXT, "type: lesson\ndue: 2030-01-01"),
    ],
)
def test_what_is_not_merged(djinn: Djinn, shared: Path, second: str, front: str) -> None:
    write(shared / "a.md")
    write(shared / "b.md", second, front or "type: lesson")
    assert groups(djinn) == []


def test_kinds_that_are_not_merged(djinn: Djinn, home: Home, shared: Path, tmp_path: Path) -> None:
    for name in "ab":
        for kind in ("document", "profile", "person", "project", "handoff"):
            write(shared / f"{kind}-{name}.md", front=f"type: {kind}\ntitle: {name}")
        write(shared / f"fact-{name}.md", front=f"type: fact\ncategory: lamp\nkey: {name}")
        write(shared / f"2026-01-0{'ab'.index(name) + 1}.md", front="tags: [x]")
        write(tmp_path / "notes" / f"{name}.md")
    write(shared / "people form.md", "## Meetings\n\n![[Meetings.base#Person]]", "tags: [a]")
    write(shared / "list form.md", "![[Meetings.base#Person]]", "tags: [a]")
    write(shared / "another form.md", "## Meetings\n\n![[Meetings.base#Person]]", "tags: [a]")
    for number in range(8):
        write(shared / f"form-{number}.md", "Name: Address: Date of birth: Phone:")
    write(home.root / "vaults" / "me" / "a.md")
    write(shared / "a.md")
    add_vault(home, "notes", tmp_path / "notes")
    assert groups(Djinn(home)) == []


def test_a_dismissed_pair_does_not_return_in_a_group(djinn: Djinn, shared: Path) -> None:
    write(shared / "a.md")
    write(shared / "b.md")
    [proposal] = proposals(djinn)
    djinn.proposals.dismiss([proposal.id])
    write(shared / "c.md", f"{TEXT} ", front="type: lesson\ntitle: c")
    assert groups(djinn) == [["shared/a.md", "shared/c.md"]] or groups(djinn) == [
        ["shared/b.md", "shared/c.md"]
    ]
    (shared / "c.md").unlink()
    assert groups(djinn) == []


def test_a_new_note_joins_its_group(djinn: Djinn, shared: Path) -> None:
    write(shared / "a.md")
    write(shared / "b.md")
    [pair] = proposals(djinn)
    write(shared / "c.md")
    [group] = proposals(djinn)
    assert len(group.subjects) == 3 and group.id != pair.id
    assert djinn.proposals.show(pair.id).proposal.status == "withdrawn"


def test_a_search_goes_on_if_the_index_lists_no_new_notes(djinn: Djinn, shared: Path) -> None:
    write(shared / "a.md")
    djinn.index()
    with transaction(djinn.runtime.state.index):
        meta.put(djinn.runtime.state.index, meta.UNCOMPARED, "[1,")
    assert djinn.search("lamp").hits


def test_merges_that_touch_each_other_are_accepted_together(djinn: Djinn, shared: Path) -> None:
    other = "Bread is baked twice in a week, on the days when the oven of the village is hot."
    for name in "ab":
        write(shared / f"{name}.md", f"{TEXT}\nSee [[{name}x]].")
        write(shared / f"{name}x.md", f"{other}\nSee [[{name}]].")
    before = contents(shared)
    assert len(proposals(djinn)) == 2
    report = djinn.proposals.accept(all=True)
    assert len(report.proposals) == 2 and not report.problems
    assert djinn.memories.stats().unresolved == 0
    djinn.changes.undo()
    assert contents(shared) == before


def test_without_vectors_equal_texts_are_merged(djinn: Djinn, home: Home, shared: Path) -> None:
    home.edit((("embedding", "provider"), "none"))
    write(shared / "a.md")
    write(shared / "b.md")
    write(shared / "c.md", f"{TEXT} It is important.")
    [proposal] = proposals(Djinn(home))
    assert len(proposal.subjects) == 2
    assert proposal.evidence == (
        "equal text; only equal texts were compared, because the notes are not embedded",
    )


def test_an_agent_gets_proposals_for_its_own_vault(tmp_path: Path) -> None:
    home, _ = init(tmp_path / "two", ("me", "finn"))
    home.edit((("embedding", "provider"), "hashing"))
    for vault in ("me", "finn", "shared"):
        for name in "ab":
            write(home.root / "vaults" / vault / f"{name}.md")
    djinn = Djinn(home)
    assert len(groups(djinn)) == 3
    [own] = djinn.proposals.list(agent="finn").proposals
    assert {subject.vault for subject in own.subjects} == {"finn"}


def test_near_pairs_finds_what_comparing_all_finds() -> None:
    random = np.random.default_rng(7)
    rows = random.standard_normal((2000, 64)).astype("<f4")
    for at in range(0, 400, 2):
        rows[at + 1] = rows[at] + 0.35 * random.standard_normal(64)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = np.triu(rows @ rows.T, 1)
    expected = {tuple(pair) for pair in np.argwhere(cosines >= 0.92).tolist()}
    assert len(expected) > 100
    assert {pair[:2] for pair in near_pairs(rows, 0.92)} == expected
