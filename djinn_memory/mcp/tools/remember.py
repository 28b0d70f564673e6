"""The tool that writes a memory."""

from __future__ import annotations

from djinn_memory.mcp.arguments import optional_text, required_text
from djinn_memory.mcp.tool import tool
from djinn_memory.memories.writing.remember import RememberResult


def saved_lines(result: RememberResult) -> list[str]:
    """What was written, and where it is."""
    lines = [f"{result.action.capitalize()} {result.type} {result.title!r} [{result.id}]"]
    lines.append(f"{result.vault}/{result.path}")
    if result.previous:
        lines.append(f"The version before is {result.vault}/{result.previous}.")
    if result.searchable != "words and meaning":
        lines.append(f"Searchable by {result.searchable} so far.")
    return lines


@tool(
    "Remember something",
    "remember",
    without=frozenset({"fields"}),
    arguments={
        "type": required_text(
            100,
            "decision, lesson, preference, commitment, pattern, plan, reflection, observation, "
            "person, project, relationship, concept, skill, or a type of your own.",
        ),
        "title": required_text(
            500, "What it is about, on one line; links refer to it by this title."
        ),
        "text": optional_text(200_000, "What there is to say, in Markdown."),
    },
)
def remember(answer: RememberResult) -> list[str]:
    """Use it at once when something is settled that will matter in another session: a decision and
    why, a lesson, a preference, a commitment, what a person or project is like. Write one memory
    for one thing, in words that make sense without this conversation. Not for what matters only
    today (`working`), for a value under a name (`fact`), nor for handing over (`checkpoint`,
    `sleep`). `recall` or `search` first. If the title is refused because a note has it, or because
    another note says the same, call again with `existing` or `force`.
    Example: {"type": "decision", "title": "MyApp: use PostgreSQL", "text": "We need row locks and
    JSON. Considered SQLite (rejected: one writer).", "tags": ["project:myapp"]}
    """
    return saved_lines(answer)
