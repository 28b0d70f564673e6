"""The whole text of a note is written only where the writer has seen the one before."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Changed, DjinnError, NotFound, Refused, UsageError
from djinn_memory.home.home import Home
from djinn_memory.home.setup import add_vault, init

LAMP = "---\nid: mem_0123456789abcdef\ntitle: Lamp\ntags: [pier]\n---\nIt turns.\n"


def test_a_text_replaces_the_one_that_its_writer_saw(djinn: Djinn, shared: Path) -> None:
    note = shared / "lamp.md"
    note.write_text(LAMP)
    (shared / "pier.md").write_text("See [[Lamp]].\n")
    seen = djinn.memories.find("Lamp").digest
    done = djinn.memories.write("Lamp", LAMP + "It is red.\n", digest=seen)
    assert (done.path, done.id, done.created) == ("lamp.md", "mem_0123456789abcdef", False)
    assert note.read_text() == LAMP + "It is red.\n"
    assert done.digest == djinn.memories.find("Lamp").digest != seen
    assert djinn.search("red", mode="words").hits[0].path == "lamp.md"
    assert len(djinn.memories.links("Lamp").backlinks) == 1
    with pytest.raises(Changed):
        djinn.memories.write("Lamp", "Mine.", digest=seen)
    assert djinn.memories.write("Lamp", note.read_text(), digest=done.digest).change is None
    assert djinn.changes.undo().change.id == done.change
    assert note.read_text() == LAMP


def test_a_new_note_is_written_at_its_path(djinn: Djinn, shared: Path) -> None:
    done = djinn.memories.write("shared:a/b/lamp.md", LAMP)
    assert done.created and (shared / "a/b/lamp.md").read_text() == LAMP
    assert djinn.memories.find(done.id or "").digest == done.digest
    with pytest.raises(Refused, match="exists; give"):
        djinn.memories.write("shared:a/b/lamp.md", "Another.")
    djinn.changes.undo()
    assert not (shared / "a").exists()


@pytest.mark.parametrize(
    "path",
    [
        "../lamp.md", "/lamp.md", "a/../lamp.md", "a//lamp.md", "./lamp.md", ".md", ".hidden/a.md",
        ".trash/a.md", "node_modules/a.md", "lamp.txt", "lamp", "", "a.md/", "a\nb.md",
        "drafts/a.md", "out/a.md", "what?.md", f"{'x' * 300}.md", "C:\\a.md", "lamp.MD",
    ],
)  # fmt: skip
def test_a_path_that_holds_no_notes_is_refused(
    djinn: Djinn, shared: Path, tmp_path: Path, path: str
) -> None:
    djinn.home.edit((("exclude",), ["drafts/"]))
    (shared / "out").symlink_to(tmp_path)
    before = sorted(shared.rglob("*"))
    with pytest.raises((UsageError, Refused)):
        djinn.memories.write(f"shared:{path}", "Text.")
    assert sorted(shared.rglob("*")) == before and not [*tmp_path.glob("*.md")]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("---\ntags: [a\n---\nA.\n", "YAML|front matter"),
        ("It turns.\n", "id of a note"),
        (LAMP.replace("mem_0123", "mem_9999"), "id of a note"),
        (LAMP.replace("title", "type: document\ntitle"), "ingested"),
        (LAMP + "password: correct-Horse-7battery\n", "password"),
    ],
)
def test_a_text_that_a_note_cannot_have(djinn: Djinn, shared: Path, text: str, why: str) -> None:
    (shared / "lamp.md").write_text(LAMP)
    seen = djinn.memories.find("Lamp").digest
    with pytest.raises(DjinnError, match=why):
        djinn.memories.write("Lamp", text, digest=seen)
    assert (shared / "lamp.md").read_text() == LAMP


def test_faults_that_a_note_has_already_may_stay(djinn: Djinn, shared: Path) -> None:
    broken = "---\ntags: [a\n---\nA.\n"
    (shared / "a.md").write_text(broken)
    djinn.memories.write("a.md", broken + "B.\n", digest=djinn.memories.find("a.md").digest)
    assert (shared / "a.md").read_text() == broken + "B.\n"


def test_the_encoding_and_the_line_ends_stay(djinn: Djinn, shared: Path) -> None:
    (shared / "a.md").write_bytes("Überall\r\nLampen\r\n".encode("utf-16"))
    digest = djinn.memories.find("a.md").digest
    djinn.memories.write("a.md", "Überall\nBojen\n", digest=digest)
    assert (shared / "a.md").read_bytes() == "Überall\r\nBojen\r\n".encode("utf-16")
    (shared / "latin.md").write_bytes("Überall\n".encode("latin-1"))
    with pytest.raises(Refused, match="not UTF-8"):
        djinn.memories.write("latin.md", "A.", digest=djinn.memories.find("latin.md").digest)


def test_a_journal_is_no_text_of_its_own(djinn: Djinn) -> None:
    episode = djinn.episodes.record_observation(text="The lamp burns.")
    own = djinn.home.root / "vaults" / "me"
    [journal] = (own / "journal").rglob("*.md")
    before = journal.read_text()
    name = f"me:{journal.relative_to(own)}"
    for given in (episode.id, name):
        with pytest.raises(DjinnError):
            djinn.memories.write(
                given or "", "Gone.", digest=djinn.memories.find(given or "").digest
            )
    with pytest.raises(Refused, match="would be a journal"):
        djinn.memories.write("shared:journal/2020-01-01.md", before)
    assert journal.read_text() == before


def test_vaults_that_may_not_be_written(djinn: Djinn, tmp_path: Path) -> None:
    (tmp_path / "team").mkdir()
    (tmp_path / "team" / "a.md").write_text("A.\n")
    add_vault(djinn.home, "team", tmp_path / "team", read_only=True)
    djinn.index()
    for name, digest in (("team:b.md", None), ("team:a.md", djinn.memories.find("a.md").digest)):
        with pytest.raises(Refused, match="read-only"):
            djinn.memories.write(name, "B.", digest=digest)
    for name in ("nowhere:a.md", "a.md", "shared/a.md"):
        with pytest.raises(UsageError, match="vault:path"):
            djinn.memories.write(name, "B.")
    with pytest.raises(NotFound):
        djinn.memories.write("Nowhere", "B.", digest="0")


def test_a_limited_agent_learns_and_opens_no_more(tmp_path: Path) -> None:
    home, _ = init(tmp_path / "home", ("me", "helper"))
    home.edit((("embedding", "provider"), "hashing"), (("access",), {"helper": ["garden"]}))
    vault = home.root / "vaults" / "shared"
    (vault / "pay.md").write_text("---\ndomain: work\n---\nA salary.\n")
    with Djinn(Home(home.root)) as djinn:
        with pytest.raises(NotFound):
            djinn.memories.write("shared:pay.md", "Mine.", digest="0", agent="helper")
        done = djinn.memories.write("shared:pay.md", "A rose.", agent="helper")
        assert done.path.startswith("pay-") and "salary" in (vault / "pay.md").read_text()
        with pytest.raises(UsageError, match="no domain"):
            djinn.memories.write("shared:x.md", "---\ndomain: work\n---\nX", agent="helper")
        with pytest.raises(UsageError, match="vault:path"):
            djinn.memories.write("me:x.md", "X", agent="helper")
        djinn.agents.set(key="default_domain", values=["garden"], agent="helper")
        own = djinn.memories.write("shared:rose.md", "A rose.", agent="helper")
        assert (vault / own.path).read_text() == "---\ndomain: garden\n---\nA rose."
