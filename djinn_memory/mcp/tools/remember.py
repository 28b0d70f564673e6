"""The tool that writes a memory."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from djinn_memory.mcp.answers import problem_lines
from djinn_memory.mcp.context import ClientContext
from djinn_memory.mcp.handmade import HandTool
from djinn_memory.memories.writing.remember import RememberResult
from djinn_memory.operations import OPERATIONS

Share = Annotated[float, Meta(ge=0, le=1)]
Line = Annotated[str, Meta(max_length=500)]


class RememberArguments(Struct, forbid_unknown_fields=True):
    """Write one memory, as a note that outlives this conversation.

    Use it at once when something is settled that will matter in another session: a decision and
    why, a lesson, a preference, a commitment, what a person or project is like. One memory for one
    thing, in words that make sense without this conversation. Not for what matters only today
    (`working`), for a value under a name (`fact`), for handing over (`checkpoint`, `sleep`), nor
    for secrets, which are refused. `recall` or `search` first: a title that is there, and what
    another note says already, is refused; then call again with `existing`, or `force`.
    Example: {"type": "decision", "title": "MyApp: use PostgreSQL", "text": "We need row locks and
    JSON. Considered SQLite (rejected: one writer).", "tags": ["project:myapp"]}
    """

    type: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=100,
            description="decision, lesson, preference, commitment, pattern, plan, reflection, "
            "observation, person, project, relationship, concept, skill, or a type of your own.",
        ),
    ]
    title: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=500,
            description="What it is about, in a line; links find it by it.",
        ),
    ]
    text: Annotated[
        str, Meta(max_length=200_000, description="What there is to say, in Markdown.")
    ] = ""
    shared: Annotated[
        bool,
        Meta(description="Into the vault that all agents see; else into your own."),
    ] = False
    tags: Annotated[list[Line], Meta(max_length=50, description="Such as project:myapp.")] = []
    links: Annotated[
        list[Line], Meta(max_length=50, description="Notes to link to, by title or path.")
    ] = []
    importance: Annotated[Share | None, Meta(description="0 to 1.")] = None
    confidence: Annotated[Share | None, Meta(description="How sure it is, 0 to 1.")] = None
    source: Annotated[Line | None, Meta(description="Where it comes from.")] = None
    expires: Annotated[Line | None, Meta(description="When it stops to hold: 30d, 2026-12-31.")] = (
        None
    )
    due: Annotated[
        Line | None, Meta(description="When a commitment is due: 2w, tomorrow, 2026-12-31.")
    ] = None
    status: Annotated[
        Line | None,
        Meta(description="Where it stands: active, done. With `append` it changes the note's."),
    ] = None
    supersedes: Annotated[
        Line | None,
        Meta(description="The note whose place it takes, by id or title; that is marked so."),
    ] = None
    existing: Annotated[
        Literal["refuse", "append", "revise", "new"],
        Meta(
            description="If the title is there: refuse; append to that note; revise it (the old "
            "version is kept and linked); or write a new one with a number."
        ),
    ] = "refuse"
    force: Annotated[
        bool, Meta(description="Write it although another note says nearly the same.")
    ] = False


def remember(context: ClientContext, asked: RememberArguments) -> RememberResult:
    """As `djinn remember`."""
    return context.djinn.remember(
        asked.type,
        asked.title,
        asked.text,
        agent=context.agent,
        shared=asked.shared,
        tags=tuple(asked.tags),
        links=tuple(asked.links),
        importance=asked.importance,
        confidence=asked.confidence,
        source=asked.source,
        expires=asked.expires,
        due=asked.due,
        supersedes=asked.supersedes,
        status=asked.status,
        existing=asked.existing,
        force=asked.force,
    )


def remember_text(done: RememberResult) -> str:
    """What was written, and how it is found."""
    parts = [f"{done.action.capitalize()} {done.type} {done.title!r} [{done.id}]"]
    parts.append(f"{done.vault}/{done.path}")
    if done.previous:
        parts.append(f"The version before is {done.vault}/{done.previous}.")
    if done.searchable != "words and meaning":
        parts.append(f"Searchable by {done.searchable} so far.")
    return "\n".join([*parts, *problem_lines(done.problems)])


TOOL = HandTool(
    "remember",
    "Remember something",
    RememberArguments,
    RememberResult,
    remember,
    remember_text,
    writes=True,
    by_action={"": OPERATIONS["remember"]},
)
