"""Builds the context of a task from one recall that covers all planes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from djinn_memory.chunking.tokens import token_counts
from djinn_memory.errors import Remedy, wording
from djinn_memory.memories.context.bundle_markdown import fit_bundle
from djinn_memory.memories.context.requests import BuildContext, ContextBundle, ContextMemory
from djinn_memory.memories.context.suggestions import due_commitments, open_gaps, patterns_now
from djinn_memory.memories.contradictions.log import open_contradictions
from djinn_memory.memories.recall.recall import RecalledMemory, RecallResult, recall
from djinn_memory.memories.recall.requests import MOST, RecallOptions
from djinn_memory.memories.sessions.conversation import previous_conversation
from djinn_memory.memories.sessions.requests import MemoryExcerpt
from djinn_memory.memories.sessions.standing import (
    EXCERPT_TOKENS,
    StandingMemories,
    TokenBudget,
)
from djinn_memory.models import PLANES, extended
from djinn_memory.notes.dates import moment
from djinn_memory.runtime import Runtime
from djinn_memory.search.planes import PlaneLimits
from djinn_memory.search.query import plain

HEADINGS = 60
"""Tokens for the headings."""

_PARTS = {"episodic": "episodes", "knowledge": "entities", "documents": "documents"}
"""The parts of a context, by plane."""


def build_context(runtime: Runtime, request: BuildContext) -> ContextBundle:
    """The context of a task; see `Djinn.context`."""
    now, settings = runtime.now(), runtime.home.config.context
    agent = runtime.home.agent(request.agent)
    task = (request.task or "").strip()
    limit = request.limit_per_type or settings.limit
    standing = StandingMemories(runtime.state, agent, now)
    result = _recall(runtime, task, limit, agent) if plain(task) else None
    suggestions = (*_reminders(runtime, standing, agent, task), *_next_steps(result))
    room = TokenBudget(request.budget)
    # At most half, so that a small budget still holds memories.
    room.left -= min(HEADINGS + sum(token_counts([task, *suggestions])), request.budget // 2)
    about = standing.profile()
    profile = room.take(_in_context(about) if about else None, share=1 / 8)
    turns, previous = previous_conversation(runtime, agent, None, room, settings.turns)
    ranked = map(_recalled, result.memories) if result else _newest(standing, limit)
    # The best are taken first, whatever their types.
    taken = [memory for memory in (room.take(each, share=1 / 8) for each in ranked) if memory]
    bundle = ContextBundle(
        agent=agent,
        profile=profile,
        conversation=tuple(map(_in_context, turns)),
        previous_session=previous,
        episodes=_of_part(taken, "episodes"),
        patterns=_of_part(taken, "patterns"),
        entities=_of_part(taken, "entities"),
        documents=_of_part(taken, "documents"),
        suggestions=suggestions,
        built_at=moment(now),
        query_used=task if result else None,
        confident=result.confident if result else None,
        request_id=result.request_id if result else None,
        left_out=room.left_out + (result.more if result else 0),
        problems=result.problems if result else (),
    )
    return fit_bundle(bundle, request.budget)


def _recall(runtime: Runtime, task: str, limit: int, agent: str) -> RecallResult:
    settings = runtime.home.config.context
    most = limit * len(PLANES)
    options = RecallOptions(
        plain(task), "auto", min(most, MOST), most * EXCERPT_TOKENS, agent=agent
    )
    planes = PlaneLimits(limit, settings.semantic, settings.documents)
    return recall(runtime, options, source="context", closest=0, each=EXCERPT_TOKENS, planes=planes)


def _reminders(
    runtime: Runtime, standing: StandingMemories, agent: str, task: str
) -> Iterator[str]:
    """What an agent should think of now."""
    now, scope = runtime.now(), runtime.home.scope(agent)
    yield from due_commitments(standing.commitments(), now.astimezone().date())
    yield from patterns_now(runtime, scope, now)
    yield from open_gaps(runtime, agent, task)
    yield from open_contradictions(runtime, agent)


def _next_steps(result: RecallResult | None) -> Iterator[str]:
    """What an agent can do for its memory."""
    words = wording.get()
    if result and not result.confident:
        yield f"Save what you learn about the task with {words.call(Remedy('remember'))}."
    if result and result.request_id:
        arguments = {"target": result.request_id, "useful": "RANK,..."}
        yield f"Rate what helped: {words.call(Remedy('rate', arguments))}."


def _newest(standing: StandingMemories, limit: int) -> Iterator[ContextMemory]:
    """The newest memories of each plane, in turn."""
    planes = (standing.newest(plane, limit) for plane in PLANES)
    return (_in_context(memory) for turn in zip_longest(*planes) for memory in turn if memory)


def _recalled(memory: RecalledMemory) -> ContextMemory:
    return extended(memory, ContextMemory, written=memory.created or memory.date)


def _in_context(excerpt: MemoryExcerpt) -> ContextMemory:
    return extended(excerpt, ContextMemory)


def _of_part(memories: Sequence[ContextMemory], part: str) -> tuple[ContextMemory, ...]:
    """The memories of a part of the context. A plain note stands with what was learned."""
    return tuple(each for each in memories if _PARTS.get(each.plane or "", "patterns") == part)
