"""The recipes of briefings: which parts, in which order, with which shares of the budget.

Suggestions say what an agent should think of or do, beside what its memory says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from itertools import chain, islice, zip_longest
from typing import Any

from msgspec.structs import replace

from djinn_memory.chunking.tokens import token_counts
from djinn_memory.errors import DjinnError, Remedy, current_wording
from djinn_memory.languages.days import WEEKDAYS
from djinn_memory.memories.briefing import requests
from djinn_memory.memories.briefing.briefing import Briefing
from djinn_memory.memories.briefing.markdown import excerpts, fit
from djinn_memory.memories.catalog.requests import MemoryExcerpt
from djinn_memory.memories.catalog.standing import OVER, StandingMemories, TokenBudget
from djinn_memory.memories.profiles.requests import AgentProfile
from djinn_memory.memories.proposals.lifecycle import live_proposals
from djinn_memory.memories.proposals.log import CONTRADICTION, recorded_proposals
from djinn_memory.memories.recall import session_log
from djinn_memory.memories.recall.session_log import Session
from djinn_memory.memories.sessions.background import start_extraction
from djinn_memory.memories.sessions.marks import ended_by_upkeep, or_problem
from djinn_memory.models import PLANES, Filters, Known, Problem, Vault
from djinn_memory.notes.dates import iso_date
from djinn_memory.notes.slugs import fold, name_key
from djinn_memory.runtime import Runtime
from djinn_memory.scoring import alike, share_of
from djinn_memory.search.legs.words_query import content
from djinn_memory.search.stages.planes import ShownTexts
from djinn_memory.search.state import PlaneLimits
from djinn_memory.store.index.records import IndexedMemory, Selection
from djinn_memory.store.ledger import reading
from djinn_memory.store.ledger.reading import Gap
from djinn_memory.store.state import State
from djinn_memory.system.plural import count

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


def wake(runtime: Runtime, options: requests.WakeOptions) -> requests.WakeContext:
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
    start_extraction(runtime)
    # More than are given, so that there are some of each kind.
    result = briefing.recall("wake", 2 * runtime.home.config.recall.limit, session)
    if result is not None and any(problem.what == "ledger" for problem in result.problems):
        # The recall says what is lost with it.
        problems.clear()
    budget = briefing.allow(WAKE_BUDGET)
    room = briefing.room = TokenBudget(budget - min(WAKE_FRAME, budget // 3))
    memories: list[tuple[MemoryExcerpt, ...]] = []
    kinds = _by_plane(briefing.recalled(), runtime.home.config.recall.limit)
    if result is not None and result.verdict == "sure":
        memories = room.take_in_turn(kinds, most=int(budget * RECALLED))
    calendar = briefing.calendar()
    parts = _standing(briefing, before)
    parts |= briefing.conversation(runtime.home.config.sessions.wake, session)
    if result is not None and result.verdict != "sure":
        memories = room.take_in_turn(kinds)
    if result is None:
        planes = ("episodic", "semantic", "knowledge")
        memories = room.take_in_turn([[*briefing.standing.newest(plane)] for plane in planes])
    shown = {excerpt.place for value in parts.values() for excerpt in excerpts(value)}
    context = briefing.answer(
        requests.WakeContext,
        [memory for memory in chain(*memories) if memory.place not in shown],
        session=session,
        calendar=calendar,
        left_out=room.left_out,
        problems=(*problems, *briefing.problems()),
        **parts,
    )
    advice = (*(ended or ()), *_for_session(context), *_contradictions(briefing))
    return fit(replace(context, suggestions=advice), budget)


def build_context(runtime: Runtime, request: requests.BuildContext) -> requests.ContextBundle:
    """The briefing for a task; see `Djinn.context`."""
    settings = runtime.home.config.context
    briefing = Briefing(runtime, request)
    limit = request.limit_per_type or settings.limit
    planes = PlaneLimits(limit, settings.semantic, settings.documents)
    result = briefing.recall("context", limit * len(PLANES), planes=planes, hops=request.hops)
    budget = briefing.allow(CONTEXT_BUDGET)
    advice = tuple(_for_task(briefing))
    room = briefing.room = TokenBudget(budget)
    # At most half, so that a small budget still holds memories.
    frame = CONTEXT_FRAME + sum(token_counts([briefing.task, *advice]))
    room.left -= min(frame, budget // 2)
    calendar, profile = briefing.calendar(), briefing.profile(share=1 / 8)
    conversation = briefing.conversation(settings.turns)
    summary = None if result is not None else room.take(briefing.standing.summary())
    listed = briefing.recalled() if result is not None else _newest(briefing.standing, limit)
    apart = {memory.place for memory in (profile, summary) if memory}
    ranked = (memory for memory in listed if memory.place not in apart)
    # The best are taken first, whatever their types.
    taken = [memory for memory in (room.take(each, share=1 / 8) for each in ranked) if memory]
    context = briefing.answer(
        requests.ContextBundle,
        taken,
        profile=profile,
        calendar=calendar,
        summary=summary,
        suggestions=advice,
        left_out=room.left_out + (result.more if result is not None else 0),
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
        unfinished = requests.UnfinishedSession(before.id, before.at, room.take(last))
        if last and checkpoint and last.path == checkpoint.path:
            checkpoint = None
    ended = standing.credible(handoff.written) if handoff else None
    if checkpoint and ended is not None and standing.credible(checkpoint.written) <= ended:
        checkpoint = None
    parts = {"summary": summary, "profile": profile, "unfinished": unfinished}
    parts |= {"handoff": room.take(handoff), "checkpoint": room.take(checkpoint)}
    kinds = {
        "commitments": standing.commitments(),
        "projects": standing.projects(_project_names(profile)),
        "preferences": standing.preferences(),
    }
    return parts | dict(zip(kinds, room.take_in_turn([*kinds.values()]), strict=True))


def _project_names(profile: AgentProfile | None) -> set[str]:
    """The names of the active projects in a profile, in the form of `name_key`."""
    links = profile.projects if profile else ()
    targets = (re.split(r"[#|]", link.strip("[]"))[0] for link in links)
    return {name_key(target.rpartition("/")[2]) for target in targets}


def _by_plane(memories: Iterable[MemoryExcerpt], limit: int) -> list[list[MemoryExcerpt]]:
    """The best memories of the planes in turn, up to `limit`. The plane of the best is first."""
    kinds: dict[str, list[MemoryExcerpt]] = {}
    for memory in memories:
        # A plain note counts as learned knowledge.
        kinds.setdefault(memory.plane or "semantic", []).append(memory)
    turns = chain(*zip_longest(*kinds.values()))
    best = {memory.place for memory in islice(filter(None, turns), limit)}
    return [[memory for memory in kind if memory.place in best] for kind in kinds.values()]


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


SOON = timedelta(days=7)
"""A commitment is named this long before it is due."""

MOST = 3
"""Maximum number of suggestions of one kind."""


def _for_task(briefing: Briefing) -> Iterator[str]:
    """The suggestions of the context of a task."""
    now, runtime = briefing.now, briefing.runtime
    yield from _due_commitments(briefing.standing.commitments(), now.astimezone().date())
    yield from _patterns_now(runtime, runtime.home.scope(briefing.agent), now, briefing.domains)
    if not briefing.domains:
        # A gap has no domain.
        yield from _open_gaps(runtime, briefing.agent, briefing.task)
    yield from _contradictions(briefing)
    if briefing.result is not None:
        yield from _next_steps(briefing.result.verdict, briefing.result.request_id)


def _for_session(context: requests.WakeContext) -> Iterator[str]:
    """The suggestions for a session that begins."""
    words = current_wording()
    if context.unfinished:
        last = context.unfinished.checkpoint
        sleep = words.call(Remedy("sleep"))
        yield (
            f"Session {context.unfinished.session} was not ended with {sleep}"
            + (f"; continue from {last.title!r}." if last else "; it has no checkpoint.")
        )
    late = [commitment for commitment in context.commitments if commitment.overdue]
    if late:
        others = f", with {len(late) - 1} more overdue" if late[1:] else ""
        yield f"{late[0].title!r} was due on {late[0].due}{others}."
    yield from _next_steps(context.verdict, context.request_id)
    if context.left_out:
        memories = count(context.left_out, "memory")
        yield f"{memories} did not fit; pass a larger {words.argument('budget')} to see all."


def _contradictions(briefing: Briefing) -> Iterator[str]:
    """The open contradictions. With domains none: one may be between memories of others."""
    if briefing.domains:
        return
    # The recall reports that the ledger cannot be read.
    with suppress(DjinnError):
        recorded = recorded_proposals(briefing.runtime.state.ledger_if_any, CONTRADICTION).values()
        live = live_proposals(briefing.runtime, recorded, briefing.agent)
        number = sum(not each.accepted for each in live)
        if number:
            verb = "is" if number == 1 else "are"
            listing = current_wording().call(Remedy("review.list", {"kind": CONTRADICTION}))
            yield f"{count(number, 'contradiction')} between memories {verb} open: {listing}."


def _next_steps(verdict: Known | None, request_id: str | None) -> Iterator[str]:
    """The steps that an agent can take for its memory, after a recall for its task."""
    words = current_wording()
    if verdict not in (None, "sure"):
        yield f"Save what you learn about the task with {words.call(Remedy('remember'))}."
    if request_id and verdict == "sure":
        rate = Remedy("rate", {"target": request_id, "useful": "RANK,..."})
        yield f"Rate what helped: {words.call(rate)}"


def _due_commitments(commitments: Iterable[MemoryExcerpt], today: date) -> Iterator[str]:
    """The commitments that are overdue or due soon. They are given with the earliest due first."""
    until = (today + SOON).isoformat()
    due = [
        (day[:10], commitment)
        for commitment in commitments
        if (day := iso_date(commitment.due or "")) and day[:10] <= until
    ]
    for day, commitment in due[:MOST]:
        verb = "was due" if day < today.isoformat() else "is due"
        name = commitment.id or commitment.address
        yield f"Commitment {commitment.title!r} {verb} on {day} ({name})."
    if due[MOST:]:
        yield f"{count(len(due) - MOST, 'more commitment')} overdue or due soon."


def _open_gaps(runtime: Runtime, agent: str, task: str) -> Iterator[str]:
    """The open gaps that share words with the task, and the number of the others."""
    gaps: Sequence[Gap] = ()
    # The recall reports that the ledger cannot be read.
    with suppress(DjinnError):
        ledger = runtime.state.ledger_if_any
        gaps = reading.gaps(ledger, agent, "open") if ledger else ()
    if not gaps:
        return
    with runtime.index(runtime.home.scope(agent)) as index:
        wanted = content(index.words, task)
        likeness = {
            gap.id: alike(wanted, content(index.words, f"{gap.description} {gap.query or ''}"))
            for gap in gaps
        }
    related = sorted((gap for gap in gaps if likeness[gap.id]), key=lambda gap: -likeness[gap.id])[
        :MOST
    ]
    words = current_wording()
    for gap in related:
        close = words.call(Remedy("gaps.close", {"gap": gap.id}))
        yield f"Open gap: {gap.description} If you find out, remember it and close it: {close}."
    if others := len(gaps) - len(related):
        also = "more " if related else ""
        gap_list = words.call(Remedy("gaps.list"))
        yield f"{count(others, f'{also}open gap')} about other things: {gap_list}."


def _patterns_now(
    runtime: Runtime, vaults: Sequence[Vault], now: datetime, domains: Sequence[str]
) -> Iterator[str]:
    """The patterns that apply on this weekday at this hour, in the time zone of this machine."""
    local = now.astimezone()
    selection = Selection(Filters(types=("pattern",), domains=tuple(domains)), now=now)
    with runtime.index(vaults) as index:
        patterns = [
            pattern
            for pattern in index.memories(selection)
            if fold(pattern.field("status") or "active") not in {*OVER, "emerging", "deprecated"}
            and _applies(pattern, local)
        ]
    patterns.sort(key=lambda pattern: -(share_of(pattern.field("confidence")) or 0))
    for pattern in islice(patterns, MOST):
        yield f"Applies now: {pattern.title} (pattern, {pattern.id or pattern.address})."


def _applies(pattern: IndexedMemory, local: datetime) -> bool:
    """Whether a pattern with weekdays or hours applies at a local time.

    Rhythms of activity, such as peak hours, are no habits and suggest nothing.
    """
    days, hours = (
        [value for name, text in pattern.fields if name == key for value in _values(text)]
        for key in ("weekdays", "hours")
    )
    month_day = pattern.field("month_day") or str(local.day)
    if not (days or hours) or pattern.field("habit") == "false" or month_day != str(local.day):
        return False
    in_days = not days or any(_weekday(text) == local.weekday() for text in days)
    return in_days and (not hours or any(_has_hour(text, local.hour) for text in hours))


def _values(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _weekday(text: str) -> int | None:
    """The weekday of a name or its beginning, or of a number from 0 for Monday."""
    name = text.casefold()
    if name.isdecimal():
        return int(name)
    return next((day for known, day in WEEKDAYS.items() if name[:3] == known[:3]), None)


def _has_hour(text: str, hour: int) -> bool:
    """Whether an hour such as `9`, or a range such as `9-11` or `09:00-11:00`, has this hour."""
    parts = [part.partition(":")[0].strip() for part in text.replace("–", "-").split("-")]
    if len(parts) > 2 or not all(part.isdecimal() for part in parts):
        return False
    first, last = int(parts[0]), int(parts[-1])
    if len(parts) == 1:
        return hour == first
    return first <= hour < last if first < last else hour >= first or hour < last
