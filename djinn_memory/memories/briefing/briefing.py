"""Builds a briefing: reads its parts, and takes as much of each as a token budget allows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from djinn_memory.chunking.tokens import token_counts
from djinn_memory.memories.briefing.requests import AgentContext, BuildContext, WakeOptions
from djinn_memory.memories.catalog.requests import MemoryExcerpt
from djinn_memory.memories.catalog.standing import EXCERPT_TOKENS, StandingMemories, TokenBudget
from djinn_memory.memories.episodes.reading import EpisodeText
from djinn_memory.memories.profiles.agenda import SHARE, event_text, events_of_day
from djinn_memory.memories.profiles.reading import profile_of, zone_of
from djinn_memory.memories.profiles.requests import AgentProfile, CalendarEvent
from djinn_memory.memories.profiles.settings import profile_lines
from djinn_memory.memories.recall.recall import RecallResult, recall
from djinn_memory.memories.recall.requests import MOST, RecallOptions
from djinn_memory.memories.sessions.verbs import previous_turns, spoken_lines
from djinn_memory.models import Problem, extended, plane_of
from djinn_memory.notes.dates import moment
from djinn_memory.notes.encoding import writable
from djinn_memory.runtime import Runtime
from djinn_memory.search.query import without_operators
from djinn_memory.search.state import PlaneLimits

C = TypeVar("C", bound=AgentContext)

CONVERSATION = 0.25
"""The maximum share of the budget for the previous conversation."""

PARTS = {
    "episodic": "episodes",
    "semantic": "patterns",
    "knowledge": "entities",
    "documents": "documents",
}
"""The parts of a briefing with recalled memories, by plane."""


class Briefing:
    """A briefing that is being built for a request.

    Its methods take from the budget, so that the method that is called first gets its share first.
    """

    def __init__(self, runtime: Runtime, request: BuildContext | WakeOptions) -> None:
        """Raises `NotFound` for an unknown agent, and `UsageError` for an unknown domain."""
        self.runtime = runtime
        self.agent = runtime.home.agent(request.agent)
        self.domains = request.domains
        runtime.home.check_domains(self.domains, self.agent)
        # A command line can hold bytes that are not UTF-8, which the tokenizer does not take.
        self.task = writable(request.task or "").strip()
        self.now = runtime.now()
        self.standing = StandingMemories(runtime.state, self.agent, self.now, self.domains)
        self.result: RecallResult | None = None
        """The recall for the task, if there is a task."""
        self.room = TokenBudget(0)
        """The budget of the memories, which the recipe sets."""
        self._wanted = request.budget
        self._profile: AgentProfile | None = None

    def recall(
        self,
        source: str,
        most: int,
        session: str | None = None,
        planes: PlaneLimits | None = None,
        hops: int | None = None,
    ) -> RecallResult | None:
        """Recall at most `most` memories for the task; without a task, None.

        This also indexes the notes that changed.
        """
        if not (question := without_operators(self.task)):
            return None
        options = RecallOptions(
            question, None, min(most, MOST), most * EXCERPT_TOKENS, session, hops=hops,
            agent=self.agent, domains=self.domains,
        )  # fmt: skip
        self.result = recall(self.runtime, options, source=source, planes=planes)
        self.standing.ranks = {
            (memory.vault, memory.path): memory.rank for memory in self.result.memories
        }
        return self.result

    def recalled(self) -> list[MemoryExcerpt]:
        """The memories of the recall, best first."""
        return [
            extended(
                memory,
                MemoryExcerpt,
                plane=plane_of(memory.type),
                written=memory.created or memory.date,
            )
            for memory in (self.result.memories if self.result is not None else ())
        ]

    def allow(self, usual: int) -> int:
        """The token budget: that of the request, else of the agent's profile, else the `usual`."""
        self._profile = profile_of(self.runtime, self.agent)
        named = self._profile and self._profile.default_budget
        return self._wanted or named or usual

    def calendar(self) -> tuple[CalendarEvent, ...]:
        """The events of the day of the agent."""
        zone = zone_of(self._profile)
        events = events_of_day(self.runtime, self.agent, zone, self.domains)
        return _fit_events(events, self.room)

    def profile(self, share: float) -> AgentProfile | None:
        """The profile of the agent, in at most a share of the budget."""
        return _fit_profile(self._profile, self.room, share)

    def conversation(self, limit: int, session: str | None = None) -> dict[str, Any]:
        """The end of the last conversation before `session`, oldest turn first, and its session.

        The newest turns that fit are taken, at most `limit`.
        """
        runtime, agent, room = self.runtime, self.agent, self.room
        turns = previous_turns(runtime, agent, limit, session, self.domains) if limit else []
        kept_back = max(0, room.left - int(room.budget * CONVERSATION))
        room.left -= kept_back
        taken: list[MemoryExcerpt] = []
        for turn in map(_turn, reversed(turns)):
            # The title is the beginning of the text, and is not shown.
            shown = room.take(replace(turn, title=""), share=1 / 8)
            if shown is None or not shown.text:
                break
            taken.insert(0, replace(shown, title=turn.title))
        room.left += kept_back
        name = turns[0].memory.field("session") if taken else None
        return {"conversation": tuple(taken), "previous_session": name}

    def answer(self, kind: type[C], memories: Sequence[MemoryExcerpt], **parts: Any) -> C:
        """The briefing with the `memories` in the parts of their planes, and with other parts."""
        result = self.result
        return kind(
            agent=self.agent,
            **_by_part(memories),
            built_at=moment(self.now),
            query_used=self.task if result is not None else None,
            confident=result.confident if result is not None else None,
            verdict=result.verdict if result is not None else None,
            request_id=result.request_id if result is not None else None,
            **parts,
        )

    def problems(self) -> list[Problem]:
        """The problems of the recall and of the profile."""
        return [
            problem
            for source in (self.result, self._profile)
            if source
            for problem in source.problems
        ]


def _fit_profile(
    profile: AgentProfile | None, room: TokenBudget, share: float
) -> AgentProfile | None:
    """A profile with as much of it as fits in a budget: a share for its keys, and one for its text.

    The last rules are left out first, then the projects, the working hours and the identity.
    """
    if profile is None:
        return None
    most = int(room.budget * share)
    while (tokens := _tokens(profile)) > min(most, room.left):
        profile = replace(_less(profile), cut=True)
    room.left -= tokens
    return room.take(profile, share=share)


def _less(profile: AgentProfile) -> AgentProfile:
    for name in ("rules", "projects", "working_now", "identity"):
        if value := getattr(profile, name):
            return replace(profile, **{name: value[:-1] if isinstance(value, tuple) else None})
    return replace(profile, instruction=None)


def _tokens(profile: AgentProfile) -> int:
    text = "\n".join(profile_lines(profile))
    return token_counts([text])[0] if text else 0


def _fit_events(events: Sequence[CalendarEvent], room: TokenBudget) -> tuple[CalendarEvent, ...]:
    """The events that fit in a share of a budget. Those that are over are left out first."""
    fitting = list(events)
    most = min(int(room.budget * SHARE), room.left)
    sizes = dict(zip(events, token_counts([event_text(event) for event in events]), strict=True))
    while fitting and sum(sizes[event] + 1 for event in fitting) > most:
        fitting.remove(next((event for event in fitting if event.over), fitting[-1]))
        room.left_out += 1
    room.left -= sum(sizes[event] + 1 for event in fitting)
    return tuple(fitting)


def _turn(turn: EpisodeText) -> MemoryExcerpt:
    memory = turn.memory
    text = "\n".join(spoken_lines(turn.message, turn.response, memory.type))
    return extended(memory, MemoryExcerpt, written=memory.created or memory.date, text=text)


def _by_part(memories: Iterable[MemoryExcerpt]) -> dict[str, Any]:
    """The memories of each plane. A plain note counts as learned knowledge."""
    parts: dict[str, list[MemoryExcerpt]] = {part: [] for part in PARTS.values()}
    for memory in memories:
        parts[PARTS.get(memory.plane or "", "patterns")].append(memory)
    return {part: tuple(listed) for part, listed in parts.items()}
