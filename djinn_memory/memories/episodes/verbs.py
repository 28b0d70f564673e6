"""Episodes: recorded in journals, listed, shown and counted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from statistics import fmean
from typing import Any

from msgspec import Struct

from djinn_memory.errors import Busy, NotFound, Remedy, UsageError
from djinn_memory.memories.catalog import catalog
from djinn_memory.memories.episodes import journals
from djinn_memory.memories.episodes.entities import find_entities
from djinn_memory.memories.episodes.importance import importance
from djinn_memory.memories.episodes.intents import find_intents
from djinn_memory.memories.episodes.requests import (
    MAX_CONTEXT,
    MAX_TEXT,
    CountEpisodes,
    Episode,
    EpisodeDetail,
    EpisodePage,
    EpisodeStats,
    ListEpisodes,
    RecordedEpisode,
    RecordInteraction,
    RecordObservation,
    ShowEpisode,
)
from djinn_memory.memories.recall import session_log
from djinn_memory.memories.writing.vault_writer import writing
from djinn_memory.models import Filters, extended
from djinn_memory.notes import journal
from djinn_memory.notes.dates import moment, spoken_date
from djinn_memory.notes.encoding import decode, writable
from djinn_memory.notes.ids import new_id
from djinn_memory.notes.vault import files as disk
from djinn_memory.runtime import Namespace, operation
from djinn_memory.search.narrowing import day
from djinn_memory.secrets import mask, masked
from djinn_memory.store.busy import WRITE_SECONDS, within
from djinn_memory.store.index.records import IndexedMemory, Selection

KINDS = ("interaction", "observation", "outcome")
"""The types of episodes. Handoffs and checkpoints are separate notes."""

TITLE = 70
"""Maximum characters of a title: the first words of the message."""

FIELDS = ("session", "channel", "importance")
"""Fields of an episode that a list shows in addition to those of any memory."""


class _Words(Struct, frozen=True):
    """The data to record, with its secrets masked."""

    message: str
    response: str | None
    masked: int


class Episodes(Namespace):
    """The episodes of a home."""

    @operation(RecordInteraction)
    @within(WRITE_SECONDS)
    def record_interaction(self, request: RecordInteraction) -> RecordedEpisode:
        """Record a message and its response in the journal of the agent's vault.

        Secrets are masked. The episode is searchable by words at once. The next question embeds it,
        so that it is searchable by meaning too.
        """
        return self._record(request, "interaction", request.message, request.response)

    @operation(RecordObservation)
    @within(WRITE_SECONDS)
    def record_observation(self, request: RecordObservation) -> RecordedEpisode:
        """Record an observation in the journal of the agent's vault.

        Secrets are masked, as in `record_interaction`.
        """
        return self._record(request, "observation", request.text, None)

    @operation(ListEpisodes)
    def list(self, request: ListEpisodes) -> EpisodePage:
        """List the episodes that an agent sees, newest first."""
        where = {"session": request.session, "channel": request.channel}
        filters = self._filters(request.since, request.until, request.kind, where)
        vaults = self.runtime.fresh_scope(request.agent)
        with self.runtime.index(vaults) as index:
            selection = Selection(filters)
            memories = index.memories(
                selection, limit=request.limit, skip=request.skip, fields=FIELDS
            )
            episodes = tuple(map(_episode, memories))
            return EpisodePage(episodes, index.count(selection))

    @operation(ShowEpisode)
    def show(self, request: ShowEpisode) -> EpisodeDetail:
        """Show an episode with its current text on disk.

        Raises `NotFound` for a memory that is not an episode.
        """
        vaults = self.runtime.fresh_scope(request.agent)
        with self.runtime.index(vaults) as index:
            memory = catalog.find(index, request.name)
        record = None
        if isinstance(memory.block, str):
            [vault] = self.runtime.home.named((memory.vault,))
            text = decode(disk.read(vault, memory.path))[0]
            record = journal.find(memory.path, text, memory.block)
        if record is None:
            remedy = Remedy("episodes.list", purpose="list the episodes")
            raise NotFound(f"{memory.title!r} is not an episode", remedy)
        message, response = _spoken(record)
        entities = tuple(value for key, value in memory.fields if key == "entities")
        intents = tuple(value for key, value in memory.fields if key == "intents")
        return extended(
            _episode(memory),
            EpisodeDetail,
            message=message,
            response=response,
            context=_context(record.comment.get("context")),
            entities=entities,
            intents=intents,
            parts=importance(len(message) + len(response or ""), len(entities), intents),
        )

    @operation(CountEpisodes)
    def stats(self, request: CountEpisodes) -> EpisodeStats:
        """Count the episodes that an agent sees, by kind, channel, session and day."""
        filters = self._filters(request.since, request.until, None, {})
        vaults = self.runtime.fresh_scope(request.agent)
        with self.runtime.index(vaults) as index:
            episodes = [*map(_episode, index.memories(Selection(filters), fields=FIELDS))]
        weights = [each.importance for each in episodes if each.importance is not None]
        return EpisodeStats(
            len(episodes),
            dict(Counter(each.type or "" for each in episodes).most_common()),
            dict(Counter(each.channel for each in episodes if each.channel).most_common()),
            len({each.session for each in episodes if each.session}),
            dict(Counter(each.date[:10] for each in episodes)),
            round(fmean(weights), 3) if weights else None,
        )

    def _record(
        self,
        request: RecordInteraction | RecordObservation,
        kind: str,
        message: str,
        response: str | None,
    ) -> RecordedEpisode:
        home, now = self.runtime.home, self.runtime.now()
        words = _masked(message, response)
        agent = home.agent(request.agent)
        vault = home.personal(agent)
        at = _time(request.at, now)
        context = _masked_context(request.context)
        session = session_log.given(self._state, request.session)
        session = session or session_log.current(self._state, agent)
        text = "\n\n".join(filter(None, (words.message, words.response)))
        entities = find_entities(text, lambda names: self._known(names, agent), at)
        intents = find_intents(words.message)
        weight = importance(len(words.message) + len(words.response or ""), len(entities), intents)
        identity, title = new_id(), _title(words.message)
        block = identity.replace("_", "-")
        data = _data(
            id=identity,
            type=kind,
            created=moment(at),
            session=session,
            channel=request.channel,
            importance=weight.total,
            entities=[f"{entity.kind}: {entity.text}" for entity in entities],
            about=[f"[[{each.text}]]" for each in entities if each.kind == "known"],
            intents=[*intents],
            context=context,
            response=words.message.count("\n") + 2 if words.response else None,
        )
        local = at.astimezone()
        spoken = words.message + (f"\n---\n{words.response}" if words.response else "")
        record = journal.compose(f"{local:%H:%M}", title, block, spoken, data)
        with writing(self.runtime, vault, embeds=False) as writer:
            path = journals.append(writer, home, local.date().isoformat(), record)
        return RecordedEpisode(
            id=identity,
            vault=vault.name,
            path=path,
            file=str(vault.root.resolve() / path),
            block=block,
            type=kind,
            title=title,
            session=session,
            created=moment(at),
            importance=weight,
            entities=entities,
            intents=intents,
            masked=words.masked,
            searchable=writer.searchable,
            problems=writer.problems,
        )

    def _known(self, names: Collection[str], agent: str) -> Mapping[str, str]:
        """The titles of the notes of entities that an agent sees, by name."""
        vaults = self.runtime.home.scope(agent)
        # An index that another process holds must not keep an episode from being recorded.
        with suppress(Busy), self.runtime.index(vaults) as index:
            return index.named(names, Selection(Filters(planes=("knowledge",)), whole_files=True))
        return {}

    def _filters(
        self,
        since: str | None,
        until: str | None,
        kind: str | None,
        where: Mapping[str, str | None],
    ) -> Filters:
        now = self.runtime.now()
        return Filters(
            types=(kind,) if kind else KINDS,
            planes=("episodic",),
            paths=("journal/",),
            since=day("since", since, now),
            until=day("until", until, now),
            where=tuple((key, value) for key, value in where.items() if value),
        )


def _masked(message: str, response: str | None) -> _Words:
    message = _lines("message", message)
    if not message.strip():
        raise UsageError("the message is empty; write what was said")
    message, in_message = masked(message)
    response, in_response = masked(_lines("response", response or ""))
    return _Words(message, response or None, in_message + in_response)


def _lines(name: str, text: str) -> str:
    """A text with line ends `\\n` and without NULs, as a journal keeps it."""
    if len(text) > MAX_TEXT:
        raise UsageError(
            f"the {name} has {len(text):,} characters; at most {MAX_TEXT:,} are allowed"
        )
    lines = writable(text).replace("\r\n", "\n").replace("\r", "\n")
    return lines.replace("\0", "\ufffd").strip("\n")


def _masked_context(context: dict[str, Any] | None) -> dict[str, Any] | None:
    """A context with the secrets of its keys and texts masked."""
    if context is None:
        return None
    try:
        safe = _masked_value(context, ())
        size = len(json.dumps(safe, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise UsageError("the context is not a JSON object, or is nested too deep") from None
    if size > MAX_CONTEXT:
        raise UsageError(
            f"the context has {size:,} characters; at most {MAX_CONTEXT:,} are allowed"
        )
    return dict(safe)


def _masked_value(value: Any, names: tuple[str, ...]) -> Any:
    """A value below keys with these names, which say what it is: `password`, then `hunter2`."""
    if isinstance(value, dict):
        return {
            mask(str(key)): _masked_value(inner, (*names, str(key))) for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_masked_value(inner, names) for inner in value]
    if not isinstance(value, str):
        return value
    for label in ("", *(f"{name}: " for name in names[-2:])):
        value = masked(value, label)[0]
    return value


def _time(text: str | None, now: datetime) -> datetime:
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
    # What a person writes without a zone is the time of the clock on the wall.
    try:
        at = (at if at.tzinfo else at.astimezone()).astimezone(UTC)
        at.astimezone()
    except (ValueError, OverflowError):
        raise UsageError(f"{text}: not a time of this calendar", argument="at") from None
    if at > now:
        raise UsageError(f"{text}: the time is in the future", argument="at")
    return at


def _title(message: str) -> str:
    """The first words of the first line that has words."""
    line = next(filter(None, (" ".join(line.split()) for line in message.split("\n"))), "Episode")
    if len(line) <= TITLE:
        return line
    return f"{line[:TITLE].rpartition(' ')[0] or line[:TITLE]} ..."


def _data(**fields: Any) -> dict[str, Any]:
    """The fields of a record that have a value."""
    return {key: value for key, value in fields.items() if value not in (None, [], "")}


def _spoken(record: journal.JournalRecord) -> tuple[str, str | None]:
    """The message and the response of a record, without quotation marks."""
    quoted = [record.text[start:stop] for start, stop in record.quoted]
    lines = [line.removeprefix(">").removeprefix(" ") for line in quoted]
    behind = str(record.data.get("response", ""))
    if behind.isdigit() and 0 < int(behind) <= len(lines):
        begin = int(behind)
        return "\n".join(lines[: begin - 1]), "\n".join(lines[begin:])
    return "\n".join(lines), None


def _context(value: Any) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


def _episode(memory: IndexedMemory) -> Episode:
    weight = memory.field("importance")
    number = None
    with suppress(TypeError, ValueError):
        number = float(weight) if weight is not None else None
    return extended(
        memory,
        Episode,
        session=memory.field("session"),
        channel=memory.field("channel"),
        importance=number,
    )
