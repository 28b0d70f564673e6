"""Each verb that changes notes is taken back: by whom, and byte for byte."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, Refused
from djinn_memory.home.home import Home
from djinn_memory.memories.changes.plan import KeptBytes
from djinn_memory.memories.writing.change_set import writing
from djinn_memory.notes import journal
from tests.memories.changes.test_change_set import APPLY, kill_at, killed, tree
from tests.memories.imports.exports import CALENDAR, LOG, lines, said


def notes(home: Home) -> dict[str, bytes]:
    """Every file of the vaults by its path, with its bytes."""
    root = home.root / "vaults"
    return {path: data for path, (_, data, _) in tree(root).items() if data is not None}


def command(djinn: Djinn) -> str:
    return djinn.changes.undo().change.command


def test_a_deletion_and_its_return(djinn: Djinn) -> None:
    djinn.remember("decision", "Lamp", "Two lamps.")
    djinn.remember("decision", "Lamp", "One lamp.", existing="revise")
    os.utime(djinn.home.personal("me").root / "decisions" / "lamp.md", (1.5e9, 1.5e9))
    before = tree(djinn.home.root / "vaults")
    djinn.memories.delete("Lamp")
    deleted = notes(djinn.home)
    assert all("/.trash/" in path for path in deleted) and len(deleted) == 2
    assert command(djinn) == "memory delete"
    after = tree(djinn.home.root / "vaults")
    assert {path: after[path] for path in before} == before and not djinn.memories.restore().notes
    assert djinn.search("lamp").hits
    djinn.memories.delete("Lamp")
    djinn.memories.restore("Lamp")
    assert command(djinn) == "memory restore" and notes(djinn.home) == deleted
    assert not djinn.search("lamp").hits
    assert command(djinn) == "memory delete"
    assert KeptBytes(djinn.home).size() < 10_000


def test_an_emptied_trash_or_an_edited_note_is_left_alone(djinn: Djinn) -> None:
    djinn.remember("decision", "Lamp", "Two lamps.")
    place = djinn.memories.delete("Lamp").moved_to
    assert place
    data = place.read_bytes()
    for change in (lambda: place.write_text("# Mine\n"), place.unlink):
        change()
        with pytest.raises(Refused, match=r"lamp\.md was changed since"):
            djinn.changes.undo()
    place.write_bytes(data)
    djinn.memories.restore("Lamp")
    note = djinn.home.personal("me").root / "decisions" / "lamp.md"
    note.write_text("# Mine\n")
    with pytest.raises(Refused, match=r"lamp\.md was edited since"):
        djinn.changes.undo()
    assert note.read_text() == "# Mine\n"


def test_a_link_and_a_large_file_go_and_return_as_they_are(djinn: Djinn, tmp_path: Path) -> None:
    shared = djinn.home.shared.root
    (shared / ".a").mkdir()
    (shared / ".a" / "b.md").write_text("# B\n")
    (shared / "b.md").symlink_to(shared / ".a" / "b.md")
    (tmp_path / "table.csv").write_text("name,city\n" + "Mara,Gdynia\n" * 1000)
    djinn.documents.ingest([tmp_path / "table.csv"])
    djinn.index()
    before = notes(djinn.home)
    with writing(djinn.runtime, djinn.home.shared, "test", None) as writer:
        [place] = writer.trash(["b.md"])
    assert place.is_symlink() and not (shared / "b.md").is_symlink()
    djinn.documents.remove("table.csv")
    assert not any(path.endswith(".csv") and ".trash" not in path for path in notes(djinn.home))
    assert (command(djinn), command(djinn)) == ("document remove", "test")
    assert notes(djinn.home) == before and (shared / "b.md").readlink() == shared / ".a" / "b.md"


def test_facts_and_entities_that_were_removed_return(djinn: Djinn) -> None:
    djinn.facts.set("ship", "name", "Aurora")
    djinn.entities.add("Mara", "person")
    before = notes(djinn.home)
    djinn.facts.forget(category="ship", key="name")
    djinn.entities.remove("Mara")
    assert (command(djinn), command(djinn)) == ("entity remove", "fact forget")
    assert (
        notes(djinn.home) == before
        and djinn.facts.get(category="ship", key="name").value == "Aurora"
    )


def test_a_killed_deletion_is_taken_back(home: Home) -> None:
    with Djinn(home) as djinn:
        djinn.remember("decision", "Lamp", "Two lamps.")
        djinn.remember("decision", "Lamp", "One lamp.", existing="revise")
        before = notes(home)
    killed(home, kill_at(APPLY, 2).format('djinn.memories.delete("Lamp")'))
    assert notes(home) != before
    with Djinn(home) as djinn:
        djinn.index()
        assert notes(home) == before


def test_an_import_leaves_what_was_said_since(djinn: Djinn, tmp_path: Path) -> None:
    djinn.episodes.record_observation("The gate is open.", at="2026-03-01T08:00:00Z")
    before, log = notes(djinn.home), lines(tmp_path / "log.jsonl", LOG)
    djinn.import_history([log])
    imported = notes(djinn.home)
    later = lines(tmp_path / "later.jsonl", [said("user", "Is it windy?", "2026-03-01T20:00:00Z")])
    djinn.import_history([later])
    [second, first, _] = djinn.changes.list().changes
    assert (first.command, first.what) == ("import", "Imported 2 episodes")
    assert {file.action for file in first.files} == {"changed"}
    report = djinn.changes.undo(first.id)
    left = "".join(data.decode() for data in notes(djinn.home).values())
    assert "windy" in left and "gate" in left and "ferry" not in left
    assert not djinn.search("ferry", mode="words").hits
    djinn.changes.undo(second.id)
    assert notes(djinn.home) == before
    with pytest.raises(Refused, match=r"edited since|was changed by"):
        djinn.changes.undo(report.undo)
    assert djinn.import_history([log]).recorded == 2 and notes(djinn.home) == imported
    djinn.memories.purge(next(e.id for e in djinn.episodes.list().episodes if "ferry" in e.title))
    djinn.changes.undo()
    assert notes(djinn.home) == before
    assert command(djinn) == "episode record" and not notes(djinn.home)


def test_a_section_that_somebody_edited_stays_with_the_others(djinn: Djinn, tmp_path: Path) -> None:
    djinn.import_history([lines(tmp_path / "log.jsonl", LOG)])
    [path] = (path for path in notes(djinn.home) if path.startswith("me/journal/"))
    file = djinn.home.root / "vaults" / path
    file.write_text(file.read_text() + "\nA thought of mine.\n")
    before = notes(djinn.home)
    with pytest.raises(Refused, match="was edited since, so nothing was taken back"):
        djinn.changes.undo()
    assert notes(djinn.home) == before


def test_an_extraction_is_taken_back(djinn: Djinn) -> None:
    djinn.episodes.record_interaction("I prefer tea over coffee. I live in Gdynia.", session="home")
    before = notes(djinn.home)
    assert (written := djinn.sessions.extract("home").written)
    assert [command(djinn) for _ in written] == ["session extract"] * len(written)
    left = {path: data for path, data in notes(djinn.home).items() if "/.trash/" not in path}
    assert left == before
    assert not djinn.sessions.extract("home").written


def test_each_takes_back_its_own(djinn: Djinn) -> None:
    djinn.home.edit((("agents",), ["me", "finn"]))
    djinn.remember("lesson", "Mine", "The ebb.", shared=True)
    djinn.remember("lesson", "His", "The flood.", shared=True, agent="finn", force=True)
    djinn.remember("lesson", "Hers", "The bar.", shared=True, agent="me", force=True)
    listed = djinn.changes.list().changes
    assert [change.by for change in listed] == ["me", "finn", None]
    with pytest.raises(Refused, match="was made by me, so finn cannot take it back"):
        djinn.changes.undo(listed[0].id, agent="finn")
    with pytest.raises(Refused, match="was made by a person, so finn cannot"):
        djinn.changes.undo(listed[2].id, agent="finn")
    assert djinn.changes.undo(agent="finn").change.id == listed[1].id
    with pytest.raises(NotFound, match="no change to take back"):
        djinn.changes.undo(agent="finn")
    assert djinn.changes.undo().change.id == listed[2].id
    assert djinn.changes.undo(listed[0].id).undone
    assert {change.by for change in djinn.changes.list(agent="finn").changes} == {
        "me",
        "finn",
        None,
    }


def test_a_purge_leaves_no_kept_bytes(djinn: Djinn, tmp_path: Path) -> None:
    kept = KeptBytes(djinn.home)
    made = djinn.remember("lesson", "Ebb", "The zeppelin lands at the third pier.")
    djinn.remember("lesson", "Ebb", "It is anchored there.", existing="append")
    djinn.memories.delete("Ebb")
    djinn.changes.undo()
    djinn.import_history([lines(tmp_path / "log.jsonl", LOG)])
    djinn.changes.undo()
    djinn.import_history([tmp_path / "log.jsonl"])
    episode = next(e.id for e in djinn.episodes.list().episodes if "ferry" in e.title)
    for name, word in ((made.id, b"zeppelin"), (episode, b"ferry")):
        files = [path for path in kept.folder.rglob("*") if path.is_file()]
        assert any(word in path.read_bytes() for path in files)
        djinn.memories.purge(name or "")
        files = [path for path in kept.folder.rglob("*") if path.is_file()]
        assert not any(word in path.read_bytes() for path in files)


def test_a_purge_removes_kept_bytes_without_a_ledger(djinn: Djinn) -> None:
    made = djinn.remember("lesson", "Ebb", "The zeppelin lands at the third pier.")
    djinn.remember("lesson", "Ebb", "It is anchored there.", existing="append")
    djinn.close()
    djinn.home.ledger_path.unlink()
    with Djinn(Home(djinn.home.root)) as again:
        again.memories.purge(made.id or "")
        assert KeptBytes(again.home).ids() == []


def test_journals_without_several_sections() -> None:
    head = journal.header("2026-03-01", "tern-abcd-2")
    texts = {
        f"mem-{name}": journal.compose("10:00", name, f"mem-{name}", name, {}) for name in "abc"
    }
    path, whole = "journal/2026-03-01.tern-abcd-2.md", (head + "".join(texts.values())).encode()
    left = (head + texts["mem-b"]).encode()
    assert journal.without(path, ["mem-a", "MEM-C", "mem-x"], whole) == left
    assert journal.without(path, texts, whole) == head.encode()


def test_a_calendar_is_imported_in_one_change(djinn: Djinn, tmp_path: Path) -> None:
    before, log = notes(djinn.home), lines(tmp_path / "log.jsonl", LOG)
    (tmp_path / "work.ics").write_text(CALENDAR)
    report = djinn.import_history([log, tmp_path / "work.ics"])
    assert report.calendars and report.recorded > 2
    assert command(djinn) == "import" and notes(djinn.home) == before
    assert djinn.import_history([log, tmp_path / "work.ics"]).calendars == report.calendars


def test_a_purge_leaves_no_earlier_name(djinn: Djinn) -> None:
    note = djinn.home.root / "vaults" / "shared" / "Quokka.md"
    note.write_text("---\nid: mem_7k2m9q4dxw30hv5t\n---\nA lamp.\n")
    djinn.memories.rename("Quokka", "Gorse")
    djinn.memories.move("Gorse", "ideas")
    djinn.changes.undo()
    djinn.memories.rename("Gorse", "Thrift")
    assert djinn.changes.list().changes[0].what == "Moved shared/Gorse.md to shared/Thrift.md"
    djinn.memories.purge("Thrift")
    djinn.runtime.close()
    left = [file.read_bytes() for file in djinn.home.state.rglob("*") if file.is_file()]
    for name in (b"Quokka", b"Gorse", b"Thrift", b"A lamp"):
        assert not any(name in data for data in left), name
