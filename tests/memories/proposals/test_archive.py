"""The job `rot`: which notes it proposes for the archive, and what archiving does."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_vault, init

OLD = datetime(2020, 1, 1, tzinfo=UTC)


def write(path: Path, front: str = "", text: str = "Some text.", at: datetime = OLD) -> Path:
    """A note that was saved long ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\n{front}\n---\n{text}\n" if front else f"# {path.stem}\n\n{text}\n")
    os.utime(path, (at.timestamp(), at.timestamp()))
    return path


def stale(djinn: Djinn) -> set[str]:
    """The places of the notes that are proposed for the archive now."""
    djinn.maintain(["rot"])
    return {
        f"{subject.vault}/{subject.path}"
        for proposal in djinn.review.list(kind="archive").items
        for subject in proposal.subjects
    }


def test_the_uses_of_a_merged_note_keep_the_other(djinn: Djinn, shared: Path) -> None:
    lamp = write(shared / "lamp.md", "id: mem_0000000000000001\ntype: lesson")
    assert stale(djinn) == {"shared/lamp.md"}
    djinn.recall("some text")
    djinn.rate("last", useful=[1])
    write(lamp, "id: mem_0000000000000002\ntype: lesson\nmerged: [mem_0000000000000001]")
    assert stale(djinn) == set()


def test_a_note_that_nobody_used_is_proposed_and_archived(djinn: Djinn, shared: Path) -> None:
    note = write(shared / "lamp.md", "id: mem_0000000000000001\ntype: lesson\nstatus: final")
    write(shared / "other.md", text="See [[lamp]].", at=datetime.now(UTC))
    before = note.read_bytes()
    dry = djinn.maintain(["rot"], dry_run=True)
    assert len(dry.deeds) == 1 and djinn.review.list().total == 0
    report = djinn.maintain(["rot"])
    [action] = report.deeds
    assert (action.task, action.vault, action.path) == ("rot", "shared", "lamp.md")
    assert djinn.maintain(["rot"]).deeds == () and note.read_bytes() == before
    [proposal] = djinn.review.list().items
    assert proposal.reason.startswith("It was neither used nor changed for")
    assert {"0 uses", "1 linking note"} <= set(proposal.evidence)
    report_ = djinn.review.accept([proposal.id])
    assert not report_.problems and report_.changes
    text = note.read_text()
    assert "status: archived\n" in text and "status_before: final\n" in text
    # Links to it lead to it as before. Recalls leave it out, searches find it.
    [link] = djinn.memories.show("other.md").links
    assert (link.path, link.how) == ("lamp.md", "path")
    assert [hit.path for hit in djinn.search("some text").hits] == ["lamp.md"]
    assert djinn.recall("some text").memories == ()
    assert djinn.review.list().total == 0 and djinn.maintain(["rot"]).deeds == ()
    djinn.changes.undo()
    assert note.read_bytes() == before
    # The undo is no edit, so the note is as stale as before.
    assert djinn.maintain(["rot"]).deeds == ()
    assert djinn.review.list().kinds == {"archive": 1}


def test_a_side_is_chosen_for_contradictions_alone(djinn: Djinn, shared: Path) -> None:
    note = write(shared / "lamp.md", "type: plan")
    assert stale(djinn) == {"shared/lamp.md"}
    assert djinn.review.accept(all="archive", keep="both").changes
    assert "status: archived" in note.read_text()


def test_what_is_never_proposed(djinn: Djinn, shared: Path) -> None:
    for name, front in {
        "pinned": "pinned: true",
        "evergreen": "tags: [evergreen]",
        "profile": "type: profile",
        "summary": "type: summary",
        "pattern": "type: pattern\nsource: consolidation",
        "promise": "type: commitment\nstatus: open",
        "proposed": "type: lesson\nstatus: proposed",
        "archived": "type: lesson\nstatus: archived",
        "document": "type: document",
        "calendar": "type: calendar",
        "copy": "type: lesson\nrule: maintain.learnings",
        "2019-12-31": "",
        "new": f"created: 2019-01-01\nupdated: {datetime.now(UTC):%Y-%m-%d}",
        "verified": f"last_verified: {datetime.now(UTC):%Y-%m-%d}",
    }.items():
        write(shared / f"{name}.md", front)
    write(shared / "saved.md", "created: 2019-01-01", at=datetime.now(UTC))
    write(shared / "done.md", "type: commitment\nstatus: done")
    write(shared / "unpinned.md", "pinned: false")
    assert stale(djinn) == {"shared/done.md", "shared/unpinned.md"}


def test_uses_links_and_importance_keep_a_note(djinn: Djinn, home: Home, shared: Path) -> None:
    """A plan has a half-life of 90 days: it is stale after 299 days, and with 8 links after 897."""
    at = datetime.now(UTC) - timedelta(days=400)
    for name in ("idle", "linked", "used", "over", "important"):
        write(shared / f"{name}.md", "type: plan", text=f"The {name} plan.", at=at)
    write(shared / "important.md", "type: plan\nimportance: 1.0", at=at)
    write(shared / "over.md", "type: fact\ncategory: a\nkey: b\nvalid_to: 2021-01-01", at=at)
    write(shared / "lasting.md", "type: fact\ncategory: a\nkey: c", at=at)
    for number in range(8):
        write(shared / f"{number}.md", text="See [[linked]].", at=datetime.now(UTC))
    djinn.memories.show("used.md")
    assert stale(djinn) == {"shared/idle.md"}
    home.edit((("upkeep", "half_lives", "fact"), 200.0))
    assert stale(Djinn(home)) == {"shared/idle.md", "shared/over.md"}
    home.edit((("upkeep", "stale_at"), 0.99))
    assert stale(Djinn(home)) == {"shared/over.md"}


def test_a_note_that_is_used_again_is_withdrawn(djinn: Djinn, shared: Path) -> None:
    write(shared / "lamp.md", "type: plan")
    assert stale(djinn) == {"shared/lamp.md"}
    djinn.memories.show("lamp.md")
    assert stale(djinn) == set()
    assert djinn.review.list().items == ()


def test_other_vaults_belong_to_the_user(djinn: Djinn, home: Home, tmp_path: Path) -> None:
    write(tmp_path / "notes" / "old.md", "type: plan")
    add_vault(home, "notes", tmp_path / "notes")
    write(home.root / "vaults" / "me" / "mine.md", "type: plan")
    home.edit((("vaults", "me", "read_only"), True))
    assert stale(Djinn(home)) == set()


def test_each_agent_has_its_own_proposals(tmp_path: Path) -> None:
    home, _ = init(tmp_path / "two", ("me", "finn"))
    home.edit((("embedding", "provider"), "hashing"))
    djinn = Djinn(home)
    for vault in ("me", "finn", "shared"):
        write(home.root / "vaults" / vault / f"{vault}.md", "type: plan")
    djinn.maintain(["rot"], agent="finn")
    assert [each.agent for each in djinn.review.list().items] == ["finn"]
    assert stale(djinn) == {"me/me.md", "finn/finn.md", "shared/shared.md"}
    [finns] = djinn.review.list(agent="finn").items
    assert finns.subjects[0].path == "finn.md"


@pytest.mark.parametrize("skip", [True, False])
def test_the_job_can_be_switched_off(djinn: Djinn, home: Home, shared: Path, skip: bool) -> None:
    write(shared / "lamp.md", "type: plan")
    home.edit((("upkeep", "skip"), ["rot"] if skip else []))
    report = Djinn(home).maintain()
    assert ("rot" in report.tasks) is not skip
    assert Djinn(home).review.list(kind="archive").total == (not skip)
