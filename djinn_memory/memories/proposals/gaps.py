"""Gaps: information that an agent did not find, and later notes that answer it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from djinn_memory.errors import DjinnError, NotFound, Remedy
from djinn_memory.memories.catalog.catalog import find_memory, ledger_name, seen_names
from djinn_memory.memories.recall import gap_answers, session_log
from djinn_memory.memories.recall.requests import Sentence
from djinn_memory.models import Problem, Vectors
from djinn_memory.operations.checks import RawText
from djinn_memory.operations.operation import Namespace, operation
from djinn_memory.search.narrowing import AgentName
from djinn_memory.store.ledger import Event, reading
from djinn_memory.store.ledger.reading import Gap
from djinn_memory.system.locks import lock

COMMAND = "gap suggest"
"""The command under which answers are accepted."""


class GapGroup(Struct, frozen=True):
    """Gaps about one topic."""

    gaps: tuple[Gap, ...]
    """The gaps, oldest first."""


class GapSuggestion(Struct, frozen=True):
    """A note that may answer a gap."""

    gap: Gap
    """The gap that the note may answer."""
    memory: str
    """The id of the note, else its vault and path."""
    title: str
    """The title of the note."""
    vault: str
    """The vault of the note."""
    path: str
    """The path of the note in its vault."""
    likeness: float
    """The cosine between the gap and the note, on the scale of the packaged model."""
    closed: bool
    """Whether the gap was closed with this note."""


class ReportGap(Struct, frozen=True):
    """Report information that is missing from memory."""

    description: Annotated[
        Sentence, Meta(description="What was missing, in one self-contained sentence.")
    ]
    query: Annotated[Sentence | None, Meta(description="The query that found no answer.")] = None
    agent: AgentName = None


class ListGaps(Struct, frozen=True):
    """List open gaps, grouped by topic."""

    closed: Annotated[bool, Meta(description="Include closed gaps.")] = False
    agent: AgentName = None


class CloseGap(Struct, frozen=True):
    """Close an open gap."""

    gap: Annotated[str, Meta(max_length=100, description="The gap's id: `gap_` and 10 letters.")]
    by: Annotated[
        Annotated[RawText, Meta(max_length=1000)] | None,
        Meta(description="The note that answers it, by id, path or title."),
    ] = None
    agent: AgentName = None


class ReopenGap(Struct, frozen=True):
    """Open a closed gap again."""

    gap: Annotated[str, Meta(max_length=100, description="The gap's id: `gap_` and 10 letters.")]
    agent: AgentName = None


class SuggestAnswers(Struct, frozen=True):
    """Find notes written since a gap was reported that may answer it, by meaning."""

    close: Annotated[bool, Meta(description="Close each gap with the suggested note.")] = False
    agent: AgentName = None


class ReportedGap(Struct, frozen=True):
    """The result of reporting a gap."""

    gap_id: str
    """The id of the gap. `djinn gap close` accepts it."""


class GapGroups(Struct, frozen=True):
    """The gaps of an agent."""

    groups: tuple[GapGroup, ...]
    """Gaps about one topic form a group, oldest first."""


class GapChange(Struct, frozen=True):
    """A gap that was closed or opened again."""

    gap: Gap
    """The gap after the change."""


class GapSuggestions(Struct, frozen=True):
    """Notes that may answer open gaps."""

    suggestions: tuple[GapSuggestion, ...]
    """One suggestion for each gap that a later note may answer."""


class Gaps(Namespace, name="gaps"):
    """The gaps of the agents of a home. Each agent sees its own."""

    @operation(ReportGap, recover=False, writes=True, positional=("description",))
    def report(self, request: ReportGap) -> ReportedGap:
        """Report a gap.

        Raises `Refused` when the description contains a secret. Secrets in the query are masked.
        """
        home = self.runtime.home
        agent = home.agent(request.agent)
        session = session_log.current(self._state, agent)
        secrets = home.config.secrets
        event = gap_answers.reported(secrets, agent, session, request.description, request.query)
        self._state.ledger.append([event])
        return ReportedGap(event.subject)

    @operation(ListGaps, recover=False)
    def list(self, request: ListGaps) -> GapGroups:
        """List the open gaps of an agent, or with `closed` all of them, grouped by meaning."""
        agent = self.runtime.home.agent(request.agent)
        gaps = self._gaps(agent, None if request.closed else "open")
        return GapGroups(tuple(GapGroup(tuple(group)) for group in self._grouped(gaps, agent)))

    @operation(CloseGap, writes=True, positional=("gap",))
    def close(self, request: CloseGap) -> GapChange:
        """Close an open gap; `by` names the memory that answers it."""
        self._named(request, "open", Remedy("gaps.list", purpose="list the open gaps"))
        answer = self._memory(request.by, request.agent) if request.by else None
        self._state.ledger.append([Event(gap_answers.CLOSED, request.gap, {"by": answer})])
        return GapChange(self._named(request))

    @operation(ReopenGap, recover=False, writes=True, positional=("gap",))
    def reopen(self, request: ReopenGap) -> GapChange:
        """Open a closed gap again. Upkeep does not close it with the same memory again."""
        listing = Remedy("gaps.list", {"closed": True}, "list the closed gaps")
        self._named(request, "closed", listing)
        self._state.ledger.append([Event(gap_answers.REOPENED, request.gap, {})])
        return GapChange(self._named(request))

    @operation(SuggestAnswers)
    def suggest(self, request: SuggestAnswers) -> GapSuggestions:
        """Suggest notes, written since, that may answer open gaps. With `close`, close those gaps.

        The comparison is by meaning, so without a model there are no suggestions.
        """
        # Other commands need not import all kinds.
        from djinn_memory.memories.proposals.kinds.gap import KIND, finding
        from djinn_memory.memories.proposals.lifecycle import LOCK, decide, undecided

        agent = self.runtime.home.agent(request.agent)
        with lock(self._state.home.state / LOCK) if request.close else nullcontext():
            answers = {
                answer.gap.id: answer for answer in gap_answers.likely_answers(self.runtime, agent)
            }
            proposals = undecided(self.runtime, KIND, map(finding, answers.values()), agent)
            if request.close:
                proposals = decide(self.runtime, proposals, "accepted", agent, COMMAND).done
        chosen = [answers[each.record.subjects[0].name] for each in proposals]
        return GapSuggestions(tuple(_suggestion(answer, request.close) for answer in chosen))

    def _gaps(self, agent: str | None, status: str | None) -> Sequence[Gap]:
        chosen = self._state.home.agent(agent)
        ledger = self._state.ledger_if_any
        gaps = reading.gaps(ledger, chosen, status) if ledger else ()
        seen = seen_names(self._state, chosen, {gap.closed_by for gap in gaps if gap.closed_by})
        return [
            replace(gap, closed_by=gap.closed_by if gap.closed_by in seen else None) for gap in gaps
        ]

    def _named(
        self, request: CloseGap | ReopenGap, status: str | None = None, *remedies: Remedy
    ) -> Gap:
        """The gap of a request. Raises `NotFound` if it does not have the status."""
        for gap in self._gaps(request.agent, status):
            if gap.id == request.gap:
                return gap
        raise NotFound(f"no {status} gap {request.gap!r}", *remedies)

    def _memory(self, name: str, agent: str | None) -> str:
        """The ledger name of the memory that a name means."""
        home = self._state.home
        memory = find_memory(self._state, name, home.scope(home.agent(agent)))
        return ledger_name(memory, home.named((memory.vault,))[0]).memory

    def _grouped(self, gaps: Sequence[Gap], agent: str) -> Sequence[Sequence[Gap]]:
        """Put each gap in the group of the first similar gap, else in a group of its own."""
        vectors = self._vectors(gaps)
        limit = gap_answers.thresholds(self.runtime, agent)[1] if vectors is not None else 0.0
        groups: dict[int, list[Gap]] = {}
        for at, gap in enumerate(gaps):
            for first, group in groups.items():
                same = gap.description.casefold() == group[0].description.casefold()
                if same or (vectors is not None and float(vectors[at] @ vectors[first]) >= limit):
                    group.append(gap)
                    break
            else:
                groups[at] = [gap]
        return tuple(groups.values())

    def _vectors(self, gaps: Sequence[Gap]) -> Vectors | None:
        """A vector for each description, or None if no model can embed them at once."""
        embedder = self._models.embedder
        if embedder is None or not embedder.ready or len(gaps) < 2:
            return None
        try:
            return embedder.embed([gap.description for gap in gaps])
        except DjinnError as error:
            why = f"{error}; gaps are grouped by keywords only"
            self._state.problems.append(Problem("embedding", why))
            return None


def _suggestion(answer: gap_answers.PossibleAnswer, closed: bool) -> GapSuggestion:
    memory = answer.memory
    return GapSuggestion(
        answer.gap, answer.name, memory.title, memory.vault, memory.path, answer.likeness, closed
    )
