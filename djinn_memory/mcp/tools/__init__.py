"""The tools, in the order in which a client lists them."""

from __future__ import annotations

from djinn_memory.mcp.tools import lookup, recall, sessions, values, writing

TOOLS = (
    sessions.wake,
    sessions.checkpoint,
    sessions.sleep,
    recall.recall,
    sessions.build_context,
    lookup.recall_similar,
    recall.rate,
    recall.score,
    recall.gap,
    lookup.search,
    lookup.read,
    lookup.neighbours,
    lookup.list_,
    writing.remember,
    writing.forget,
    writing.ingest,
    writing.record_interaction,
    writing.record_observation,
    values.fact,
    sessions.summary,
    values.working,
)
