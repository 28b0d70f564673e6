"""Rows of `memory_facts`, from the notes of facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from djinn_memory.memories.facts.queries import UNKNOWN, fact_in
from djinn_memory.memories.facts.statements import FACT
from djinn_memory.notes.slugs import fold
from djinn_memory.store.postgres.seeds.seed_rows import MemoryFactRow
from djinn_memory.sync.seeds.entities import past_value
from djinn_memory.sync.seeds.seed_memory import SeedMemory, mean_vector, time_of


def rows(memories: Sequence[SeedMemory]) -> Iterator[MemoryFactRow]:
    """The row of the fact in a note, unless it was superseded or only proposed."""
    for memory in memories:
        unknown = fold(memory.text("status") or "") in UNKNOWN
        if memory.rows.type == FACT and not memory.rows.block and not unknown:
            yield _fact(memory)


def _fact(memory: SeedMemory) -> MemoryFactRow:
    fact = fact_in(memory.content, memory.vault, memory.path, memory.at)
    percent = None if fact.confidence is None else round(100 * fact.confidence)
    return MemoryFactRow(
        id=memory.id,
        category=fact.category,
        key=fact.key,
        value=fact.value,
        # Earlier values stand behind the first chunk.
        embedding=mean_vector(memory.rows.chunks[:1]),
        source=fact.source,
        confidence=percent,
        expires_at=time_of(fact.expires),
        source_context=fact.source_context,
        last_verified_at=time_of(fact.last_verified),
        created_at=time_of(fact.created),
        updated_at=time_of(fact.updated) or time_of(fact.created),
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
        history=[past_value(value) for value in fact.history],
        djinn_id=memory.name,
    )
