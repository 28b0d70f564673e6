"""What an agent starts with: who it is, where it stopped, what is due, what holds, what fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from djinn_memory.errors import DjinnError
from djinn_memory.memories.recall import session_log
from djinn_memory.memories.recall.recall import recall
from djinn_memory.memories.recall.requests import MOST_BUDGET, RecallOptions
from djinn_memory.memories.recall.session_log import Session
from djinn_memory.memories.sessions.standing import MemoryExcerpt, StandingMemories, TokenBudget
from djinn_memory.memories.writing.arguments import between
from djinn_memory.models import Problem
from djinn_memory.notes.dates import moment
from djinn_memory.search.query import plain
from djinn_memory.store.state import State
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.embedding.registry import ModelRegistry

T = TypeVar("T")

MIN_BUDGET = 100
"""Tokens: less holds no memory."""

RECALLED = 0.4
"""Of the budget, what the task may recall."""

FRAMES = 100
"""Tokens of the titles of what is recalled."""

AROUND = 150
"""Tokens of the headings and suggestions; of a small budget a third, at most."""


class UnfinishedSession(Struct, frozen=True):
    """A session that nobody ended."""

    session: str
    """What it is called."""
    since: str
    """When something happened in it last, as ISO 8601 in UTC."""
    checkpoint: MemoryExcerpt | None
    """Where it stood."""


class WakeContext(Struct, frozen=True):
    """The context to start with."""

    agent: str = ""
    """Whose it is."""
    session: str | None = None
    """The session that begins; null where that could not be written."""
    summary: MemoryExcerpt | None = None
    """The narrative summary."""
    profile: MemoryExcerpt | None = None
    """Who the agent is."""
    unfinished: UnfinishedSession | None = None
    """The session before, if it was not ended by `djinn sleep`."""
    handoff: MemoryExcerpt | None = None
    """What the last session left."""
    checkpoint: MemoryExcerpt | None = None
    """Where the work stood after that."""
    commitments: tuple[MemoryExcerpt, ...] = ()
    """What is open, the first due first."""
    projects: tuple[MemoryExcerpt, ...] = ()
    """Those that are active, the last changed first."""
    preferences: tuple[MemoryExcerpt, ...] = ()
    """Standing preferences and rules."""
    episodes: tuple[MemoryExcerpt, ...] = ()
    """What happened, as far as the task recalls it; without a task the newest. Likewise below."""
    patterns: tuple[MemoryExcerpt, ...] = ()
    """What was learned and decided."""
    entities: tuple[MemoryExcerpt, ...] = ()
    """Who and what is known."""
    documents: tuple[MemoryExcerpt, ...] = ()
    """Documents."""
    suggestions: tuple[str, ...] = ()
    """What to do first, a sentence each."""
    built_at: str = ""
    """When this was put together, as ISO 8601 in UTC."""
    query_used: str | None = None
    """What was recalled by: the task."""
    request_id: str | None = None
    """What to rate by what was recalled; null where nothing was."""
    tokens: int = 0
    """How many tokens of the packaged model it has as Markdown."""
    left_out: int = 0
    """Memories for which the budget had no room."""
    problems: list[Problem] = field(default_factory=list)
    """What kept something from being known."""


def wake(
    state: State,
    models: ModelRegistry,
    agent: str,
    *,
    task: str | None,
    budget: int,
    session: str | None,
    now: datetime,
) -> WakeContext:
    """Put together what `agent` starts with, and open a session; see `Djinn.wake`."""
    between("--budget", budget, MIN_BUDGET, MOST_BUDGET)
    task = task.strip() if task else ""
    asked = plain(task)
    problems: list[Problem] = []
    named = session_log.given(state, session)
    before = _tried(lambda: _unfinished(state, agent, named), problems)
    opened = _tried(lambda: session_log.start(state, agent, named, now), problems)
    shelf = StandingMemories(state, agent, now)
    room = TokenBudget(budget - min(AROUND, budget // 3))
    request = None
    found: list[MemoryExcerpt] = []
    if asked:
        # First, as it also reads the notes that changed.
        most = max(int(budget * RECALLED) - FRAMES, MIN_BUDGET // 2)
        options = RecallOptions(asked, "auto", budget=most, session=opened, agent=agent)
        answer = recall(state, models, options, now, source="wake")
        problems += answer.problems
        request = answer.request_id
        shelf.ranks = {(one.vault, one.path): one.rank for one in answer.memories}
        found = [one for each in answer.memories if (one := room.take(shelf.recalled(each)))]
        room.left_out += answer.more
    standing = _standing(shelf, room, before)
    if not asked:
        found = [one for each in shelf.newest() if (one := room.take(each))]
    told = {(one.vault, one.path) for one in _briefs(standing)}
    shown = [one for one in found if (one.vault, one.path) not in told]
    awake = replace(
        standing,
        agent=agent,
        session=opened,
        episodes=tuple(one for one in shown if one.plane == "episodic"),
        patterns=tuple(one for one in shown if one.plane in ("semantic", None)),
        entities=tuple(one for one in shown if one.plane == "knowledge"),
        documents=tuple(one for one in shown if one.plane == "documents"),
        built_at=moment(now),
        query_used=task if asked else None,
        request_id=request,
        left_out=room.left_out,
        problems=problems,
    )
    return replace(awake, suggestions=tuple(_suggestions(awake)))


def _tried(call: Callable[[], T], problems: list[Problem]) -> T | None:
    """What a call gives; where the ledger cannot be had, a problem, for the rest is known."""
    try:
        return call()
    except DjinnError as error:
        problems.append(Problem("ledger", str(error)))
        return None


def _unfinished(state: State, agent: str, named: str | None) -> Session | None:
    own = session_log.open_sessions(state, agent, named) if named else []
    return next(iter(own or session_log.open_sessions(state, agent)), None)


def _standing(shelf: StandingMemories, room: TokenBudget, before: Session | None) -> WakeContext:
    """What holds whatever the task is, the most important first, as far as there is room."""
    summary = room.take(shelf.summary())
    profile = room.take(shelf.profile())
    handoff = shelf.last("handoff")
    mark = shelf.last("checkpoint")
    unfinished = None
    if before:
        stood = shelf.by_id(before.note) if before.note else None
        unfinished = UnfinishedSession(before.id, before.at, room.take(stood))
        mark = None if stood and mark and stood.path == mark.path else mark
    if mark and handoff and mark.written <= handoff.written:
        mark = None
    return WakeContext(
        summary=summary,
        profile=profile,
        unfinished=unfinished,
        handoff=room.take(handoff),
        checkpoint=room.take(mark),
        commitments=tuple(room.each(shelf.commitments())),
        projects=tuple(room.each(shelf.projects())),
        preferences=tuple(room.each(shelf.preferences())),
    )


def _briefs(awake: WakeContext) -> Iterator[MemoryExcerpt]:
    stood = awake.unfinished.checkpoint if awake.unfinished else None
    for one in (awake.summary, awake.profile, stood, awake.handoff, awake.checkpoint):
        if one:
            yield one
    yield from (*awake.commitments, *awake.projects, *awake.preferences)
    yield from (*awake.episodes, *awake.patterns, *awake.entities, *awake.documents)


def _suggestions(awake: WakeContext) -> Iterator[str]:
    if awake.unfinished:
        stood = awake.unfinished.checkpoint
        yield (
            f"Session {awake.unfinished.session} did not end with `djinn sleep`"
            + (f"; go on from {stood.title!r}." if stood else "; it has no checkpoint.")
        )
    late = [one for one in awake.commitments if one.overdue]
    if late:
        others = f", with {len(late) - 1} more overdue" if late[1:] else ""
        yield f"{late[0].title!r} was due on {late[0].due}{others}."
    if awake.query_used and not any(one.rank for one in _briefs(awake)):
        yield "Nothing is remembered of this task; note what you find out with `djinn remember`."
    if awake.request_id:
        yield f"Say what helped: `djinn rate {awake.request_id} --useful RANK,...`."
    if awake.left_out:
        yield f"{count(awake.left_out, 'memory')} did not fit; give a larger --budget to see all."
