"""The recipes of briefings: which parts, in which order, with which shares of the budget."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice, zip_longest
from typing import Any

from msgspec.structs import replace

from djinn_memory.chunking.tokens import token_counts
from djinn_memory.memories.briefing import suggestions
from djinn_memory.memories.briefing.briefing import Briefing
from djinn_memory.memories.briefing.markdown import excerpts, fit
from djinn_memory.memories.briefing.requests import (
    BuildContext,
    ContextBundle,
    UnfinishedSession,
    WakeContext,
    WakeOptions,
)
from djinn_memory.memories.catalog.excerpts import TokenBudget
from djinn_memory.memories.catalog.requests import MemoryExcerpt
from djinn_memory.memories.catalog.standing import StandingMemories
from djinn_memory.memories.profiles.reading import project_names
from djinn_memory.memories.recall import session_log
from djinn_memory.memories.recall.session_log import Session
from djinn_memory.memories.sessions.left_open import ended_by_upkeep
from djinn_memory.memories.sessions.listing import or_problem
from djinn_memory.models import PLANES, Problem
from djinn_memory.runtime import Runtime
from djinn_memory.search.stages.planes import ShownTexts
from djinn_memory.search.state import PlaneLimits
from djinn_memory.store.state import State

WAKE_BUDGET = 2000
CONTEXT_BUDGET = 4000
"""Tokens of a briefing, unless the request or the profile says otherwise."""

RECALLED = 0.4
"""The maximum share of the budget of a session for the recall of its task."""

WAKE_FRAME = 150
"""Tokens for the headings and suggestions of a session, but at most a third of the budget."""

CONTEXT_FRAME = 60
"""Tokens for the headings of a context."""

READ = 5
"""Without a task, this many times the wanted memories are read, since some repeat others."""


def wake(runtime: Runtime, options: WakeOptions) -> WakeContext:
    """Start a new session and build its briefing; see `Djinn.wake`."""
    state, briefing = runtime.state, Briefing(runtime, options)
    agent, problems = briefing.agent, list[Problem]()
    named = session_log.given(state, options.session)
    before, ended = None, None
    # A checkpoint says what a session was about, whatever its domains.
    if not options.domains:
        before = or_problem(lambda: _unfinished(state, agent, named), problems)
        ended = or_problem(lambda: ended_by_upkeep(runtime, agent), problems)
    session = or_problem(lambda: session_log.start(state, agent, named, briefing.now), problems)
    # More than are given, so that there are some of each kind.
    result = briefing.recall("wake", 2 * runtime.home.config.recall.limit, session)
    if result and any(problem.what == "ledger" for problem in result.problems):
        # The recall says what is lost with it.
        problems.clear()
    budget = briefing.allow(WAKE_BUDGET)
    room = briefing.room = TokenBudget(budget - min(WAKE_FRAME, budget // 3))
    memories: list[tuple[MemoryExcerpt, ...]] = []
    if result:
        kinds = _by_plane(briefing.recalled(), runtime.home.config.recall.limit)
        memories = room.take_in_turn(kinds, most=int(budget * RECALLED))
    calendar = briefing.calendar()
    parts = _standing(briefing, before)
    parts |= briefing.conversation(runtime.home.config.sessions.wake, session)
    if not result:
        planes = ("episodic", "semantic", "knowledge")
        memories = room.take_in_turn([[*briefing.standing.newest(plane)] for plane in planes])
    shown = {excerpt.place for value in parts.values() for excerpt in excerpts(value)}
    context = briefing.answer(
        WakeContext,
        [memory for memory in chain(*memories) if memory.place not in shown],
        session=session,
        calendar=calendar,
        left_out=room.left_out,
        problems=(*problems, *briefing.problems()),
        **parts,
    )
    advice = (
        *(ended or ()),
        *suggestions.for_session(context),
        *suggestions.contradictions(briefing),
    )
    return fit(replace(context, suggestions=advice), budget)


def build_context(runtime: Runtime, request: BuildContext) -> ContextBundle:
    """The briefing for a task; see `Djinn.context`."""
    settings = runtime.home.config.context
    briefing = Briefing(runtime, request)
    limit = request.limit_per_type or settings.limit
    planes = PlaneLimits(limit, settings.semantic, settings.documents)
    result = briefing.recall("context", limit * len(PLANES), planes=planes)
    budget = briefing.allow(CONTEXT_BUDGET)
    advice = tuple(suggestions.for_task(briefing))
    room = briefing.room = TokenBudget(budget)
    # At most half, so that a small budget still holds memories.
    frame = CONTEXT_FRAME + sum(token_counts([briefing.task, *advice]))
    room.left -= min(frame, budget // 2)
    calendar, profile = briefing.calendar(), briefing.profile(share=1 / 8)
    conversation = briefing.conversation(settings.turns)
    summary = None if result else room.take(briefing.standing.summary())
    listed = briefing.recalled() if result else _newest(briefing.standing, limit)
    apart = {memory.place for memory in (profile, summary) if memory}
    ranked = (memory for memory in listed if memory.place not in apart)
    # The best are taken first, whatever their types.
    taken = [memory for memory in (room.take(each, share=1 / 8) for each in ranked) if memory]
    context = briefing.answer(
        ContextBundle,
        taken,
        profile=profile,
        calendar=calendar,
        summary=summary,
        suggestions=advice,
        left_out=room.left_out + (result.more if result else 0),
        problems=tuple(briefing.problems()),
        **conversation,
    )
    return fit(context, budget)


def _unfinished(state: State, agent: str, named: str | None) -> Session | None:
    own = session_log.open_sessions(state, agent, named) if named else []
    return next(iter(own or session_log.open_sessions(state, agent)), None)


def _standing(briefing: Briefing, before: Session | None) -> dict[str, Any]:
    """The parts that do not depend on the task, most important first, as far as they fit."""
    room, standing = briefing.room, briefing.standing
    summary = room.take(standing.summary())
    profile = briefing.profile(share=1 / 4)
    handoff, checkpoint = standing.last("handoff"), standing.last("checkpoint")
    unfinished = None
    if before:
        last = standing.by_id(before.note) if before.note else None
        unfinished = UnfinishedSession(before.id, before.at, room.take(last))
        if last and checkpoint and last.path == checkpoint.path:
            checkpoint = None
    ended = standing.credible(handoff.written) if handoff else None
    if checkpoint and ended is not None and standing.credible(checkpoint.written) <= ended:
        checkpoint = None
    parts = {"summary": summary, "profile": profile, "unfinished": unfinished}
    parts |= {"handoff": room.take(handoff), "checkpoint": room.take(checkpoint)}
    kinds = {
        "commitments": standing.commitments(),
        "projects": standing.projects(project_names(profile)),
        "preferences": standing.preferences(),
    }
    return parts | dict(zip(kinds, room.take_in_turn([*kinds.values()]), strict=True))


def _by_plane(memories: Iterable[MemoryExcerpt], limit: int) -> list[list[MemoryExcerpt]]:
    """The best memories of the planes in turn, up to `limit`. The plane of the best is first."""
    kinds: dict[str, list[MemoryExcerpt]] = {}
    for memory in memories:
        # A plain note stands with what was learned.
        kinds.setdefault(memory.plane or "semantic", []).append(memory)
    turns = chain(*zip_longest(*kinds.values()))
    kept = {memory.place for memory in islice(filter(None, turns), limit)}
    return [[memory for memory in kind if memory.place in kept] for kind in kinds.values()]


def _newest(standing: StandingMemories, limit: int) -> Iterator[MemoryExcerpt]:
    """The newest memories of each plane, in turn."""
    planes = (_unlike(standing.newest(plane, READ * limit), limit) for plane in PLANES)
    return (memory for turn in zip_longest(*planes) for memory in turn if memory)


def _unlike(memories: Iterator[MemoryExcerpt], limit: int) -> Iterator[MemoryExcerpt]:
    """As many memories, without those that nearly repeat an earlier one."""
    texts = ShownTexts()
    shown = 0
    while shown < limit and (memory := next(memories, None)):
        text = f"{memory.title} {memory.text}"
        if not texts.repeats("", text):
            texts.add("", text)
            shown += 1
            yield memory
