"""Rows on a server that differ from what the notes say."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.store.index import memories
from tests.memories.library.papers import pdf
from tests.sync.pushes import HASHING, TableServer, tables
from tests.sync.test_reading import synced
from tests.sync.test_verified_events import TAMPERED as TAMPERED_EVENTS

__all__ = ["synced", "tables"]

TAMPERED = {
    "memory_facts": "update memory_facts set confidence = 3",
    "episodic_memories": "delete from episodic_memories",
    "knowledge_entities": "update knowledge_entities set history = '{}'",
    "knowledge_relations": "update knowledge_relations set target_name = 'x'",
    "documents": "update documents set total_pages = 7",
    "document_chunks": "update document_chunks set chunk_content = 'x' where chunk_index = 0",
    "memory_summary": "update memory_summary set updated_at = now()",
    "action_outcome_mappings": "update action_outcome_mappings set effectiveness_score = .7",
    "semantic_patterns": "update semantic_patterns set derived_from_episodes = '{}'",
    "index_memories": "update index_memories set title = 'x' "
    "where number = (select max(number) from index_memories)",
    "index_chunks": "update index_chunks set text = 'x' where ordinal = 0 "
    "and memory = (select max(memory) from index_chunks)",
    "index_terms": "update index_terms set length = 999 "
    "where chunk = (select max(chunk) from index_terms)",
    "index_windows": "update index_windows set start = 7 "
    "where chunk = (select max(chunk) from index_windows)",
    "index_token_signs": "delete from index_token_signs",
    "index_links": "update index_links set label = 'x' "
    "where memory = (select max(memory) from index_links)",
}
"""A change of rows of each table whose rows follow from single notes."""

TAMPERED_LISTS = {
    "index_counts": "update index_counts set chunks = chunks + 1 "
    "where term = (select min(term) from index_counts)",
    "index_postings": "delete from index_postings "
    "where term = (select max(term) from index_postings)",
    "index_domain_sets": "update index_domain_sets set length = length + 1",
    "index_segments": "delete from index_segments",
    "knowledge_relations": "update knowledge_relations set target_entity_id = "
    "'c0ffee00-0000-4000-8000-000000000000'",
    "outranked_notes": "insert into outranked_notes (user_id, kind, name, note_id) "
    "select user_id, 'fact', 'no/body', note_id from notes limit 1",
}
"""A change of rows of each table whose rows follow from all notes of a vault."""

DAMAGED = {
    "notes": "update notes set content = 'x', size = 1 where path like 'facts/%'",
    "attachments": "update attachments set content = 'x', size = 1 where path = 'pier.png'",
}
"""A change of rows of each table with files, which a home does not repair by itself."""

NOT_COMPARED = {
    "schema_migrations": "it says which scripts made the tables",
    "server": "it has the model, with which each run compares that of the home",
    "role_scopes": "the owner of the tables grants vaults in it",
    "scopes": "it counts transactions; nothing else tells how many there were",
    "revisions": "its marks are random, so that a restored server is recognized",
    "homes": "each home writes only its own row; `sync status` shows them",
}
"""Tables that are no projection, and why."""


def fill(djinn: Djinn, folder: Path) -> None:
    """Write notes from which rows in each table follow."""
    shared = djinn.home.shared.root
    djinn.facts.set(category="Maren", key="city", value="Gdy\0nia", shared=True)
    djinn.facts.set(category="Maren", key="city", value="Sopot", shared=True, confidence=0.7)
    djinn.entities.add(kind="project", name="Lamp", properties=["led-by=[[Maren]]"], shared=True)
    paper = pdf(folder / "lamp.pdf", ["The lamp is green. " * 60, "It is red. " * 60])
    djinn.documents.ingest(paths=[paper], strategy="page_based", vault="shared")
    own = djinn.home.personal(djinn.home.config.agents[0]).root
    djinn.summary.set(text="Maren runs the harbour.")
    djinn.outcomes.record(action="restart router", result="partial", context="cellar")
    for file in own.rglob("*.md"):
        place = shared / file.relative_to(own)
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(file.read_bytes())
    (shared / "patterns").mkdir()
    (shared / "patterns/waters.md").write_text(
        "---\ntype: pattern\ntitle: Waters plants\ncategory: behavioural\nconfidence: 0.8\n"
        'evidence:\n- "[[journal/2026-11-01.home#^mem-bbbbbbbbbbbbbbbb]]"\n---\nMondays.\n'
    )


def test_every_table_is_compared(tables: TableServer) -> None:
    names = tables.value(
        "select array_agg(tablename::text) from pg_tables where schemaname = current_schema()"
    )
    compared = {*TAMPERED, *TAMPERED_LISTS, *DAMAGED, *TAMPERED_EVENTS, "events"}
    assert {*names} == compared | NOT_COMPARED.keys()


@pytest.mark.soak
def test_rows_that_were_changed(synced: Djinn, tables: TableServer, tmp_path: Path) -> None:
    fill(synced, tmp_path)
    synced.index()
    # The model of tests has no token signs.
    state = synced.runtime.state
    state.cache.put(
        HASHING.identity, {}, dict.fromkeys(memories.window_hashes(state.index), b"0" * 16)
    )
    (synced.home.shared.root / "pier.png").write_bytes(b"a picture")
    synced.sync.run()
    synced.sync.run()
    assert not synced.sync.verify().drifts
    for table, statement in TAMPERED.items():
        assert tables.connection.execute(statement.encode()).rowcount, table
        drifts = synced.sync.verify().drifts
        assert {drift.why for drift in drifts} == {
            f"does not match its rows in {table}; run `djinn sync backfill --all`"
        }, table
        assert synced.sync.backfill(all=True).left == 0
        assert not synced.sync.verify().drifts
    for table, statement in TAMPERED_LISTS.items():
        assert tables.connection.execute(statement.encode()).rowcount, table
        named = {drift.table: drift.why for drift in synced.sync.verify().drifts}
        assert table in named and "run `djinn sync backfill --all`" in str(named[table]), named
        assert synced.sync.backfill(all=True).left == 0
        assert not synced.sync.verify().drifts, table
    for table, statement in DAMAGED.items():
        assert tables.connection.execute(statement.encode()).rowcount, table
        damaged = [drift for drift in synced.sync.verify().drifts if "is damaged" in drift.why]
        assert any((table == "attachments") == (drift.path == "pier.png") for drift in damaged)


@pytest.mark.parametrize("lacking", ["rows", "vectors"])
def test_rows_that_are_missing(synced: Djinn, tables: TableServer, lacking: str) -> None:
    synced.facts.set(category="Maren", key="city", value="Gdynia", shared=True)
    synced.index()
    synced.sync.run()
    if lacking == "rows":
        tables.connection.execute("update notes set pending = true")
    else:
        tables.connection.execute("update memory_facts set embedding = null")
    [drift] = synced.sync.verify().drifts
    assert drift.why.startswith({"rows": "has no rows", "vectors": "lacks vectors"}[lacking])
    synced.sync.run() if lacking == "rows" else synced.sync.backfill()
    assert not synced.sync.verify().drifts


def test_bytes_that_are_damaged(synced: Djinn, tables: TableServer, tmp_path: Path) -> None:
    fill(synced, tmp_path)
    synced.index()
    synced.sync.run()
    for statement in (
        "update notes set content = 'x' where path like 'projects/%'",
        "update notes set content = decode(repeat('00', size::int), 'hex') "
        "where path like 'facts/%'",
        "update attachments set content = 'x', size = 1",
    ):
        assert tables.connection.execute(statement.encode()).rowcount == 1
    drifts = synced.sync.verify().drifts
    assert [drift.path for drift in drifts] == [
        "documents/lamp.pdf", "facts/maren-city.md", "projects/lamp.md",
    ]  # fmt: skip
    assert {drift.why for drift in drifts} == {
        "is damaged on the server: its bytes do not match its hash; run `djinn sync backfill --all`"
    }
    # The bytes of a note that was changed here cannot be restored; the next run replaces them.
    note = synced.home.shared.root / "projects/lamp.md"
    note.write_text(note.read_text() + "It is lit.\n")
    synced.sync.backfill(all=True)
    assert [drift.path for drift in synced.sync.verify().drifts] == ["projects/lamp.md"]
    synced.sync.run()
    assert not synced.sync.verify().drifts


def test_links_of_a_home_without_a_model(synced: Djinn, tables: TableServer) -> None:
    shared = synced.home.shared.root
    synced.home.edit((("embedding", "provider"), "none"))
    synced = Djinn(Home(synced.home.root))
    (shared / "old.md").write_text("# Old\n\nA kettle.\n")
    synced.sync.run()
    (shared / "new.md").write_text("# New\n\n[[old]]\n")
    synced.sync.run()
    assert tables.value("select target_path from index_links") == "old.md"
    assert not synced.sync.verify().drifts
