"""The context of a new session: profile, last handoff, commitments and preferences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, zip_longest

from msgspec.structs import replace

from djinn_memory.errors import Remedy, wording
from djinn_memory.memories.catalog.excerpts import EXCERPT_TOKENS, TokenBudget
from djinn_memory.memories.catalog.requests import MemoryExcerpt
from djinn_memory.memories.contradictions.log import open_contradictions
from djinn_memory.memories.profiles.day import events_of_day, fit_events
from djinn_memory.memories.profiles.reading import profile_of, project_names, zone_of
from djinn_memory.memories.profiles.requests import AgentProfile
from djinn_memory.memories.profiles.wording import fit_profile
from djinn_memory.memories.recall import session_log
from djinn_memory.memories.recall.recall import RecallResult, recall
from djinn_memory.memories.recall.requests import RecallOptions
from djinn_memory.memories.recall.session_log import Session
from djinn_memory.memories.sessions.context_markdown import PARTS, excerpts, fit_to_budget
from djinn_memory.memories.sessions.conversation import previous_conversation
from djinn_memory.memories.sessions.left_open import ended_by_upkeep
from djinn_memory.memories.sessions.marks import or_problem
from djinn_memory.memories.sessions.requests import UnfinishedSession, WakeContext, WakeOptions
from djinn_memory.memories.sessions.standing import StandingMemories, by_part, recalled
from djinn_memory.models import Problem
from djinn_memory.notes.dates import moment
from djinn_memory.runtime import Runtime
from djinn_memory.search.query import plain
from djinn_memory.store.state import State
from djinn_memory.system.plural import count

RECALLED = 0.4
"""The maximum share of the budget for the recall of the task."""

BUDGET = 2000
"""Tokens of a context, unless the request or the profile says otherwise."""

AROUND = 150
"""Tokens for the headings and suggestions, but at most a third of the budget."""


def wake(runtime: Runtime, options: WakeOptions) -> WakeContext:
    """Start a new session and build its context; see `Djinn.wake`."""
    state, now = runtime.state, runtime.now()
    agent, task = state.home.agent(options.agent), (options.task or "").strip()
    state.home.check_domains(options.domains, agent)
    problems: list[Problem] = []
    named = session_log.given(state, options.session)
    # A checkpoint says what a session was about, whatever its domains.
    before = (
        None if options.domains else or_problem(lambda: _unfinished(state, agent, named), problems)
    )
    ended = (
        None if options.domains else or_problem(lambda: ended_by_upkeep(runtime, agent), problems)
    )
    session = or_problem(lambda: session_log.start(state, agent, named, now), problems)
    # First, because it also reads the notes that changed.
    result = _recall(runtime, task, agent, session, options.domains) if plain(task) else None
    if result:
        if any(problem.what == "ledger" for problem in result.problems):
            # The recall says what is lost with it.
            problems.clear()
        problems += result.problems
    profile = profile_of(runtime, agent)
    problems += profile.problems if profile else ()
    budget = options.budget or (profile and profile.default_budget) or BUDGET
    room = TokenBudget(budget - min(AROUND, budget // 3))
    standing = StandingMemories(state, agent, now, options.domains)
    memories: Sequence[MemoryExcerpt] = ()
    if result:
        standing.ranks = {(memory.vault, memory.path): memory.rank for memory in result.memories}
        kinds = _by_plane(map(recalled, result.memories), state.home.config.recall.limit)
        memories = list(chain(*room.take_in_turn(kinds, most=int(budget * RECALLED))))
    events = events_of_day(runtime, agent, zone_of(profile), options.domains)
    calendar = fit_events(events, room)
    context = _standing_context(standing, room, before, profile)
    turns = runtime.home.config.sessions.wake
    conversation, previous = previous_conversation(
        runtime, agent, session, room, turns, options.domains
    )
    if not result:
        kinds = [list(standing.newest(plane)) for plane in ("episodic", "semantic", "knowledge")]
        memories = list(chain(*room.take_in_turn(kinds)))
    shown = {excerpt.place for excerpt in (*_shown(context), *conversation)}
    context = replace(
        context,
        agent=agent,
        session=session,
        calendar=calendar,
        conversation=conversation,
        previous_session=previous,
        **by_part([memory for memory in memories if memory.place not in shown]),
        built_at=moment(now),
        query_used=task if result else None,
        confident=result.confident if result else None,
        request_id=result.request_id if result else None,
        left_out=room.left_out,
        problems=tuple(problems),
    )
    contradictions = () if options.domains else open_contradictions(runtime, agent)
    context = replace(
        context, suggestions=(*(ended or ()), *_suggestions(context), *contradictions)
    )
    return fit_to_budget(context, budget)


def _recall(
    runtime: Runtime, task: str, agent: str, session: str | None, domains: Sequence[str]
) -> RecallResult:
    # More than are given, so that there are some of each kind.
    most = 2 * runtime.home.config.recall.limit
    options = RecallOptions(
        plain(task), "auto", most, most * EXCERPT_TOKENS, session, agent=agent, domains=domains
    )
    # What is unlikely to help would cost an agent's attention: not even its titles are given.
    return recall(runtime, options, source="wake", closest=0, each=EXCERPT_TOKENS)


def _by_plane(excerpts: Iterable[MemoryExcerpt], limit: int) -> list[list[MemoryExcerpt]]:
    """The best memories of the planes in turn, up to `limit`. The plane of the best is first."""
    kinds: dict[str, list[MemoryExcerpt]] = {}
    for excerpt in excerpts:
        # A plain note stands with what was learned.
        kinds.setdefault(excerpt.plane or "semantic", []).append(excerpt)
    turns = chain(*zip_longest(*kinds.values()))
    kept = {excerpt.place for excerpt in islice(filter(None, turns), limit)}
    return [[excerpt for excerpt in kind if excerpt.place in kept] for kind in kinds.values()]


def _unfinished(state: State, agent: str, named: str | None) -> Session | None:
    own = session_log.open_sessions(state, agent, named) if named else []
    return next(iter(own or session_log.open_sessions(state, agent)), None)


def _standing_context(
    standing: StandingMemories,
    room: TokenBudget,
    before: Session | None,
    profile: AgentProfile | None,
) -> WakeContext:
    """The parts that do not depend on the task, most important first, as far as they fit."""
    summary = room.take(standing.summary())
    profile = fit_profile(profile, room)
    handoff = standing.last("handoff")
    checkpoint = standing.last("checkpoint")
    unfinished = None
    if before:
        last = standing.by_id(before.note) if before.note else None
        unfinished = UnfinishedSession(before.id, before.at, room.take(last))
        if last and checkpoint and last.path == checkpoint.path:
            checkpoint = None
    ended = standing.credible(handoff.written) if handoff else None
    if checkpoint and ended is not None and standing.credible(checkpoint.written) <= ended:
        checkpoint = None
    handoff, checkpoint = room.take(handoff), room.take(checkpoint)
    commitments, projects, preferences = room.take_in_turn([
        standing.commitments(), standing.projects(project_names(profile)), standing.preferences(),
    ])  # fmt: skip
    return WakeContext(
        summary=summary,
        profile=profile,
        unfinished=unfinished,
        handoff=handoff,
        checkpoint=checkpoint,
        commitments=commitments,
        projects=projects,
        preferences=preferences,
    )


def _shown(context: WakeContext) -> Iterator[MemoryExcerpt]:
    if context.unfinished and context.unfinished.checkpoint:
        yield context.unfinished.checkpoint
    for part in PARTS:
        yield from excerpts(context, part)


def _suggestions(context: WakeContext) -> Iterator[str]:
    words = wording.get()
    if context.unfinished:
        last = context.unfinished.checkpoint
        sleep = words.call(Remedy("sleep"))
        yield (
            f"Session {context.unfinished.session} was not ended with {sleep}"
            + (f"; continue from {last.title!r}." if last else "; it has no checkpoint.")
        )
    late = [excerpt for excerpt in context.commitments if excerpt.overdue]
    if late:
        others = f", with {len(late) - 1} more overdue" if late[1:] else ""
        yield f"{late[0].title!r} was due on {late[0].due}{others}."
    if context.confident is False:
        yield f"Save what you learn about the task with {words.call(Remedy('remember'))}."
    if context.request_id:
        rate = Remedy("rate", {"target": context.request_id, "useful": "RANK,..."})
        yield f"Rate what helped: {words.call(rate)}."
    if context.left_out:
        memories = count(context.left_out, "memory")
        yield f"{memories} did not fit; pass a larger {words.argument('budget')} to see all."
