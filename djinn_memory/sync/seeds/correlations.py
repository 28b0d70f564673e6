"""Rows of `semantic_correlations`, from all episodes of an agent."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID, uuid5

from djinn_memory.memories.patterns.requests import ListCorrelations
from djinn_memory.memories.patterns.verbs import Patterns
from djinn_memory.runtime import Runtime
from djinn_memory.store.postgres.seeds.seed_rows import SemanticCorrelationRow

MOST = 1_000
"""The correlations that a server keeps, the most certain ones."""


def rows(runtime: Runtime, scope: UUID, agent: str) -> Iterator[SemanticCorrelationRow]:
    """The rows of an agent whose vault is the scope, as they are now."""
    listed = Patterns(runtime).correlations(ListCorrelations(limit=MOST, agent=agent))
    for each in listed.correlations:
        first_kind, _, first = each.first.partition(": ")
        second_kind, _, second = each.second.partition(": ")
        identity = uuid5(scope, f"{each.first}\n{each.second}")
        yield SemanticCorrelationRow(
            identity, first_kind, first, second_kind, second, each.strength, each.support
        )
