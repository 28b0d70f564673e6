"""What is purged is in no byte of the home any more."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.errors import NotFound, Refused, UsageError
from djinn_memory.home.home import Home
from djinn_memory.memories.writing.change_set import change_set
from djinn_memory.store.ledger import Event
from djinn_memory.system.locks import lock
from tests.conftest import Run
from tests.memories.hooks.events import damage, prompt, record, spool_of, tool

WORDS = ("quorblefizz", "zanthrumple", "Wibblewick")
TEXT = f"The {WORDS[0]} of the harbour is {WORDS[1]}, which nobody else may know."


def holders(home: Home, *words: str) -> list[str]:
    """Files of the home whose bytes hold one of the words."""
    return [
        path.relative_to(home.root).as_posix()
        for path in sorted(home.root.rglob("*"))
        if path.is_file() and any(w.lower().encode() in path.read_bytes().lower() for w in words)
    ]


def test_nothing_of_a_purged_memory_is_left(home: Home, djinn: Djinn) -> None:
    for number in range(30):
        djinn.remember("lesson", f"Lesson {number}", f"Ropes and knots {number}.", force=True)
    made = djinn.remember("lesson", "Wibblewick", TEXT)
    djinn.remember("lesson", "Wibblewick", TEXT.replace("harbour", "mole"), existing="revise")
    # Deleted once already, and written anew.
    note = home.root / "vaults" / "me" / made.path
    djinn.memories.delete(made.id or "")
    note.write_bytes(next((home.root / "vaults/me/.trash").rglob("wibblewick.md")).read_bytes())
    djinn.index()
    data = {
        "agent": "me",
        "query": f"what is {WORDS[1]}",
        "memories": [
            {"memory": made.id, "rank": 1, "title": "Wibblewick", "raw": 1.0, "score": 1.0}
        ],
    }
    djinn._state.ledger.append([
        Event("memory.retrieved", "request", data),
        Event("tool.called", "remember", {"agent": "me", "arguments": {"text": TEXT}}),
        Event("memory.rated", made.id or "", {"agent": "me", "useful": True, "title": "Other"}),
    ])  # fmt: skip
    djinn.working.set("notes", f"remember: {TEXT}")
    djinn.working.set("other", "kettle")
    assert len(djinn.search(WORDS[0]).hits) == 1
    other = Djinn(home)
    assert other.search("knots").hits
    would = djinn.memories.purge("Wibblewick", dry_run=True)
    assert len(would.files) == 3 and len(holders(home, *WORDS)) >= 5
    done = djinn.memories.purge("Wibblewick", files=would.files)
    assert (done.files, done.problems, done.events) == (would.files, [], 2)
    assert done.vectors >= 1 and done.values == 1
    assert [one.key for one in djinn.working.list().values] == ["other"]
    # The query of the request is the searcher's own, and held no line of the note.
    left = holders(home, *WORDS)
    assert set(left) <= {".djinn/ledger.db"}
    assert holders(home, WORDS[0], "wibblewick") == []
    assert djinn.search(WORDS[0], mode="words").hits == ()
    assert len(djinn.search("knots", limit=50).hits) == 30
    with pytest.raises(NotFound):
        djinn.memories.purge("Wibblewick")
    scores = djinn._state.ledger.rows("select memory_title, memory_id from memory_retrieval_log")
    assert scores == [("(purged)", made.id)]
    djinn._state.ledger.rebuild()
    assert scores == djinn._state.ledger.rows(
        "select memory_title, memory_id from memory_retrieval_log"
    )
    assert djinn._state.faults and not list(djinn._state.faults())


def test_versions_of_one_second_go_too(home: Home, djinn: Djinn) -> None:
    for word in ("one", "two", "three", "four"):
        djinn.remember("lesson", "Wib", f"{WORDS[0]} {word}", existing="revise", force=True)
    # As a kill leaves it between the two writings of a revision.
    history = home.root / "vaults/me/lessons/history"
    (history / "torn.md").write_bytes(next(history.iterdir()).read_bytes().replace(b"two", b"six"))
    djinn.index()
    assert len(djinn.memories.purge("Wib").files) == 5
    assert holders(home, WORDS[0]) == []


def test_what_a_fact_said_goes_from_what_clients_asked(home: Home, djinn: Djinn) -> None:
    for value in ("zanth", "quorble"):
        djinn.facts.set("dig", "site", value, source="Wibblewick said")
    told: list[dict[str, object]] = [
        {"value": "zanth", "source": "Wibblewick said"}, {"value": {"quorble": 1}},
        {"by": "quorble"},
    ]  # fmt: skip
    djinn._state.ledger.append(
        Event("tool.called", "fact", {"agent": "me", "arguments": one}) for one in told
    )
    djinn.working.set("site", {"agent": "quorble"})
    made = djinn.facts.get("dig", "site")
    done = djinn.memories.purge(made.id or "")
    assert (done.events, done.values) == (3, 1)
    assert holders(home, "zanth", "quorble", "Wibblewick") == []
    djinn._state.ledger.rebuild()


def test_a_vector_that_another_note_shares_stays(home: Home, djinn: Djinn) -> None:
    shared = home.root / "vaults" / "shared"
    for name in ("a", "b"):
        (shared / f"{name}.md").write_text("# Kettle\n\nThe kettle boils.\n")
    (shared / "c.md").write_text("# Lantern\n\nThe lantern burns.\n")
    djinn.index()
    assert djinn.memories.purge("shared:a.md").vectors == 0
    assert djinn.memories.purge("shared:c.md").vectors == 1
    assert [hit.path for hit in djinn.search("kettle").hits] == ["b.md"]


def test_what_is_in_the_trash_is_purged_by_name(home: Home, djinn: Djinn) -> None:
    for text in ("first", "second"):
        made = djinn.remember("lesson", "Gone", f"It was {text}: {WORDS[0]}.", force=True)
        djinn.memories.delete(made.path)
    with pytest.raises(UsageError, match="is ambiguous: mem_"):
        djinn.memories.purge("Gone")
    assert djinn.memories.purge(made.id or "").files == (".trash/lessons/gone-2.md",)
    # A note without an id, and one of another name that looks like its copy.
    me = home.root / "vaults" / "me"
    for name, text in (("plain.md", "# Plain\n\nOne."), ("plain-2.md", "# Plain two\n\nTwo.")):
        (me / name).write_text(text)
        djinn.memories.delete(name)
    assert djinn.memories.purge("plain.md").files == (".trash/plain.md",)
    assert (me / ".trash" / "plain-2.md").exists()
    assert not djinn.memories.purge("gone").problems
    assert holders(home, WORDS[0]) == []


@pytest.mark.soak
def test_a_purge_while_a_process_reads_the_index_is_completed_by_an_index_run(
    home: Home, djinn: Djinn, run: Run
) -> None:
    djinn.remember("lesson", "Wibblewick", TEXT)
    djinn.close()
    path = home.index_path
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as reader:
        reader.execute("begin; select count(*) from sqlite_schema").fetchall()
        done = run("memory", "purge", "wibblewick", "--yes", home=home.root)
        assert done.returncode == 1
        assert done.stderr.endswith("end that process, then run `djinn index`\n")
    assert holders(home, *WORDS) == [".djinn/index.db", ".djinn/index.db-wal"]
    assert run("index", home=home.root).returncode == 0
    assert holders(home, *WORDS) == []


def test_a_document_goes_with_its_original_and_versions(
    home: Home, djinn: Djinn, tmp_path: Path
) -> None:
    file = tmp_path / "paper.txt"
    for text in (f"First, {WORDS[0]}.", f"Then, {WORDS[1]}."):
        file.write_text(text)
        djinn.documents.ingest(paths=(file,))
    done = djinn.memories.purge("paper.txt")
    assert len(done.files) == 4 and not done.problems
    assert holders(home, *WORDS) == []


def test_a_read_only_vault_and_a_change_meanwhile_are_refused(
    home: Home, djinn: Djinn, tmp_path: Path
) -> None:
    made = djinn.remember("lesson", "Held", "Held text.")
    would = djinn.memories.purge("Held", dry_run=True)
    djinn.remember("lesson", "Held", "Another text.", existing="revise")
    with pytest.raises(Refused, match="have changed"):
        djinn.memories.purge("Held", files=would.files)
    home.edit((("vaults", "me", "read_only"), True))
    with pytest.raises(Refused, match="read-only"):
        Djinn(home).memories.purge("Held")
    assert (home.root / "vaults" / "me" / made.path).exists()


def test_versions_go_with_what_is_deleted_and_with_what_is_purged_from_the_trash(
    home: Home, djinn: Djinn
) -> None:
    first = djinn.remember("lesson", "Dia", "Quorble one.")
    djinn.remember("lesson", "Dia", "Quorble two.", existing="revise")
    djinn.remember("lesson", "Dia", "Quorble three.", existing="revise")
    djinn.memories.delete(first.id or "")
    assert djinn.search("quorble", mode="words").hits == ()
    assert len(list((home.root / "vaults/me/.trash/lessons/history").iterdir())) == 2
    done = djinn.memories.purge("Dia")
    assert len(done.files) == 3
    assert holders(home, "quorble", "Quorble") == []


def test_a_value_with_a_word_of_the_title_stays(home: Home, djinn: Djinn) -> None:
    djinn.remember("plan", "planning", "Quorble in the morning, then tea.")
    djinn.working.set("trip", "the planning of the trip")
    djinn.working.set("copy", "note: Quorble in the morning, then tea.")
    assert djinn.memories.purge("planning").values == 1
    assert [one.key for one in djinn.working.list().values] == ["trip"]


def test_a_note_whose_id_another_has_is_purged_by_its_path(home: Home, run: Run) -> None:
    vault = home.root / "vaults" / "me"
    for name in ("one", "two"):
        (vault / f"{name}.md").write_text(f"---\nid: mem_aaaaaaaaaaaaaaaa\n---\n# {name}\n")
    done = run("memory", "purge", "one.md", "--yes", home=home.root)
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in vault.glob("*.md")] == ["two.md"]


def test_what_hooks_could_not_record_loses_the_text(home: Home, djinn: Djinn) -> None:
    record(home, prompt("The vault code is violet harbour."), agent="nobody")
    record(home, prompt("Anything else?"), agent="nobody")
    record(home, prompt("And then?"), agent="nobody")
    djinn.remember("lesson", "Vault", "The vault code is violet harbour.", force=True)
    kept = Path(spool_of(home).rejected_path)
    assert "violet" in kept.read_text()
    djinn.memories.purge("Vault")
    assert "violet" not in kept.read_text() and "Anything else?" in kept.read_text()
    assert kept.read_text().count("\n") == 2


def test_a_prompt_that_waits_for_its_answer_loses_the_text(home: Home, djinn: Djinn) -> None:
    home.edit((("agents",), ["me", "finn"]))
    text = "The vault code is violet harbour."
    djinn.remember("lesson", "Stop", text, force=True)
    spool = spool_of(home)
    record(home, prompt(f"Note this: {text}"), agent="me")
    record(home, tool("echo 'The vault code is violet harbour.'"), agent="me")
    record(home, prompt(text), agent="finn")
    damage(home, b'{"prompt": "The vault code is violet')
    with lock(Path(spool.intake_lock)):
        # While another process takes events in, this does not.
        djinn.memories.show("Stop")
    waiting = [line.decode() for line in spool.read().values()]
    assert [text in line for line in waiting] == [True, True, True, False]
    djinn.memories.purge("Stop")
    waiting = [line.decode() for line in spool.read().values()]
    assert [text in line for line in waiting] == [False, True], waiting
    assert [json.loads(line)["event"] for line in waiting] == ["UserPromptSubmit"] * 2


def test_the_words_of_an_episode_are_removed_everywhere(home: Home, djinn: Djinn) -> None:
    said = "It is violet harbour, and no other word opens it."
    episode = djinn.episodes.record_interaction("Which word opens the gate?", said)
    djinn.recall(said)
    record(home, prompt(f"You told me: {said}"))
    djinn.memories.purge(episode.id or "")
    djinn.close()
    assert holders(home, "violet") == []


def test_the_bytes_kept_for_an_undo_are_purged_too(home: Home, djinn: Djinn) -> None:
    made = djinn.remember("lesson", "Wibblewick", TEXT)
    djinn.remember("lesson", "Ropes", "Knots hold longer in dry weather.", force=True)
    vault, other = home.personal("me"), "lessons/ropes.md"
    note, ropes = (vault.root / made.path), (vault.root / other).read_bytes()
    with change_set(djinn.runtime, "test", "Corrected a note") as changes:
        data = note.read_bytes()
        changes.rewrite(vault, made.path, data, data + b"Nobody at all.")
    with change_set(djinn.runtime, "test", "Quoted it") as changes:
        changes.rewrite(vault, other, ropes, ropes + TEXT.encode())
    with change_set(djinn.runtime, "test", "No longer") as changes:
        changes.rewrite(vault, other, ropes + TEXT.encode(), ropes)
    with change_set(djinn.runtime, "test", "Something else") as changes:
        changes.rewrite(vault, other, ropes, ropes + b"Wet ropes shrink.")
    assert any(path.startswith(".djinn/changes/") for path in holders(home, *WORDS[:2]))
    djinn.memories.purge(made.id or "")
    assert holders(home, *WORDS) == []
    assert [change.status for change in djinn.changes.list().changes] == [
        "done", "expired", "done", "expired", "done", "expired",
    ]  # fmt: skip
    djinn.changes.undo()
    assert (vault.root / other).read_bytes() == ropes


def test_a_file_name_means_no_title(home: Home, djinn: Djinn) -> None:
    other = home.root / "vaults" / "shared" / "lamps.md"
    other.write_text("# Note 1\n\nA lamp.\n")
    djinn.index()
    for name in ("note-1.md", "shared/note-1.md", "shared:note-1.md", "Note 1.md"):
        for remove in (djinn.memories.purge, djinn.memories.delete):
            with pytest.raises(NotFound, match="no note"):
                remove(name)
    assert other.exists()
    assert djinn.memories.purge("note-1").title == "Note 1"


def test_a_purge_waits_for_a_process_that_indexes(home: Home, djinn: Djinn) -> None:
    shared = home.root / "vaults" / "shared"
    for number, title in (("00001", "Note 1"), ("00002", "Note 2")):
        (shared / f"note-{number}.md").write_text(f"# {title}\n\nA lamp.\n")
    djinn.index()
    (shared / "note-1.md").write_text("# Note 1\n\nA kettle.\n")
    other = Djinn(home)
    with ThreadPoolExecutor(1) as pool:
        with other.runtime.state.lock():
            purging = pool.submit(lambda: Djinn(home).memories.purge("note-1.md"))
            time.sleep(0.5)
            assert not purging.done()
        assert purging.result(timeout=20).files == ("note-1.md",)
    assert sorted(file.name for file in shared.glob("note-*")) == ["note-00001.md", "note-00002.md"]
