"""The tools, in the order in which a client lists them."""

from __future__ import annotations

from djinn_memory.mcp.tools import (
    context,
    document,
    episode,
    fact,
    forget,
    gap,
    judging,
    lookup,
    recall,
    remember,
    sessions,
    similar,
    summary,
    working,
)

TOOLS = (
    sessions.wake,
    sessions.checkpoint,
    sessions.sleep,
    recall.recall,
    context.build_context,
    similar.recall_similar,
    judging.rate,
    judging.score,
    gap.gap,
    lookup.search,
    lookup.read,
    lookup.neighbours,
    lookup.list_,
    remember.remember,
    forget.forget,
    document.ingest,
    episode.record_interaction,
    episode.record_observation,
    fact.fact,
    summary.summary,
    working.working,
)
