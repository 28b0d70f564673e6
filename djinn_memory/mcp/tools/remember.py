"""The tool that writes a memory."""

from __future__ import annotations

from typing import Annotated

from msgspec import NODEFAULT, Meta

from djinn_memory.mcp.answers import problem_lines
from djinn_memory.mcp.tool import Argument, Tool
from djinn_memory.memories.writing.remember import RememberResult


def remember_text(result: RememberResult) -> str:
    """What was written, and where it is."""
    lines = [f"{result.action.capitalize()} {result.type} {result.title!r} [{result.id}]"]
    lines.append(f"{result.vault}/{result.path}")
    if result.previous:
        lines.append(f"The version before is {result.vault}/{result.previous}.")
    if result.searchable != "words and meaning":
        lines.append(f"Searchable by {result.searchable} so far.")
    return "\n".join([*lines, *problem_lines(result.problems)])


TOOL = Tool(
    name="remember",
    title="Remember something",
    operations="remember",
    guidance="""\
Use it at once when something is settled that will matter in another session: a decision and \
why, a lesson, a preference, a commitment, what a person or project is like. Write one memory for \
one thing, in words that make sense without this conversation. Not for what matters only today \
(`working`), for a value under a name (`fact`), nor for handing over (`checkpoint`, `sleep`). \
`recall` or `search` first. If the title is refused because a note has it, or because another \
note says the same, call again with `existing` or `force`.
Example: {"type": "decision", "title": "MyApp: use PostgreSQL", "text": "We need row locks and
JSON. Considered SQLite (rejected: one writer).", "tags": ["project:myapp"]}""",
    text=remember_text,
    without=frozenset({"fields"}),
    arguments={
        "type": Argument(
            Annotated[
                str,
                Meta(
                    min_length=1,
                    max_length=100,
                    description="decision, lesson, preference, commitment, pattern, plan, "
                    "reflection, observation, person, project, relationship, concept, skill, or a "
                    "type of your own.",
                ),
            ],
            NODEFAULT,
        ),
        "title": Argument(
            Annotated[
                str,
                Meta(
                    min_length=1,
                    max_length=500,
                    description="What it is about, on one line; links refer to it by this title.",
                ),
            ],
            NODEFAULT,
        ),
        "text": Argument(
            Annotated[
                str, Meta(max_length=200_000, description="What there is to say, in Markdown.")
            ],
            "",
        ),
    },
)
