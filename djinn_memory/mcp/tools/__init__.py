"""The tools, in the order in which a client lists them."""

from __future__ import annotations

from djinn_memory.mcp.tool import Tool
from djinn_memory.mcp.tools import (
    fact,
    gap,
    judging,
    lookup,
    recall,
    remember,
    sessions,
    summary,
    working,
)

TOOLS: tuple[Tool, ...] = (
    *sessions.TOOLS,
    recall.TOOL,
    *judging.TOOLS,
    gap.TOOL,
    *lookup.TOOLS,
    remember.TOOL,
    fact.TOOL,
    summary.TOOL,
    working.TOOL,
)
