"""What was deleted comes back whole, and never over an existing file."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, Refused, UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_agent


def files(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


def test_a_note_comes_back_with_its_versions(djinn: Djinn) -> None:
    djinn.remember("lesson", "Harbour", "The lamp is at the pier.")
    djinn.remember("lesson", "Harbour", "The lamp is at the mole.", existing="revise")
    before = files(djinn.home.root / "vaults" / "me")
    djinn.memories.delete("Harbour")
    [note] = djinn.memories.restore().notes
    assert (note.vault, note.path, note.title) == ("me", "lessons/harbour.md", "Harbour")
    assert not djinn.search("mole").hits
    preview = djinn.memories.restore("Harbour", dry_run=True)
    assert not preview.restored and files(djinn.home.root / "vaults" / "me") != before
    report = djinn.memories.restore("Harbour")
    assert report.restored and report.files == preview.files and len(report.files) == 2
    assert files(djinn.home.root / "vaults" / "me") == before
    assert djinn.search("mole").hits[0].title == "Harbour"
    assert not djinn.memories.restore().notes


def test_a_document_comes_back_with_its_original(djinn: Djinn, tmp_path: Path) -> None:
    djinn.home.edit((("documents", "keep_originals"), "copy"))
    djinn.home.reread()
    (tmp_path / "tide.txt").write_text("The tide table.\n")
    djinn.documents.ingest([tmp_path / "tide.txt"])
    before = files(djinn.home.root / "vaults" / "me")
    djinn.documents.remove("tide.txt")
    djinn.memories.restore("tide")
    assert files(djinn.home.root / "vaults" / "me") == before
    assert [entry.filename for entry in djinn.documents.list().documents] == ["tide.txt"]


def test_nothing_is_written_over(djinn: Djinn, shared: Path) -> None:
    (shared / "a.md").write_text("# A\n\nold\n")
    djinn.memories.delete("shared:a.md")
    (shared / "a.md").write_text("# A\n\nnew\n")
    with pytest.raises(Refused, match=r"shared/a\.md exists"):
        djinn.memories.restore("a.md")
    assert (shared / "a.md").read_text().endswith("new\n")
    assert (shared / ".trash" / "a.md").read_text().endswith("old\n")


def test_a_name_that_means_several_or_none(djinn: Djinn, shared: Path) -> None:
    for folder in ("x", "y"):
        (shared / folder).mkdir()
        (shared / folder / "a.md").write_text("# Same\n")
        djinn.memories.delete(f"shared:{folder}/a.md")
    with pytest.raises(UsageError, match=r"shared:x/a\.md, shared:y/a\.md"):
        djinn.memories.restore("Same")
    assert djinn.memories.restore("shared:y/a.md").files == ("y/a.md",)
    assert djinn.memories.restore(".trash/x/a.md").files == ("x/a.md",)
    with pytest.raises(NotFound):
        djinn.memories.restore("Same")


def test_no_trash_leads_out_of_its_vault(djinn: Djinn, shared: Path, tmp_path: Path) -> None:
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "a.md").write_text("# A\n")
    (shared / ".trash").symlink_to(tmp_path / "away")
    assert not djinn.memories.restore().notes
    (shared / ".trash").unlink()
    (shared / ".trash").mkdir()
    (shared / ".trash" / "b.md").symlink_to(tmp_path / "away" / "a.md")
    assert not djinn.memories.restore().notes


def test_the_trash_of_another_agent_is_not_seen(djinn: Djinn) -> None:
    add_agent(djinn.home, "grace")
    djinn = Djinn(Home(djinn.home.root))
    djinn.remember("lesson", "Hers", "x", agent="grace")
    djinn.memories.delete("Hers", agent="grace")
    assert not djinn.memories.restore().notes
    with pytest.raises(NotFound):
        djinn.memories.restore("Hers")
    assert djinn.memories.restore("Hers", agent="grace").restored
