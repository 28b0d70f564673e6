"""Rows on a server that differ from what the notes say."""

from __future__ import annotations

from pathlib import Path

import pytest

from djinn_memory.djinn import Djinn
from tests.memories.library.papers import pdf
from tests.sync.pushes import TableServer, tables
from tests.sync.test_reading import synced

__all__ = ["synced", "tables"]

TAMPERED = {
    "memory_facts": "update memory_facts set confidence = 3",
    "episodic_memories": "delete from episodic_memories",
    "knowledge_entities": "update knowledge_entities set history = '{}'",
    "knowledge_relations": "update knowledge_relations set target_name = 'x'",
    "document_chunks": "update document_chunks set chunk_content = 'x' where chunk_index = 0",
    "memory_summary": "update memory_summary set updated_at = now()",
    "action_outcome_mappings": "update action_outcome_mappings set effectiveness_score = .7",
    "semantic_patterns": "update semantic_patterns set derived_from_episodes = '{}'",
    "index_chunks": "update index_chunks set text = 'x' where ordinal = 0 "
    "and memory = (select max(memory) from index_chunks)",
}


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


def test_rows_that_were_changed(synced: Djinn, tables: TableServer, tmp_path: Path) -> None:
    fill(synced, tmp_path)
    synced.index()
    synced.sync.run()
    synced.sync.run()
    assert not synced.sync.verify().drifts
    for table, statement in TAMPERED.items():
        assert tables.connection.execute(statement.encode()).rowcount, table
        drifts = synced.sync.verify().drifts
        assert {drift.why for drift in drifts} == {
            f"has other rows in {table}; run `djinn sync backfill --all`"
        }, table
        assert synced.sync.backfill(all=True).left == 0
        assert not synced.sync.verify().drifts


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
