"""What `wake` found, as Markdown that an agent reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from djinn_memory.chunking.tokens import token_counts
from djinn_memory.memories.sessions.standing import MemoryExcerpt
from djinn_memory.memories.sessions.wake import WakeContext

SINGLE = ("checkpoint", "handoff", "profile", "summary")
LISTED = ("documents", "entities", "patterns", "episodes", "preferences", "projects", "commitments")
"""Parts of a context with many memories, and with one; that which can best be missed first."""


def fit_to_budget(awake: WakeContext, budget: int) -> WakeContext:
    """`awake` without what its Markdown has no room for in a budget of tokens.

    What stands around the memories counts here: suggestions go first, then the last of them.
    """
    while (tokens := token_counts([markdown(awake)])[0]) > budget:
        less = _less(awake)
        if less is None:
            break
        awake = less
    return replace(awake, tokens=tokens)


def _less(awake: WakeContext) -> WakeContext | None:
    if awake.suggestions:
        return replace(awake, suggestions=awake.suggestions[:-1])
    left_out = awake.left_out + 1
    for name in LISTED:
        if found := getattr(awake, name):
            return replace(awake, left_out=left_out, **{name: found[:-1]})
    for name in SINGLE:
        if getattr(awake, name):
            return replace(awake, left_out=left_out, **{name: None})
    if awake.unfinished and awake.unfinished.checkpoint:
        return replace(
            awake, left_out=left_out, unfinished=replace(awake.unfinished, checkpoint=None)
        )
    return None


def markdown(awake: WakeContext) -> str:
    """The context to start with, the most important first; parts without anything are left out."""
    return "\n\n".join(_parts(awake)) + "\n"


def _parts(awake: WakeContext) -> Iterator[str]:
    inside = f" (session {awake.session})" if awake.session else ""
    yield f"# Context for {awake.agent}{inside}"
    stood = awake.unfinished
    if stood and stood.checkpoint:
        yield f"## Unfinished session {stood.session} (last heard of {stood.since[:16]}Z)"
        yield _item(stood.checkpoint)
    for head, one in (
        ("Summary", awake.summary),
        ("Who I am", awake.profile),
        ("Last handoff", awake.handoff),
        ("Last checkpoint", awake.checkpoint),
    ):
        if one:
            yield f"## {head}"
            yield _item(one)
    task = f" for {' '.join(awake.query_used.split())!r}" if awake.query_used else ""
    for head, found in (
        ("Open commitments", awake.commitments),
        ("Active projects", awake.projects),
        ("Preferences and rules", awake.preferences),
        (f"What happened{task}", awake.episodes),
        (f"What was learned and decided{task}", awake.patterns),
        (f"Who and what is known{task}", awake.entities),
        (f"Documents{task}", awake.documents),
    ):
        yield from _section(head, found)
    if awake.suggestions:
        yield "## Suggestions"
        yield "\n".join(f"- {one}" for one in awake.suggestions)


def _section(head: str, found: Sequence[MemoryExcerpt]) -> Iterator[str]:
    if found:
        yield f"## {head}"
        yield from map(_item, found)


def _item(one: MemoryExcerpt) -> str:
    """A memory: its title, where it is, what it says."""
    rank = f"{one.rank}. " if one.rank else ""
    due = f", due {one.due}{' (overdue)' if one.overdue else ''}" if one.due else ""
    head = f"{rank}**{one.title}** ({one.type or 'note'}{due}, {one.id or one.path})"
    return f"{head}\n{_quoted(one.text)}" if one.text else head


def _quoted(text: str) -> str:
    # So that no heading in it is taken for one of the context.
    return "\n".join(f"> {line}" if line else ">" for line in text.split("\n"))
