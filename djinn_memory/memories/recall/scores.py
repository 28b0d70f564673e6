"""The scores of memories, computed from an agent's uses and ratings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from djinn_memory.memories.catalog.catalog import find, located
from djinn_memory.memories.recall.records import logged_recalls, records_of
from djinn_memory.memories.recall.requests import (
    ListRecalls,
    LoggedRecall,
    PreviewScores,
    RecallLog,
    ShowScores,
)
from djinn_memory.operations.operation import Namespace, operation
from djinn_memory.scoring import Record, Score, note_factor, score, share_of
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import IndexedMemory
from djinn_memory.store.ledger import reading

if TYPE_CHECKING:
    from djinn_memory.memories.recall.preview import ScoringPreview


class MemoryScore(Struct, frozen=True):
    """The score of a memory and every number behind it."""

    memory: str
    """The name of the memory in the ledger: its id, else the id of its vault and its path."""
    title: str
    """The title of the memory."""
    vault: str
    """The vault of the memory."""
    path: str
    """The path of the memory in its vault."""
    agents: tuple[str, ...]
    """The agents whose uses and ratings count."""
    record: Record
    """The number of its uses and ratings, and the times of the last ones."""
    score: Score
    """The current score."""
    importance: float | None
    """The note's own importance, 0 to 1; null if it gives none."""
    confidence: float | None
    """The note's own confidence, 0 to 1; null if it gives none."""
    own: float
    """The factor from importance and confidence."""


class MemoryScores(Struct, frozen=True):
    """How usage and ratings affect the ranking of memories."""

    scores: tuple[MemoryScore, ...]
    """The named memory, else all that were used or rated, most recent first."""


class Scores(Namespace, name="scores"):
    """Operations on the scores of memories."""

    @operation(ShowScores, positional=("name",))
    def show(self, request: ShowScores) -> MemoryScores:
        """Show the score of a memory, or of all memories that the agent used or rated."""
        agent = self.runtime.home.agent(request.agent)
        with self.runtime.index(self._scope(agent)) as index:
            if request.name is not None:
                memories: Sequence[IndexedMemory] = [find(index, request.name)]
            else:
                memories = self._rated(index, agent)
        return MemoryScores(tuple(self.of(memories, agent)))

    @operation(PreviewScores, rights="person")
    def preview(self, request: PreviewScores) -> ScoringPreview:
        """Order the last queries of an agent with the parameters in effect and with others.

        The searches are made again, with the default profile and without reranking. Nothing is
        saved or logged. A key that hides a part is shown none. Raises `UsageError` for invalid
        parameters.
        """
        # It imports the search, which `djinn show` does without.
        from djinn_memory.memories.recall.preview import preview

        return preview(self.runtime, request)

    @operation(ListRecalls, rights="person")
    def recalls(self, request: ListRecalls) -> RecallLog:
        """List the last recalls of an agent. A key that hides a part is shown none."""
        agent, ledger = self.runtime.home.agent(request.agent), logged_recalls(self._state)
        recalls = reading.last_recalls(ledger, agent, request.limit) if ledger else ()
        return RecallLog(tuple(LoggedRecall(*recall) for recall in recalls))

    def of(self, memories: Sequence[IndexedMemory], agent: str) -> Iterator[MemoryScore]:
        """The current scores of these memories for an agent."""
        known = records_of(self._state, self._state.ledger_if_any, memories, agent)
        config, now = self._state.home.config.scoring, self.runtime.now().isoformat()
        for memory in memories:
            entry = known[memory.memory_id]
            importance = share_of(memory.field("importance"))
            confidence = share_of(memory.field("confidence"))
            yield MemoryScore(
                memory=entry.name.memory,
                title=memory.title,
                vault=memory.vault,
                path=memory.path,
                agents=tuple(sorted({who for _, who in entry.records} | {agent})),
                record=entry.pooled,
                score=score(entry.pooled, config, now),
                importance=importance,
                confidence=confidence,
                own=note_factor(importance, confidence, config),
            )

    def _rated(self, index: Index, agent: str) -> Sequence[IndexedMemory]:
        """The memories that an agent used or rated, most recent first."""
        ledger = self._state.ledger_if_any
        if ledger is None:
            return ()
        config = self._state.home.config
        agents = config.agents if config.scoring.shared else [agent]
        names = [name for _, name, _ in reading.scored(ledger, agents)]
        by_name = located(index, names)
        rated = {by_name[name].memory_id: by_name[name] for name in names if name in by_name}
        return list(rated.values())
