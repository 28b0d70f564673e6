"""The rows that other programs read, from the notes of real homes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import numpy as np
import pytest

from djinn_memory.djinn import Djinn
from djinn_memory.models import Vault
from djinn_memory.store.export import export_notes
from djinn_memory.store.postgres import note_tables as stored
from djinn_memory.store.postgres.connection import writing
from djinn_memory.store.postgres.note_tables import NOTE_TABLES
from tests.memories.library.papers import pdf
from tests.sync.pushes import TableServer, note_id, tables

__all__ = ["tables"]


@pytest.fixture
def own(djinn: Djinn) -> Vault:
    """The vault of the home's agent."""
    return djinn.home.personal(djinn.home.config.agents[0])


def write(vault: Vault, path: str, text: str) -> str:
    """Write a note, and return its path."""
    file = vault.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return path


def only(listed: list[dict[str, Any]]) -> dict[str, Any]:
    """The only row."""
    assert len(listed) == 1
    return listed[0]


def mean_of(djinn: Djinn, vault: Vault, path: str, chunks: slice) -> list[float]:
    """The normalized mean of the vectors of the windows of a note."""
    [rows] = export_notes(djinn.runtime.state, vault, [path])
    vectors = [
        np.frombuffer(window.vector or b"", "<f4").astype(float)
        for chunk in rows.memories[-1].chunks[chunks]
        for window in chunk.windows
    ]
    total = [sum(values) / len(vectors) for values in zip(*vectors, strict=True)]
    length = math.sqrt(sum(value * value for value in total))
    return [value / length for value in total]


def vector(text: str) -> list[float]:
    """A vector as the server shows it."""
    return [float(number) for number in text.strip("[]").split(",")]


def test_episode(djinn: Djinn, own: Vault, tables: TableServer) -> None:
    episode = djinn.episodes.record_interaction(
        message="Deploy the harbour lamp for Bob Alder?",
        response="Done.",
        session="s1",
        channel="cli",
        context={"ticket": 7},
        at="2026-11-01T10:00Z",
    )
    djinn.index()
    tables.push(djinn, own)
    row = only(tables.rows("episodic_memories"))
    embedding = vector(row.pop("content_embedding"))
    assert embedding == pytest.approx(mean_of(djinn, own, episode.path, slice(None)), abs=1e-6)
    assert row == {
        "memory_id": uuid5(UUID(own.id), episode.id),
        "episode_type": "interaction",
        "source_channel": "cli",
        "raw_content": "Deploy the harbour lamp for Bob Alder?\n\nDone.",
        "context_snapshot": {"ticket": 7},
        # 0.5, 0.05 for a name, 0.05 for the question.
        "importance_score": 0.6,
        "extracted_entities": [{"type": "name", "text": "Bob Alder"}],
        "extracted_intents": ["question"],
        "access_count": 0,
        "consolidated_to_semantic": False,
        "session_id": "s1",
        "occurred_at": row["occurred_at"],
        "djinn_id": episode.id,
    }
    assert row["occurred_at"].isoformat() == "2026-11-01T10:00:00+00:00"


def test_outcome(djinn: Djinn, own: Vault, tables: TableServer) -> None:
    episode = djinn.outcomes.record(
        action="restart  router", result="partial", context="cellar", at="2026-11-02T08:00Z"
    )
    djinn.index()
    tables.push(djinn, own)
    row = only(tables.rows("action_outcome_mappings"))
    assert row.pop("observed_at").isoformat() == "2026-11-02T08:00:00+00:00"
    assert row == {
        "mapping_id": uuid5(UUID(own.id), episode.id),
        "action_type": "restart router",
        "action_context": {"where": "cellar"},
        "outcome_type": "partial",
        "effectiveness_score": 0.5,
        "djinn_id": episode.id,
    }
    assert only(tables.rows("episodic_memories"))["episode_type"] == "outcome"


def test_pattern(djinn: Djinn, own: Vault, tables: TableServer) -> None:
    write(
        own,
        "patterns/waters.md",
        "---\nid: mem_aaaaaaaaaaaaaaaa\ntype: pattern\ntitle: Waters plants\n"
        "category: behavioural\nconfidence: 0.8\nstatus: active\nevidence_count: 12\n"
        "first_seen: 2026-09-01\nlast_seen: 2026-11-01\nevidence:\n"
        '- "[[journal/2026-11-01.home#^mem-bbbbbbbbbbbbbbbb]]"\n'
        '- "[[journal/2026-11-02.home#^mem-cccccccccccccccc]]"\n---\nWaters plants on Mondays.\n',
    )
    djinn.index()
    tables.push(djinn, own)
    scope = UUID(own.id)
    row = only(tables.rows("semantic_patterns"))
    assert len(vector(row.pop("pattern_embedding"))) == 128
    assert row == {
        "pattern_id": uuid5(scope, "mem_aaaaaaaaaaaaaaaa"),
        "pattern_type": "behavioral",
        "pattern_category": "action_frequency",
        "pattern_name": "Waters plants",
        "pattern_description": "Waters plants on Mondays.",
        "confidence_score": 0.8,
        "evidence_count": 12,
        "status": "active",
        "derived_from_episodes": [
            uuid5(scope, "mem_bbbbbbbbbbbbbbbb"), uuid5(scope, "mem_cccccccccccccccc"),
        ],
        "first_seen": "2026-09-01",
        "last_seen": "2026-11-01",
        "djinn_id": "mem_aaaaaaaaaaaaaaaa",
    }  # fmt: skip


def test_entity_with_a_relation(djinn: Djinn, own: Vault, tables: TableServer) -> None:
    djinn.entities.add(kind="project", name="Lamp", text="The harbour lamp.", confidence=0.7)
    djinn.entities.set(name="Lamp", key="led-by", value="[[Maren]]", valid_from="2026-05-01")
    djinn.index()
    tables.push(djinn, own)
    lamp = only(tables.rows("knowledge_entities"))
    # Nobody is called Maren yet.
    assert only(tables.rows("knowledge_relations"))["target_entity_id"] is None
    djinn.entities.add(kind="person", name="Maren Holt", aliases=["Maren"])
    djinn.index()
    tables.push(djinn, own, ["people/maren-holt.md"])
    maren, again = tables.rows("knowledge_entities", "entity_type")
    assert again == lamp
    assert (maren["entity_type"], maren["entity_name"]) == ("person", "Maren Holt")
    assert maren["entity_aliases"] == ["Maren"]
    assert (lamp["description"], lamp["confidence"]) == ("The harbour lamp.", 0.7)
    assert lamp["properties"] == {"led-by": "[[Maren]]"}
    assert lamp["history"] == {
        "led-by": [
            {"value": "[[Maren]]", "valid_from": "2026-05-01", "valid_to": None,
             "source": "user_explicit", "confidence": 0.9}
        ]
    }  # fmt: skip
    relation = only(tables.rows("knowledge_relations"))
    assert relation == {
        "relation_id": uuid5(lamp["entity_id"], "led-by\nMaren\n2026-05-01\n"),
        "entity_id": lamp["entity_id"],
        "relation_type": "led-by",
        "target_name": "Maren",
        "target_key": "maren",
        "target_entity_id": maren["entity_id"],
        "valid_from": "2026-05-01",
        "valid_to": None,
        "source": "user_explicit",
        "confidence": 0.9,
    }


def test_relation_of_an_entity_that_was_removed(
    djinn: Djinn, own: Vault, tables: TableServer
) -> None:
    djinn.entities.add(kind="person", name="Maren")
    djinn.entities.add(kind="project", name="Lamp", properties=["led-by=[[Maren]]"])
    djinn.index()
    tables.push(djinn, own)
    assert only(tables.rows("knowledge_relations"))["target_entity_id"] is not None
    with writing(tables.connection, tables.address, UUID(own.id)) as writer:
        stored.remove(writer.tx, writer.scope, [note_id(own, "people/maren.md")])
    assert only(tables.rows("knowledge_relations"))["target_entity_id"] is None


def test_document_with_pages(djinn: Djinn, own: Vault, tables: TableServer, tmp_path: Path) -> None:
    source = pdf(
        tmp_path / "lamp.pdf",
        ["The lamp is green. " * 60, "The lamp is red. " * 60],
        title="Lamps", author="Maren Holt",
    )  # fmt: skip
    report = djinn.documents.ingest(
        paths=[source], strategy="page_based", document_type="technical"
    )
    djinn.index()
    tables.push(djinn, own)
    identity = uuid5(UUID(own.id), report.documents[0].document_id or "")
    document = only(tables.rows("documents"))
    assert {key: document[key] for key in (
        "document_id", "filename", "content_type", "document_type", "file_size_bytes",
        "total_pages", "title", "author", "subject", "chunk_strategy", "total_chunks",
    )} == {
        "document_id": identity, "filename": "lamp.pdf", "content_type": "application/pdf",
        "document_type": "technical", "file_size_bytes": source.stat().st_size,
        "total_pages": 2, "title": "Lamps", "author": "Maren Holt", "subject": None,
        "chunk_strategy": "page_based", "total_chunks": 2,
    }  # fmt: skip
    assert document["metadata"]["sha256"]
    first, second = tables.rows("document_chunks", "chunk_index")
    assert first["chunk_id"] == uuid5(identity, "0")
    assert (first["page_number"], second["page_number"]) == (1, 2)
    assert first["chunk_content"].startswith("The lamp is green.")
    assert "red" in second["chunk_content"]
    assert vector(second["chunk_embedding"]) == pytest.approx(
        mean_of(djinn, own, str(report.documents[0].path), slice(1, 2)), abs=1e-6
    )
    assert second["metadata"] == {"original_size": source.stat().st_size, "total_chunks": 2}
    assert (second["document_name"], second["total_pages"]) == ("lamp.pdf", 2)


def test_fact_with_a_history(djinn: Djinn, own: Vault, tables: TableServer) -> None:
    djinn.facts.set(category="Maren", key="city", value="Gdynia", valid_from="2025-01-01")
    djinn.facts.set(
        category="Maren", key="city", value="Sopot", valid_from="2026-03-01", source="tool_call",
        context="the address book", expires="2099-01-01",
    )  # fmt: skip
    djinn.index()
    tables.push(djinn, own)
    row = only(tables.rows("memory_facts"))
    assert row["expires_at"].isoformat() == "2099-01-01T00:00:00+00:00"
    assert {key: row[key] for key in (
        "category", "key", "value", "source", "confidence", "source_context", "valid_from",
        "history",
    )} == {
        "category": "Maren", "key": "city", "value": "Sopot", "source": "tool_call",
        "confidence": 95, "source_context": "the address book", "valid_from": "2026-03-01",
        "history": [{"value": "Gdynia", "valid_from": "2025-01-01", "valid_to": "2026-03-01",
                     "source": "user_explicit", "confidence": 0.9}],
    }  # fmt: skip


def test_two_notes_of_one_fact(djinn: Djinn, own: Vault, tables: TableServer) -> None:
    text = "---\ntype: fact\ncategory: Maren\nkey: city\nupdated: {}\n---\n{}\n"
    write(own, "facts/first.md", text.format("2026-01-02", "Gdynia"))
    write(own, "facts/second.md", text.format("2026-01-03", "Sopot"))
    djinn.index()
    tables.push(djinn, own)
    assert only(tables.rows("memory_facts"))["value"] == "Sopot"
    # Neither the order of the pushes nor their number counts.
    tables.push(djinn, own, ["facts/second.md"])
    tables.push(djinn, own, ["facts/first.md"])
    assert only(tables.rows("memory_facts"))["value"] == "Sopot"


def test_summary(djinn: Djinn, own: Vault, tables: TableServer) -> None:
    djinn.summary.set(text="Maren runs the harbour.")
    djinn.summary.set(text="Maren runs the harbour and the lamp.")
    djinn.index()
    tables.push(djinn, own)
    assert only(tables.rows("memory_summary"))["content"] == "Maren runs the harbour and the lamp."


def test_copy_of_a_note_has_another_id(djinn: Djinn, own: Vault, tables: TableServer) -> None:
    episode = djinn.episodes.record_observation(text="The lamp is lit.")
    journal = own.root / episode.path
    copy = journal.with_name(f"{journal.stem}-copy.md")
    copy.write_bytes(journal.read_bytes())
    djinn.index()
    tables.push(djinn, own)
    tables.push(djinn, own)
    place = f"{own.id}/{copy.relative_to(own.root).as_posix()}#^{episode.block}"
    names = {row["djinn_id"] for row in tables.rows("episodic_memories")}
    assert names in ({episode.id, place}, {episode.id, place.replace("-copy.md", ".md")})


def test_texts_that_a_server_cannot_keep(djinn: Djinn, own: Vault, tables: TableServer) -> None:
    write(own, "people/null.md", "---\ntype: person\ntitle: N\0l\ncity: a\0b\n---\nx\0y\n")
    djinn.index()
    tables.push(djinn, own)
    assert "\0" not in repr(tables.rows("knowledge_entities"))


def test_no_vectors_without_a_model(djinn: Djinn, own: Vault, tables: TableServer) -> None:
    djinn.home.edit((("embedding", "provider"), "none"))
    other = Djinn(djinn.home)
    other.facts.set(category="Maren", key="city", value="Gdynia")
    other.index()
    tables.push(other, own)
    assert only(tables.rows("memory_facts"))["embedding"] is None


def test_scope_that_is_removed(djinn: Djinn, own: Vault, tables: TableServer) -> None:
    djinn.facts.set(category="Maren", key="city", value="Gdynia")
    djinn.entities.add(kind="project", name="Lamp", properties=["led-by=[[Maren]]"])
    djinn.episodes.record_observation(text="The lamp is lit.")
    djinn.index()
    tables.push(djinn, own)
    tables.connection.execute("delete from scopes where user_id = %s", (own.id,))
    assert not any(tables.rows(table.name) for table in NOTE_TABLES)
