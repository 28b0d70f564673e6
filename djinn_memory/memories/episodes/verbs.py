"""Episodes: recorded in journals, listed, shown and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from statistics import fmean

from msgspec.structs import replace

from djinn_memory.errors import NotFound, Remedy, UsageError
from djinn_memory.memories.catalog import catalog
from djinn_memory.memories.episodes import reading, requests
from djinn_memory.memories.episodes.intents import importance, nearest_intents
from djinn_memory.memories.episodes.occasions import MARKED, EpisodeScope, ReadingLog
from djinn_memory.memories.episodes.recorder import Turn, record_turns
from djinn_memory.memories.recall import session_log
from djinn_memory.models import Filters, extended
from djinn_memory.notes.dates import local_day, spoken_date
from djinn_memory.operations.operation import Namespace, operation
from djinn_memory.search.narrowing import day
from djinn_memory.store.busy import WRITE_SECONDS, within
from djinn_memory.store.index.records import Selection
from djinn_memory.store.ledger import Event
from djinn_memory.system.plural import duration


class Episodes(Namespace, name="episodes"):
    """The episodes of a home."""

    @operation(requests.RecordInteraction, writes=True)
    @within(WRITE_SECONDS)
    def record_interaction(self, request: requests.RecordInteraction) -> requests.RecordedEpisode:
        """Record a message and its response in the journal of the agent's vault.

        Secrets are masked. The episode is searchable by words at once. The next question embeds it,
        so that it is searchable by meaning too.
        """
        return self._record(request, "interaction", request.message, request.response)

    @operation(requests.RecordObservation, writes=True)
    @within(WRITE_SECONDS)
    def record_observation(self, request: requests.RecordObservation) -> requests.RecordedEpisode:
        """Record an observation in the journal of the agent's vault.

        Secrets are masked, as in `record_interaction`.
        """
        return self._record(request, "observation", request.text, "")

    @operation(requests.ListEpisodes)
    def list(self, request: requests.ListEpisodes) -> requests.EpisodePage:
        """List the episodes that an agent sees, newest first."""
        where = {"session": request.session, "channel": request.channel}
        filters = self._filters(request.since, request.until, request.kind, where)
        if request.domain is not None:
            filters = replace(filters, domains=(request.domain,))
        with self.runtime.index(self._scope(request.agent, filters)) as index:
            selection = Selection(filters)
            memories = index.memories(
                selection, limit=request.limit, skip=request.skip, fields=reading.FIELDS
            )
            episodes = tuple(map(reading.as_episode, memories))
            return requests.EpisodePage(episodes, index.count(selection))

    @operation(requests.ShowEpisode, positional=("name",))
    def show(self, request: requests.ShowEpisode) -> requests.EpisodeDetail:
        """Show an episode with its current text on disk.

        Raises `NotFound` for a memory that is not an episode.
        """
        with self.runtime.index(self._scope(request.agent)) as index:
            memory = catalog.find(index, request.name)
        text = next(reading.read_episodes(self.runtime, [memory]), None)
        if text is None:
            remedy = Remedy("episodes.list", purpose="list the episodes")
            raise NotFound(f"{memory.title!r} is not an episode", remedy)
        message, response = text.message, text.response
        entities, intents, near = (
            tuple(value for key, value in memory.fields if key == name)
            for name in ("entities", "intents", "similar_intents")
        )
        return extended(
            reading.as_episode(memory),
            requests.EpisodeDetail,
            message=message,
            response=response,
            context=text.context,
            entities=entities,
            intents=intents,
            similar_intents=near,
            parts=importance(len(message) + len(response or ""), len(entities), (*intents, *near)),
        )

    @operation(requests.CountEpisodes)
    def stats(self, request: requests.CountEpisodes) -> requests.EpisodeStats:
        """Count the episodes that an agent sees, by kind, channel, session and day.

        Of those in its own vault, also count what a consolidation has read.
        """
        filters = self._filters(request.since, request.until, None, {})
        with self.runtime.index(self._scope(request.agent)) as index:
            episodes = [
                *map(reading.as_episode, index.memories(Selection(filters), fields=reading.FIELDS))
            ]
        agent = self.runtime.home.agent(request.agent)
        log = ReadingLog(self._state, agent)
        until = self.runtime.now() - duration(self.runtime.home.config.patterns.min_age)
        scope = EpisodeScope(self.runtime.home.personal(agent), until, tuple(log.marked))
        with self.runtime.index([scope.vault]) as index:
            own, counted = index.count(Selection(reading.EPISODES)), scope.count(index)
        read = min(log.read[0], own)
        weights = [each.importance for each in episodes if each.importance is not None]
        return requests.EpisodeStats(
            len(episodes),
            dict(Counter(each.type or "" for each in episodes).most_common()),
            dict(Counter(each.channel for each in episodes if each.channel).most_common()),
            len({each.session for each in episodes if each.session}),
            dict(Counter(local_day(each.date) for each in episodes)),
            round(fmean(weights), 3) if weights else None,
            read,
            own - read,
            max(0, counted - read),
        )

    @operation(requests.MarkEpisodes, logs=True, positional=("names",))
    @within(WRITE_SECONDS)
    def mark(self, request: requests.MarkEpisodes) -> requests.MarkedEpisodes:
        """Let the next consolidation read episodes at any age.

        Raises `NotFound` for a memory that is not an episode of the agent, before any is marked.
        """
        agent = self.runtime.home.agent(request.agent)
        self.runtime.fresh_scope(agent)
        vault = self.runtime.home.personal(agent)
        ids: dict[str, None] = {}
        with self.runtime.index([vault]) as index:
            for name in request.names:
                memory = catalog.find(index, name)
                if memory.type not in reading.KINDS or not memory.id:
                    remedy = Remedy("episodes.list", purpose="list the episodes")
                    raise NotFound(f"{memory.title!r} is not an episode", remedy)
                ids[memory.id] = None
        self._state.ledger.append([Event(MARKED, key, {"agent": agent}) for key in ids])
        return requests.MarkedEpisodes(tuple(ids))

    def _record(
        self,
        request: requests.RecordInteraction | requests.RecordObservation,
        kind: requests.EpisodeType,
        message: str,
        response: str,
    ) -> requests.RecordedEpisode:
        agent, now = self.runtime.home.agent(request.agent), self.runtime.now()
        session = session_log.given(self._state, request.session)
        turn = Turn(
            kind,
            message,
            response,
            time_of_request(request.at, now),
            session or session_log.current(self._state, agent),
            request.channel,
            request.context,
            self.runtime.client,
            domain=request.domain,
        )
        [episode] = record_turns(
            self.runtime, agent, [turn], self._similar_intents, "episode record"
        )
        return episode

    def _similar_intents(self, message: str) -> tuple[str, ...]:
        """The intents by similar sentences. No model is loaded for this."""
        embedder = self.runtime.models.loaded
        return nearest_intents(message, embedder) if embedder else ()

    def _filters(
        self,
        since: str | None,
        until: str | None,
        kind: str | None,
        where: Mapping[str, str | None],
    ) -> Filters:
        now = self.runtime.now()
        return replace(
            reading.EPISODES,
            types=(kind,) if kind else reading.KINDS,
            since=day("since", since, now),
            until=day("until", until, now),
            where=tuple((key, value) for key, value in where.items() if value),
        )


def time_of_request(text: str | None, now: datetime) -> datetime:
    """The time in the text of a request: local unless it has a zone; now without a text."""
    if not text:
        return now
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        when = spoken_date(text, now.astimezone())
        if not when or len(when) < len("2026-11-20"):
            raise UsageError(
                f"{text}: not a time; write 2026-11-20T09:30, yesterday or 2d", argument="at"
            ) from None
        at = datetime.fromisoformat(when)
    # A time without a zone is the local time of the person.
    try:
        at = (at if at.tzinfo else at.astimezone()).astimezone(UTC)
        at.astimezone()
    except (ValueError, OverflowError):
        raise UsageError(f"{text}: not a time of this calendar", argument="at") from None
    if at > now:
        raise UsageError(f"{text}: the time is in the future", argument="at")
    return at
