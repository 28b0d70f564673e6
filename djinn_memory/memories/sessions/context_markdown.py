"""Renders the context of a session as Markdown for an agent, within a token budget."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from djinn_memory.chunking.tokens import token_counts
from djinn_memory.memories.catalog.requests import MemoryExcerpt
from djinn_memory.memories.profiles.day import event_text
from djinn_memory.memories.profiles.wording import profile_lines
from djinn_memory.memories.sessions.requests import AgentContext, WakeContext

PARTS = {
    "summary": "Summary",
    "profile": "Who I am",
    "handoff": "Last handoff",
    "checkpoint": "Last checkpoint",
    "commitments": "Open commitments",
    "projects": "Active projects",
    "preferences": "Preferences and rules",
    "conversation": "Previous conversation{session}",
    "episodes": "What happened{task}",
    "patterns": "Lessons and decisions{task}",
    "entities": "People and things{task}",
    "documents": "Documents{task}",
}
"""The parts of a context with their headings. The least important part is last."""


def excerpts(context: WakeContext, part: str) -> tuple[MemoryExcerpt, ...]:
    """The memories of a part as a list."""
    value = getattr(context, part)
    if isinstance(value, MemoryExcerpt):
        return (value,)
    return value or ()


def fit_to_budget(context: WakeContext, budget: int) -> WakeContext:
    """Remove parts of a context until its Markdown fits the token budget.

    The text around the memories counts too. Suggestions are removed first, then the last memories.
    """
    while (tokens := token_counts([markdown(context)])[0]) > budget:
        less = _shortened(context)
        if less is None:
            break
        context = less
    return replace(context, tokens=tokens)


def _shortened(context: WakeContext) -> WakeContext | None:
    """The context without its least important suggestion or memory; None if none is left."""
    if context.suggestions:
        return replace(context, suggestions=context.suggestions[:-1])
    left_out = context.left_out + 1
    for part in reversed(PARTS):
        if memories := excerpts(context, part):
            less = memories[:-1] if isinstance(getattr(context, part), tuple) else None
            if part == "conversation":
                # Its oldest turn matters least.
                less = memories[1:]
            return replace(context, left_out=left_out, **{part: less})
    if context.calendar:
        return replace(context, left_out=left_out, calendar=context.calendar[:-1])
    if context.unfinished and context.unfinished.checkpoint:
        unfinished = replace(context.unfinished, checkpoint=None)
        return replace(context, left_out=left_out, unfinished=unfinished)
    return None


def markdown(context: WakeContext) -> str:
    """The context with the most important part first. Empty parts are left out."""
    return "\n\n".join(_parts(context)) + "\n"


def _parts(context: WakeContext) -> Iterator[str]:
    session = f" (session {context.session})" if context.session else ""
    yield f"# Context for {context.agent}{session}"
    if context.confident is False:
        yield "Nothing is known about this task."
    last = context.unfinished
    if last and last.checkpoint:
        yield f"## Unfinished session {last.session} (last event {last.since[:16]}Z)"
        yield _excerpt(last.checkpoint)
    yield from calendar_part(context, "Today")
    task = f" for {' '.join(context.query_used.split())!r}" if context.query_used else ""
    session = f" (session {context.previous_session})" if context.previous_session else ""
    for part, heading in PARTS.items():
        if part == "profile":
            yield from profile_part(context, heading)
        elif memories := excerpts(context, part):
            yield f"## {heading.format(task=task, session=session)}"
            yield from map(_turn if part == "conversation" else _excerpt, memories)
    if context.suggestions:
        yield "## Suggestions"
        yield "\n".join(f"- {suggestion}" for suggestion in context.suggestions)


def calendar_part(context: AgentContext, heading: str) -> Iterator[str]:
    """The events of the day below a heading, if there are any."""
    if context.calendar:
        yield f"## {heading}"
        yield "\n".join(map(event_text, context.calendar))


def profile_part(context: AgentContext, heading: str) -> Iterator[str]:
    """The profile below a heading, if it says something to the agent."""
    profile = context.profile
    if profile is None:
        return
    text = [quoted(profile.text)] if profile.text else []
    if lines := [*profile_lines(profile), *text]:
        yield f"## {heading}"
        head = f"**{profile.title}** ({profile.type or 'note'}, {profile.address})"
        yield "\n".join([head, *lines])


def _excerpt(excerpt: MemoryExcerpt) -> str:
    """A memory: its title, its location, its text."""
    rank = f"{excerpt.rank}. " if excerpt.rank else ""
    due = f", due {excerpt.due}{' (overdue)' if excerpt.overdue else ''}" if excerpt.due else ""
    place = excerpt.id or excerpt.path
    holds = f", {excerpt.holds}" if excerpt.holds else ""
    head = f"{rank}**{excerpt.title}** ({excerpt.type or 'note'}{due}{holds}, {place})"
    return f"{head}\n{quoted(excerpt.text)}" if excerpt.text else head


def _turn(turn: MemoryExcerpt) -> str:
    """A turn of a conversation. Its title is the beginning of its text, so it is left out."""
    head = f"{turn.written} ({turn.id or turn.path})"
    return f"{head}\n{quoted(turn.text)}" if turn.text else head


def quoted(text: str) -> str:
    """A text as a quotation of Markdown."""
    # So that no heading in it looks like one of the context.
    return "\n".join(f"> {line}" if line else ">" for line in text.split("\n"))
