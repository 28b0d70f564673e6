"""Rows of `episodic_memories` and `action_outcome_mappings`, from journals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from djinn_memory.memories.episodes.reading import KINDS
from djinn_memory.memories.patterns.outcomes import WORTH
from djinn_memory.notes import journal
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.journal import JournalRecord
from djinn_memory.store.postgres.seeds.seed_rows import ActionOutcomeRow, EpisodicMemoryRow, SeedRow
from djinn_memory.sync.seeds.seed_memory import SeedMemory


def rows(memories: Sequence[SeedMemory]) -> Iterator[SeedRow]:
    """The rows of the episodes in a note."""
    episodes = [memory for memory in memories if memory.rows.block and memory.rows.type in KINDS]
    if not episodes:
        return
    path, text = episodes[0].path, decode(journal.intact(episodes[0].content))[0]
    records = {record.block: record for record in journal.read(path, text).records}
    for memory in episodes:
        if record := records.get(memory.rows.block or ""):
            yield _episode(memory, record)
            if outcome := _outcome(memory, record.comment.get("context")):
                yield outcome


def _episode(memory: SeedMemory, record: JournalRecord) -> EpisodicMemoryRow:
    context = record.comment.get("context")
    return EpisodicMemoryRow(
        memory_id=memory.id,
        episode_type=memory.rows.type or "",
        source_channel=memory.text("channel"),
        raw_content=record.words,
        content_embedding=memory.embedding,
        context_snapshot=context if isinstance(context, dict) else None,
        importance_score=memory.share("importance"),
        extracted_entities=[*map(_entity, memory.values("entities"))],
        extracted_intents=[*memory.values("intents"), *memory.values("similar_intents")],
        session_id=memory.text("session"),
        occurred_at=memory.date,
        djinn_id=memory.name,
    )


def _entity(text: str) -> Mapping[str, str]:
    kind, colon, name = text.partition(": ")
    return {"type": kind, "text": name} if colon else {"type": "name", "text": text}


def _outcome(memory: SeedMemory, context: Any) -> ActionOutcomeRow | None:
    if memory.rows.type != "outcome" or not isinstance(context, dict):
        return None
    action, result = context.get("action"), context.get("outcome")
    if not isinstance(action, str) or not action.strip() or result not in WORTH:
        return None
    others = {key: value for key, value in context.items() if key not in ("action", "outcome")}
    return ActionOutcomeRow(
        mapping_id=memory.id,
        action_type=" ".join(action.split()),
        action_context=others,
        outcome_type=str(result),
        effectiveness_score=WORTH[result],
        observed_at=memory.date,
        djinn_id=memory.name,
    )
