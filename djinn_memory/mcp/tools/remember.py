"""The tool that writes a memory."""

from __future__ import annotations

from djinn_memory.mcp.tool import optional_text, required_text, tool
from djinn_memory.memories.writing.remember import RememberResult


def saved_lines(result: RememberResult) -> list[str]:
    """Lines that describe the written memory and its location."""
    lines = [f"{result.action.capitalize()} {result.type} {result.title!r} [{result.id}]"]
    lines.append(f"{result.vault}/{result.path}")
    if result.previous:
        lines.append(f"The previous version is {result.vault}/{result.previous}.")
    if result.searchable != "words and meaning":
        lines.append(f"Searchable by {result.searchable} so far.")
    return lines


@tool(
    "Remember something",
    "remember",
    without=frozenset({"fields"}),
    hints={
        "tags": "Such as project/myapp.",
        "links": "Titles of notes to link to.",
        "importance": "0 to 1.",
        "confidence": "0 to 1.",
        "expires": "30d, 12h or 2026-12-31.",
        "domain": "Such as work.",
        "due": "2w, tomorrow or 2026-12-31.",
        "status": "active or done.",
        "supersedes": "The note that it replaces.",
        "existing": "What to do if a note has the title. revise keeps the old version.",
        "force": "Write it even if another note says the same.",
        "shared": "Write it for all agents.",
    },
    arguments={
        "type": required_text(
            100,
            "decision, lesson, preference, commitment, pattern, plan, observation, person, "
            "project, concept, skill, or your own.",
        ),
        "title": required_text(500, "The title, on one line; links use it."),
        "text": optional_text(200_000, "Markdown; [[Title]] links to a note."),
    },
)
def remember(answer: RememberResult) -> list[str]:
    """Write a memory, which the next search finds.

    Use it at once when something is settled that will matter in another session: a decision and
    why, a lesson, a preference, a commitment, what a person or project is like. One memory for
    one thing, in words that make sense without this conversation. `recall` or `search` first.
    Not for temporary values (`working`), single values with a name (`fact`), nor for handing over
    (`checkpoint`, `sleep`). If it is refused because a note has the title or says the same,
    call again with `existing` or `force`. Passwords and keys are refused.
    Example: {"type": "decision", "title": "MyApp: use PostgreSQL", "text": "We need row locks.
    Considered SQLite (rejected: one writer).", "tags": ["project/myapp"]}
    """
    return saved_lines(answer)
