"""Renders a briefing as Markdown for an agent, and fits it to a token budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.chunking.tokens import token_counts
from djinn_memory.errors import Remedy, current_wording
from djinn_memory.memories.briefing.requests import (
    AgentContext,
    ContextBundle,
    UnfinishedSession,
    WakeContext,
)
from djinn_memory.memories.catalog.requests import MemoryExcerpt
from djinn_memory.memories.profiles.agenda import event_text
from djinn_memory.memories.profiles.settings import profile_lines
from djinn_memory.models import path_of_links
from djinn_memory.notes.dates import local_day
from djinn_memory.system.plural import count

LONGEST_TASK = 120
"""Characters of the task in a title, since whoever reads it knows the task."""

C = TypeVar("C", bound=AgentContext)
_Head = Callable[[MemoryExcerpt], str]


class _BriefingLayout(Struct, frozen=True):
    """How a kind of briefing is laid out."""

    title: str
    """The title, in which `{task}` and `{session}` stand for parts of it."""
    task: str
    """The task in the title and in headings, if there is one."""
    parts: Mapping[str, str]
    """The parts, in order, with their headings."""
    ranked: Sequence[str]
    """Parts that come in the order of their best memories, wherever one of them stands."""
    removed: Sequence[str]
    """The parts from which memories are removed to fit a budget, in order."""
    memory: _Head
    """The line above the text of a memory."""
    turn: _Head
    """The line above the text of a turn of a conversation."""


def markdown(briefing: AgentContext, *, rule: str = "") -> str:
    """A briefing as Markdown. Empty parts are left out. `rule` stands between memories."""
    return "\n\n".join(_paragraphs(briefing, _LAYOUTS[type(briefing)], rule)) + "\n"


def fit(briefing: C, budget: int) -> C:
    """Remove the least important parts of a briefing until its Markdown fits the token budget.

    The text around the memories counts too.
    """
    layout = _LAYOUTS[type(briefing)]
    while (tokens := token_counts([markdown(briefing)])[0]) > budget:
        less = _shortened(briefing, layout)
        if less is None:
            break
        briefing = less
    return replace(briefing, tokens=tokens)


def excerpts(part: object) -> tuple[MemoryExcerpt, ...]:
    """The memories of a part of a briefing as a list."""
    if isinstance(part, UnfinishedSession):
        part = part.checkpoint
    if isinstance(part, MemoryExcerpt):
        return (part,)
    return part if isinstance(part, tuple) else ()


def _shortened(briefing: C, layout: _BriefingLayout) -> C | None:
    """The briefing without its least important suggestion, event or memory; None if it has none."""
    ranked = [
        (memories[-1].rank or 0, part)
        for part in layout.ranked
        if (memories := excerpts(getattr(briefing, part)))
    ]
    parts = [part for part in layout.removed if excerpts(getattr(briefing, part))]
    part = max(ranked)[1] if ranked else next(iter(parts), None)
    if part is None:
        return None
    left_out = briefing.left_out + (part != "suggestions")
    return replace(briefing, left_out=left_out, **{part: _less(part, getattr(briefing, part))})


def _less(part: str, value: Any) -> Any:
    if isinstance(value, UnfinishedSession):
        return replace(value, checkpoint=None)
    if isinstance(value, MemoryExcerpt):
        return None
    # The oldest turn of a conversation matters least.
    return value[1:] if part == "conversation" else value[:-1]


def _paragraphs(briefing: AgentContext, layout: _BriefingLayout, rule: str) -> Iterator[str]:
    names = _names(briefing, layout)
    yield f"# {layout.title.format_map(names)}"
    if notice := _NOTICES.get(briefing.verdict or "sure"):
        yield notice
    for part in _in_order(briefing, layout):
        if paragraphs := [*_part(briefing, part, layout, rule)]:
            if heading := layout.parts[part]:
                yield f"## {heading.format_map(names)}"
            yield from paragraphs


def _names(briefing: AgentContext, layout: _BriefingLayout) -> dict[str, str]:
    """The names in the title and the headings, by placeholder."""
    task = " ".join((briefing.query_used or "").split())
    if len(task) > LONGEST_TASK:
        task = f"{task[:LONGEST_TASK].rpartition(' ')[0] or task[:LONGEST_TASK]} …"
    session, previous = getattr(briefing, "session", None), briefing.previous_session
    last: UnfinishedSession | None = getattr(briefing, "unfinished", None)
    return {
        "agent": briefing.agent,
        "task": layout.task.format(task) if task else "",
        "session": f" (session {session})" if session else "",
        "previous": f" (session {previous})" if previous else "",
        "unfinished": f"{last.session} (last event {last.since[:16]}Z)" if last else "",
    }


def _in_order(briefing: AgentContext, layout: _BriefingLayout) -> list[str]:
    """The parts in order. The ranked ones stand together, the one with the best memory first."""
    places = {part: place for place, part in enumerate(layout.parts)}

    def place(part: str) -> tuple[int, int]:
        if part not in layout.ranked:
            return places[part], 0
        best = next(iter(excerpts(getattr(briefing, part))), None)
        return places[layout.ranked[0]], (best and best.rank) or 0

    return sorted(layout.parts, key=place)


def _part(briefing: AgentContext, part: str, layout: _BriefingLayout, rule: str) -> Iterator[str]:
    """The paragraphs of a part below its heading."""
    if part == "left_out":
        yield from _notices(briefing, layout)
    elif part == "profile":
        yield from _profile(briefing)
    elif part == "calendar" and briefing.calendar:
        yield "\n".join(map(event_text, briefing.calendar))
    elif part == "suggestions" and briefing.suggestions:
        yield "\n".join(f"- {suggestion}" for suggestion in briefing.suggestions)
    elif part not in ("calendar", "suggestions"):
        # The title of a turn is the beginning of its text.
        head = layout.turn if part == "conversation" else layout.memory
        # What is not sure takes little room, so it is known by its id.
        if part in layout.ranked and briefing.verdict not in (None, "sure"):
            head = _by_name
        for number, memory in enumerate(excerpts(getattr(briefing, part))):
            if number and rule:
                yield rule
            yield f"{head(memory)}\n{_quoted(memory.text)}" if memory.text else head(memory)


def _notices(briefing: AgentContext, layout: _BriefingLayout) -> Iterator[str]:
    """Notices about memories that the briefing lacks."""
    parts = (*layout.ranked, "summary")
    if briefing.left_out:
        yield f"({count(briefing.left_out, 'memory')} did not fit into the budget.)"
    elif not briefing.query_used and not any(excerpts(getattr(briefing, part)) for part in parts):
        save = current_wording().call(Remedy("remember"))
        yield f"Nothing is known yet. Save what you learn with {save}."


def _profile(briefing: AgentContext) -> Iterator[str]:
    """The profile, if it says something to the agent."""
    profile = briefing.profile
    if profile is None:
        return
    text = [_quoted(profile.text)] if profile.text else []
    if lines := [*profile_lines(profile), *text]:
        head = f"**{profile.title}** ({profile.type or 'note'}, {profile.address})"
        yield "\n".join([head, *lines])


def _quoted(text: str) -> str:
    """A text as a quotation of Markdown."""
    # So that no heading in it looks like one of the briefing.
    return "\n".join(f"> {line}" if line else ">" for line in text.split("\n"))


def _about(memory: MemoryExcerpt, *details: str | None) -> str:
    """The rank and the title of a memory, with its type and its other properties."""
    rank = f"{memory.rank}. " if memory.rank else ""
    via = path_of_links(memory.via) if memory.via else None
    about = ", ".join([memory.type or "note", *filter(None, (*details, via))])
    return f"{rank}**{memory.title}** ({about})"


def _by_name(memory: MemoryExcerpt) -> str:
    overdue = " (overdue)" if memory.overdue else ""
    due = f"due {memory.due}{overdue}" if memory.due else None
    return _about(memory, due, memory.holds, memory.id or memory.path)


def _by_source(memory: MemoryExcerpt) -> str:
    return f"{_about(memory, local_day(memory.written), memory.holds)} [{_source(memory)}]"


def _source(memory: MemoryExcerpt) -> str:
    """The address of a memory, with the page or the lines of the passage."""
    if memory.page_number:
        return f"{memory.address}, page {memory.page_number}"
    if memory.lines:
        first, last = memory.lines
        return f"{memory.address}, {f'lines {first}-{last}' if last > first else f'line {first}'}"
    return memory.address


_NOTICES = {
    "weak": "No memory is sure to answer this task. The closest are given as excerpts.",
    "near": "No memory answers this task. The nearest are given as titles.",
    "nothing": "Nothing is known about this task.",
}
"""What a briefing says about its task, by verdict."""

_SESSION_MEMORIES = {
    "summary": "Summary",
    "profile": "Who I am",
    "handoff": "Last handoff",
    "checkpoint": "Last checkpoint",
    "commitments": "Open commitments",
    "projects": "Active projects",
    "preferences": "Preferences and rules",
    "conversation": "Previous conversation{previous}",
    "episodes": "What happened{task}",
    "patterns": "Lessons and decisions{task}",
    "entities": "People and things{task}",
    "documents": "Documents{task}",
}
"""The parts of a session's briefing with memories, the most important first."""

_LAYOUTS = {
    WakeContext: _BriefingLayout(
        title="Context for {agent}{session}",
        task=" for {!r}",
        parts={
            "unfinished": "Unfinished session {unfinished}",
            "calendar": "Today",
            **_SESSION_MEMORIES,
            "suggestions": "Suggestions",
        },
        ranked=(),
        removed=("suggestions", *reversed(_SESSION_MEMORIES), "calendar", "unfinished"),
        memory=_by_name,
        turn=lambda turn: f"{turn.written} ({turn.id or turn.path})",
    ),
    ContextBundle: _BriefingLayout(
        title="Context for {agent}{task}",
        task=": {}",
        parts={
            "profile": "PROFILE",
            "calendar": "TODAY",
            "summary": "SUMMARY",
            "conversation": "PREVIOUS CONVERSATION{previous}",
            "episodes": "RELEVANT EPISODES",
            "patterns": "RELEVANT PATTERNS AND NOTES",
            "entities": "RELEVANT ENTITIES AND FACTS",
            "documents": "RELEVANT DOCUMENTS",
            "left_out": "",
            "suggestions": "SUGGESTIONS",
        },
        ranked=("episodes", "patterns", "entities", "documents"),
        removed=("conversation", "suggestions", "summary", "calendar", "profile"),
        memory=_by_source,
        turn=lambda turn: f"{turn.written} [{_source(turn)}]",
    ),
}
"""The layout of each kind of briefing."""
