"""Patterns: found by consolidation, listed and shown, and correlations between episodes."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from djinn_memory.errors import NotFound, Remedy
from djinn_memory.memories.catalog import catalog
from djinn_memory.memories.episodes.occasions import EpisodeScope
from djinn_memory.memories.episodes.reading import evidence_for
from djinn_memory.memories.patterns import notes, requests
from djinn_memory.models import Filters, extended
from djinn_memory.notes import vault as disk
from djinn_memory.notes.note import parse
from djinn_memory.operations.operation import Namespace, operation
from djinn_memory.runtime import Runtime
from djinn_memory.search.suggest import near_names
from djinn_memory.store.index.records import Selection

_ALL = Selection(Filters(types=(notes.TYPE,)))


class Patterns(Namespace, name="patterns"):
    """The patterns of a home."""

    @operation(requests.Consolidate, patient=True, writes=True)
    def consolidate(self, request: requests.Consolidate) -> requests.ConsolidationReport:
        """Find patterns in the episodes of an agent, and write a note for each.

        A pattern that is known is reinforced, not written again. A note that was deleted is not
        written again, and a field that was edited is kept. A second run changes nothing.
        """
        from djinn_memory.memories.patterns.consolidate import consolidate

        return consolidate(self.runtime, request)

    @operation(requests.ListPatterns)
    def list(self, request: requests.ListPatterns) -> requests.PatternList:
        """List the patterns that an agent sees: habits, then others, the most certain first."""
        where = {"category": request.category, "status": request.status}
        filters = Filters(
            types=(notes.TYPE,),
            where=(
                *((key, value) for key, value in where.items() if value),
                *((("habit", "true"),) if request.habits else ()),
            ),
        )
        with self.runtime.index(self._scope(request.agent)) as index:
            patterns = [*map(notes.pattern_in, index.memories(Selection(filters)))]
        patterns.sort(
            key=lambda each: (not each.habit, -(each.confidence or 0), each.vault, each.path)
        )
        habits = sum(pattern.habit for pattern in patterns)
        return requests.PatternList(tuple(patterns[: request.limit]), len(patterns), habits)

    @operation(requests.ShowPattern, positional=("name",))
    def show(self, request: requests.ShowPattern) -> requests.PatternDetail:
        """Show a pattern with its evidence. Raises `NotFound` for a memory of another type."""
        with self.runtime.index(self._scope(request.agent)) as index:
            listed = Remedy("patterns.list", purpose="list the patterns")
            if not index.resolve(request.name):
                titles = [ref.title for ref in index.titles(_ALL)]
                near = " or ".join(map(repr, near_names(request.name, titles)))
                remedy = Remedy(purpose=f"did you mean {near}?") if near else listed
                raise NotFound(f"no pattern {request.name!r}", remedy)
            memory = catalog.find(index, request.name)
            episodes = tuple(evidence_for(index, memory))
        if memory.type != notes.TYPE:
            raise NotFound(f"{memory.title!r} is not a pattern", listed)
        [vault] = self.runtime.home.named((memory.vault,))
        note = parse(memory.path, disk.read(vault, memory.path), vault.dialect)
        text = note.text[note.body :].strip()
        return extended(
            notes.pattern_in(memory), requests.PatternDetail, text=text, episodes=episodes
        )

    @operation(requests.ListCorrelations)
    def correlations(self, request: requests.ListCorrelations) -> requests.CorrelationList:
        """List things that occur on the same days more often than chance explains.

        The chance is corrected for the number of pairs that were tested.
        """
        self.runtime.fresh_scope(request.agent)
        agent = self.runtime.home.agent(request.agent)
        listed = correlations_until(self.runtime, agent, self.runtime.now())
        return replace(listed, correlations=listed.correlations[: request.limit])


def correlations_until(runtime: Runtime, agent: str, until: datetime) -> requests.CorrelationList:
    """All correlations between the episodes of an agent until a time, as the index has them."""
    # numpy takes longer to load than most commands take.
    from djinn_memory.memories.patterns.correlations import find_correlations
    from djinn_memory.memories.patterns.detection.history import History

    vault = runtime.home.personal(agent)
    with runtime.index([vault]) as index:
        days = runtime.home.config.patterns.history_days
        occasions = EpisodeScope(vault, until, ()).occasions(index, days)
    return find_correlations(History(occasions))
