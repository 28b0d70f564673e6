"""Builds the context of a task from one recall that covers all planes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from msgspec.structs import replace

from djinn_memory.chunking.tokens import token_counts
from djinn_memory.errors import Remedy, wording
from djinn_memory.memories.catalog.excerpts import EXCERPT_TOKENS, TokenBudget
from djinn_memory.memories.catalog.requests import MemoryExcerpt
from djinn_memory.memories.context.bundle_markdown import fit_bundle
from djinn_memory.memories.context.requests import BuildContext, ContextBundle
from djinn_memory.memories.context.suggestions import due_commitments, open_gaps, patterns_now
from djinn_memory.memories.contradictions.log import open_contradictions
from djinn_memory.memories.profiles.day import events_of_day, fit_events
from djinn_memory.memories.profiles.reading import profile_of, zone_of
from djinn_memory.memories.profiles.wording import fit_profile
from djinn_memory.memories.recall.recall import RecallResult, recall
from djinn_memory.memories.recall.requests import MOST, RecallOptions
from djinn_memory.memories.sessions.conversation import previous_conversation
from djinn_memory.memories.sessions.standing import StandingMemories, by_part, recalled
from djinn_memory.models import PLANES
from djinn_memory.notes.dates import moment
from djinn_memory.notes.encoding import writable
from djinn_memory.runtime import Runtime
from djinn_memory.search.planes import PlaneLimits
from djinn_memory.search.query import plain
from djinn_memory.search.stages.repeats import ShownTexts

BUDGET = 4000
"""Tokens of a context, unless the request or the profile says otherwise."""

HEADINGS = 60
"""Tokens for the headings."""

READ = 5
"""Without a task, this many times the wanted memories are read, since some repeat others."""


def build_context(runtime: Runtime, request: BuildContext) -> ContextBundle:
    """The context of a task; see `Djinn.context`."""
    now, settings = runtime.now(), runtime.home.config.context
    agent = runtime.home.agent(request.agent)
    # A command line can hold bytes that are not UTF-8, which the tokenizer does not take.
    task = writable(request.task or "").strip()
    runtime.home.check_domains(request.domains, agent)
    limit = request.limit_per_type or settings.limit
    standing = StandingMemories(runtime.state, agent, now, request.domains)
    result = _recall(runtime, task, limit, agent, request.domains) if plain(task) else None
    profile = profile_of(runtime, agent)
    budget = request.budget or (profile and profile.default_budget) or BUDGET
    suggestions = (
        *_reminders(runtime, standing, agent, task, request.domains), *_next_steps(result),
    )  # fmt: skip
    room = TokenBudget(budget)
    # At most half, so that a small budget still holds memories.
    room.left -= min(HEADINGS + sum(token_counts([task, *suggestions])), budget // 2)
    events = events_of_day(runtime, agent, zone_of(profile), request.domains)
    calendar = fit_events(events, room)
    shown = fit_profile(profile, room, share=1 / 8)
    turns, previous = previous_conversation(
        runtime, agent, None, room, settings.turns, request.domains
    )
    summary = None if result else room.take(standing.summary())
    listed = map(recalled, result.memories) if result else _newest(standing, limit)
    apart = {memory.place for memory in (profile, summary) if memory}
    ranked = (memory for memory in listed if memory.place not in apart)
    # The best are taken first, whatever their types.
    taken = [memory for memory in (room.take(each, share=1 / 8) for each in ranked) if memory]
    bundle = ContextBundle(
        agent=agent,
        profile=shown,
        summary=summary,
        calendar=calendar,
        conversation=turns,
        previous_session=previous,
        suggestions=suggestions,
        built_at=moment(now),
        query_used=task if result else None,
        confident=result.confident if result else None,
        request_id=result.request_id if result else None,
        left_out=room.left_out + (result.more if result else 0),
        problems=(*(result.problems if result else ()), *(profile.problems if profile else ())),
    )
    return fit_bundle(replace(bundle, **by_part(taken)), budget)


def _recall(
    runtime: Runtime, task: str, limit: int, agent: str, domains: Sequence[str]
) -> RecallResult:
    settings = runtime.home.config.context
    most = limit * len(PLANES)
    options = RecallOptions(
        plain(task), "auto", min(most, MOST), most * EXCERPT_TOKENS, agent=agent, domains=domains
    )
    planes = PlaneLimits(limit, settings.semantic, settings.documents)
    return recall(runtime, options, source="context", closest=0, each=EXCERPT_TOKENS, planes=planes)


def _reminders(
    runtime: Runtime, standing: StandingMemories, agent: str, task: str, domains: Sequence[str]
) -> Iterator[str]:
    """What an agent should think of now."""
    now, scope = runtime.now(), runtime.home.scope(agent)
    yield from due_commitments(standing.commitments(), now.astimezone().date())
    yield from patterns_now(runtime, scope, now, domains)
    if not domains:
        # A gap has no domain, and a contradiction may be one between memories of other domains.
        yield from open_gaps(runtime, agent, task)
        yield from open_contradictions(runtime, agent)


def _next_steps(result: RecallResult | None) -> Iterator[str]:
    """What an agent can do for its memory."""
    words = wording.get()
    if result and not result.confident:
        yield f"Save what you learn about the task with {words.call(Remedy('remember'))}."
    if result and result.request_id:
        rate = Remedy("rate", {"target": result.request_id, "useful": "RANK,..."})
        yield f"Rate what helped: {words.call(rate)}."


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
