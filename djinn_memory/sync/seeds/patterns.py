"""Rows of `semantic_patterns`, from the notes of patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from uuid import uuid5

from djinn_memory.memories.patterns.notes import TYPE
from djinn_memory.store.postgres.seeds.seed_rows import SemanticPatternRow
from djinn_memory.sync.seeds.seed_memory import SeedMemory

_EPISODE = re.compile(r"#\^(mem-[0-9a-z]{16})\b")
"""The block id of an episode in a link. It is the episode's id with `-` for `_`."""

_TYPES = {"behavioural": "behavioral"}
_CATEGORIES = {
    "temporal": "activity_time",
    "behavioural": "action_frequency",
    "domain": "domain_focus",
    "preference": "choice",
    "causal": "outcome",
}


def rows(memories: Sequence[SeedMemory]) -> Iterator[SemanticPatternRow]:
    """The row of the pattern in a note."""
    for memory in memories:
        if memory.rows.type != TYPE or memory.rows.block:
            continue
        links = [
            match[1] for text in memory.values("evidence") for match in _EPISODE.finditer(text)
        ]
        episodes = [uuid5(memory.scope, link.replace("-", "_")) for link in dict.fromkeys(links)]
        category = memory.text("category")
        count = memory.number("evidence_count")
        note = memory.note
        yield SemanticPatternRow(
            pattern_id=memory.id,
            pattern_type=_TYPES.get(category or "", category),
            pattern_category=_CATEGORIES.get(category or ""),
            pattern_name=memory.rows.title,
            pattern_description=note.text[note.body :].strip(),
            pattern_embedding=memory.embedding,
            confidence_score=memory.share("confidence"),
            evidence_count=len(episodes) if count is None else count,
            status=memory.text("status"),
            derived_from_episodes=episodes,
            first_seen=memory.text("first_seen"),
            last_seen=memory.text("last_seen"),
            djinn_id=memory.name,
        )
