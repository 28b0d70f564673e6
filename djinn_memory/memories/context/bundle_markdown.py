"""Renders the context of a task as Markdown, within a token budget."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from djinn_memory.chunking.tokens import token_counts
from djinn_memory.errors import Remedy, wording
from djinn_memory.memories.catalog.requests import MemoryExcerpt
from djinn_memory.memories.context.requests import ContextBundle
from djinn_memory.memories.sessions.context_markdown import calendar_part, profile_part, quoted
from djinn_memory.notes.dates import local_day
from djinn_memory.system.plural import count

RANKED = {
    "episodes": "RELEVANT EPISODES",
    "patterns": "RELEVANT PATTERNS AND NOTES",
    "entities": "RELEVANT ENTITIES AND FACTS",
    "documents": "RELEVANT DOCUMENTS",
}
"""The parts that the search ranks, with their headings."""


def bundle_markdown(bundle: ContextBundle) -> str:
    """The context as Markdown. The part with the best memory comes first."""
    return "\n\n".join(_parts(bundle)) + "\n"


def fit_bundle(bundle: ContextBundle, budget: int) -> ContextBundle:
    """Remove memories from a context until its Markdown fits the token budget, the worst first.

    Then the oldest turns, the last suggestions, the summary, the events and the profile are
    removed.
    """
    while (tokens := token_counts([bundle_markdown(bundle)])[0]) > budget:
        less = _shortened(bundle)
        if less is None:
            break
        bundle = less
    return replace(bundle, tokens=tokens)


def _shortened(bundle: ContextBundle) -> ContextBundle | None:
    parts: list[tuple[float, str]] = [
        (memories[-1].rank or 0, part) for part in RANKED if (memories := getattr(bundle, part))
    ]
    left_out = bundle.left_out + 1
    if parts:
        _, part = max(parts)
        return replace(bundle, left_out=left_out, **{part: getattr(bundle, part)[:-1]})
    if bundle.conversation:
        return replace(bundle, left_out=left_out, conversation=bundle.conversation[1:])
    if bundle.suggestions:
        return replace(bundle, suggestions=bundle.suggestions[:-1])
    if bundle.summary:
        return replace(bundle, left_out=left_out, summary=None)
    if bundle.calendar:
        return replace(bundle, left_out=left_out, calendar=bundle.calendar[:-1])
    if bundle.profile:
        return replace(bundle, left_out=left_out, profile=None)
    return None


def _parts(bundle: ContextBundle) -> Iterator[str]:
    task = f": {' '.join(bundle.query_used.split())}" if bundle.query_used else ""
    yield f"# Context for {bundle.agent}{task}"
    if bundle.confident is False:
        yield "Nothing is known about this task."
    yield from profile_part(bundle, "PROFILE")
    yield from calendar_part(bundle, "TODAY")
    if bundle.summary:
        yield "## SUMMARY"
        yield _memory(bundle.summary)
    if bundle.conversation:
        yield f"## PREVIOUS CONVERSATION (session {bundle.previous_session})"
        yield from map(_turn, bundle.conversation)
    filled = [part for part in RANKED if getattr(bundle, part)]
    if not (filled or bundle.summary or bundle.query_used or bundle.left_out):
        save = wording.get().call(Remedy("remember"))
        yield f"Nothing is known yet. Save what you learn with {save}."
    for part in sorted(filled, key=lambda part: getattr(bundle, part)[0].rank or 0):
        yield f"## {RANKED[part]}"
        yield from map(_memory, getattr(bundle, part))
    if bundle.left_out:
        yield f"({count(bundle.left_out, 'memory')} did not fit into the budget.)"
    if bundle.suggestions:
        yield "## SUGGESTIONS"
        yield "\n".join(f"- {suggestion}" for suggestion in bundle.suggestions)


def _memory(memory: MemoryExcerpt) -> str:
    """A memory: its rank and title, its source, its text."""
    rank = f"{memory.rank}. " if memory.rank else ""
    about = [memory.type or "note", local_day(memory.written)]
    about += [memory.holds] if memory.holds else []
    head = f"{rank}**{memory.title}** ({', '.join(about)}) [{source(memory)}]"
    return f"{head}\n{quoted(memory.text)}" if memory.text else head


def _turn(turn: MemoryExcerpt) -> str:
    """A turn of a conversation. Its title is the beginning of its text, so it is left out."""
    head = f"{turn.written} [{source(turn)}]"
    return f"{head}\n{quoted(turn.text)}" if turn.text else head


def source(memory: MemoryExcerpt) -> str:
    """The address of a memory, with the page or the lines of the passage."""
    if memory.page_number:
        return f"{memory.address}, page {memory.page_number}"
    if memory.lines:
        first, last = memory.lines
        return f"{memory.address}, {f'lines {first}-{last}' if last > first else f'line {first}'}"
    return memory.address
