"""The tools, in the order in which a client lists them."""

from __future__ import annotations

from djinn_memory.mcp.tools import entities, links, lookup, recall, sessions, values, writing

TOOLS = (
    sessions.wake,
    sessions.checkpoint,
    sessions.sleep,
    recall.recall,
    sessions.context,
    recall.rate,
    recall.gap,
    lookup.search,
    lookup.read,
    links.neighbours,
    writing.remember,
    writing.memory,
    writing.ingest,
    writing.episode,
    entities.entity,
    values.fact,
    values.working,
)
