"""Rows of `semantic_correlations`, from the episodes of an agent until its last consolidation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from uuid import UUID, uuid5

from djinn_memory.memories.patterns.verbs import correlations_until
from djinn_memory.runtime import Runtime
from djinn_memory.store.ledger.changes import StoredEvent
from djinn_memory.store.postgres.projections.tables import Row

MOST = 1_000
"""The correlations of an agent that a server keeps, the most certain ones."""


def rows(runtime: Runtime, scope: UUID, consolidations: Iterable[StoredEvent]) -> Iterator[Row]:
    """The rows of the agents of a scope, given their consolidations, the oldest first."""
    last = {stored.event.subject: stored.at for stored in consolidations}
    for agent, at in sorted(last.items()):
        listed = correlations_until(runtime, agent, datetime.fromisoformat(at))
        for pair in listed.correlations[:MOST]:
            first_kind, _, first = pair.first.partition(": ")
            second_kind, _, second = pair.second.partition(": ")
            identity = uuid5(scope, f"{pair.first}\n{pair.second}")
            yield {
                "correlation_id": identity,
                "concept_a_type": first_kind,
                "concept_a_value": first,
                "concept_b_type": second_kind,
                "concept_b_value": second,
                "correlation_strength": pair.strength,
                "observations": pair.support,
            }
