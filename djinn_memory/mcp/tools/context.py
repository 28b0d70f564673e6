"""The tool for the context of a task."""

from __future__ import annotations

from djinn_memory.mcp.tool import number, optional_text, tool
from djinn_memory.memories.briefing.markdown import markdown
from djinn_memory.memories.briefing.requests import ContextBundle
from djinn_memory.memories.catalog.requests import MIN_BUDGET


@tool(
    "Context of a task",
    "context",
    separator="\n\n",
    without=frozenset({"domains"}),
    arguments={
        "task": optional_text(2000, "The task or message."),
        "budget": number(MIN_BUDGET, 50_000, "Maximum tokens of text. Default: 4000."),
        "limit_per_type": number(1, 50),
    },
)
def build_context(answer: ContextBundle) -> list[str]:
    """Collect episodes, patterns, entities and documents for a task, best first with sources.

    Use it for a new task or message. It also suggests due commitments, open gaps and patterns that
    apply now. Not for a single question: use `recall`.
    Example: {"task": "plan the launch of MyApp"}
    """
    return [markdown(answer).rstrip()]
