"""Records turns as episodes, in batches. Every way into the journals leads through here."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime
from functools import lru_cache, partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.errors import Busy, UsageError
from djinn_memory.memories.episodes import journals, requests
from djinn_memory.memories.episodes.entities import Known, KnownNames, find_entities
from djinn_memory.memories.episodes.intents import ACTIONS, find_intents, importance
from djinn_memory.memories.profiles.reading import domain_to_write
from djinn_memory.memories.writing.change_set import ChangeSet, writing
from djinn_memory.models import Filters, Vault
from djinn_memory.notes import journal
from djinn_memory.notes.dates import moment
from djinn_memory.notes.encoding import writable
from djinn_memory.notes.ids import derived_id, new_id
from djinn_memory.notes.slugs import name_key
from djinn_memory.runtime import Runtime
from djinn_memory.search.backend import Index
from djinn_memory.secrets import mask, masked
from djinn_memory.store.index.records import Selection
from djinn_memory.store.ledger import EPISODE_PURGED, reading

MANY = 50
"""Number of turns from which it takes less time to load all names of entities."""

MOST_NAMES = 2_000
"""Maximum number of notes of which all names are loaded."""

SHORT = 200
"""Maximum characters of a text in a context that is remembered with its mask."""

TITLE = 70
"""Maximum characters of a title: the first words of the message."""


class Turn(Struct, frozen=True):
    """A message with its response, an observation or an outcome, to be recorded as an episode."""

    kind: requests.EpisodeType
    message: str
    """The message to the agent, or the event that happened."""
    response: str
    """The answer of the agent; may be empty."""
    at: datetime
    """The time, with a time zone."""
    session: str
    """The session or chat. Its turns form a sequence."""
    channel: str
    """Where it was said, such as `cli`."""
    context: dict[str, Any] | None = None
    """More data about it, serialisable as JSON."""
    client: str | None = None
    """The program that it came from, such as `claude`."""
    source: str | None = None
    """Its key in that program. A turn with a known key is not recorded again."""
    replies: int = 0
    """The number of that program's messages in the response, if a later import may find more."""
    domain: str | None = None
    """The domain of the episode, which the agent may see. None for that of the channel, or else of
    the vault."""


SimilarIntents = Callable[[str], tuple[str, ...]]
"""Returns the intents of a message by similar sentences."""


class _Draft(Struct, frozen=True):
    """An episode that is not written yet. `episode` lacks its place."""

    day: str
    """The local day of its journal."""
    record: str
    """Its text, as `journal.compose` returns it."""
    episode: requests.RecordedEpisode
    domains: tuple[str, ...] = ()


def record_turns(
    runtime: Runtime,
    agent: str,
    turns: Iterable[Turn],
    similar: SimilarIntents = lambda message: (),
    command: str = "",
    changes: ChangeSet | None = None,
) -> list[requests.RecordedEpisode]:
    """Append turns to the journals of an agent's vault, with their secrets masked.

    Returns the new episodes, in the order of their turns. Those of turns that had been recorded
    before are not among them.

    They are searchable by words at once. The next question embeds them. `similar` is asked for the
    action of a message in which the patterns find none. The episodes are a change of `command`, or
    a part of `changes`; without both, they cannot be taken back. Turns without a domain get the
    default of the agent's profile. Before anything is written, this raises `UsageError` for a
    message that is empty or too long, and for an unknown domain, and `Refused` for a default that
    cannot be used.
    """
    home = runtime.home
    vault = home.personal(agent)
    turns = _with_domains(runtime, vault, agent, turns)
    with ExitStack() as stack:
        index: Index | None = None
        # An index that another process holds must not keep an episode from being recorded.
        with suppress(Busy):
            index = stack.enter_context(runtime.index(home.scope(agent)))
        recorded = _recorded(runtime, index, vault, [turn.source for turn in turns if turn.source])
        known = _known(index, len(turns))
        drafts = [
            _draft(vault, _identity(vault, turn), turn, known, similar)
            for turn in turns
            if turn.source is None or turn.source not in recorded
        ]
    places: dict[str, str] = {}
    once = any(turn.source for turn in turns)
    if drafts:
        with writing(runtime, vault, command, agent) as writer:
            changes = writer.changes if command else changes or ChangeSet()
            days: dict[str, dict[str, str]] = {}
            for draft in drafts:
                days.setdefault(draft.day, {})[str(draft.episode.block)] = draft.record
            places = journals.append(writer, home, days, once=once)
            for draft in drafts:
                block = str(draft.episode.block)
                if block in places:
                    changes.append(vault, places[block], block, draft.record, draft.domains)
    root = vault.root.resolve()
    return [
        replace(
            draft.episode,
            path=path,
            file=str(root / path),
            searchable=writer.searchable,
            problems=writer.problems,
        )
        for draft in drafts
        if (path := places.get(str(draft.episode.block)))
    ]


def _with_domains(runtime: Runtime, vault: Vault, agent: str, turns: Iterable[Turn]) -> list[Turn]:
    """Turns with the domain that each is to have. Many turns have the same domain and channel."""
    domains: dict[tuple[str | None, str], str | None] = {}
    placed = []
    for turn in turns:
        key = turn.domain, turn.channel
        if key not in domains:
            domains[key] = domain_to_write(runtime, vault, agent, *key)
        domain = domains[key]
        placed.append(turn if turn.domain == domain else replace(turn, domain=domain))
    return placed


def known_replies(runtime: Runtime, agent: str, sources: Sequence[str]) -> dict[str, int]:
    """The sources of turns that were recorded, each with the number of replies in its turn.

    A turn that was purged counts as recorded with all replies. The index must be up to date.
    """
    vault = runtime.home.personal(agent)
    with runtime.index([vault]) as index:
        return _recorded(runtime, index, vault, sources)


def _recorded(
    runtime: Runtime, index: Index | None, vault: Vault, sources: Sequence[str]
) -> dict[str, int]:
    """The same with an index, or without one if another process holds it."""
    usual = {derived_id(f"{vault.id} {source}"): source for source in sources}
    ids = {**usual, **{_derived(vault, source): source for source in sources}}
    ledger = runtime.state.ledger_if_any if ids else None
    purged = reading.subjects(ledger, EPISODE_PURGED, [*ids]) if ledger else ()
    known = dict.fromkeys((ids[key] for key in purged), sys.maxsize)
    if index is not None and ids:
        for memory in index.memories(Selection(ids=tuple(ids)), fields=("replies",)):
            number = memory.field("replies") or ""
            # A section of another journal of a person may hold anything.
            known.setdefault(ids[memory.id or ""], int(number) if number.isdigit() else 0)
    return known


def _derived(vault: Vault, source: str) -> str:
    """The id of a new episode. A limited agent's is another, since a hidden one may have the usual.

    Otherwise an import would tell the agent which turns of an export are hidden from it.
    """
    reader = f" for {vault.reader}" if vault.reader else ""
    return derived_id(f"{vault.id} {source}{reader}")


def _identity(vault: Vault, turn: Turn) -> str:
    """The id of a turn's episode. The same turn of another program has the same id each time."""
    return _derived(vault, turn.source) if turn.source else new_id()


def _known(index: Index | None, turns: int) -> Known:
    """A function that finds the entities in a number of turns."""
    if index is None:
        return lambda _: {}
    notes = Selection(Filters(planes=("knowledge",)), whole_files=True)
    if turns < MANY or index.count(notes) > MOST_NAMES:
        return partial(index.named, selection=notes)
    titles: dict[str, str] = {}
    for memory in sorted(index.memories(notes, fields=()), key=lambda memory: memory.title):
        for name in (memory.title, *memory.aliases):
            titles.setdefault(name_key(name), memory.title)
    return KnownNames(titles)


def _draft(
    vault: Vault, identity: str, turn: Turn, known: Known, similar: SimilarIntents
) -> _Draft:
    message, response, number = _masked(turn.message, turn.response)
    context = _masked_context(turn.context)
    text = "\n\n".join(filter(None, (message, response)))
    entities = find_entities(text, known, turn.at)
    intents = find_intents(message)
    near = () if ACTIONS.intersection(intents) else similar(message)
    weight = importance(len(message) + len(response), len(entities), (*intents, *near))
    title, block = _title(message), identity.replace("_", "-")
    data = _data(
        id=identity,
        type=turn.kind,
        created=moment(turn.at),
        session=_masked_name(turn.session),
        channel=turn.channel,
        domain=turn.domain,
        client=turn.client,
        source=turn.source and mask(turn.source),
        replies=turn.replies or None,
        importance=weight.total,
        entities=[f"{entity.kind}: {entity.text}" for entity in entities],
        about=[f"[[{entity.text}]]" for entity in entities if entity.kind == "known"],
        intents=[*intents],
        similar_intents=[*near],
        context=context,
        response=message.count("\n") + 2 if response else None,
    )
    local = turn.at.astimezone()
    spoken = message + (f"\n---\n{response}" if response else "")
    episode = requests.RecordedEpisode(
        id=identity,
        vault=vault.name,
        path="",
        block=block,
        type=turn.kind,
        title=title,
        session=_masked_name(turn.session),
        created=moment(turn.at),
        importance=weight,
        entities=entities,
        intents=intents,
        similar_intents=near,
        masked=number,
        searchable="later",
        problems=[],
    )
    composed = journal.compose(f"{local:%H:%M}", title, block, spoken, data)
    domains = (turn.domain,) if turn.domain else ()
    return _Draft(local.date().isoformat(), composed, episode, domains)


def _masked(message: str, response: str) -> tuple[str, str, int]:
    """The message and the response without their secrets, and the number of these."""
    message = _lines("message", message)
    if not message.strip():
        raise UsageError("the message is empty; write what was said")
    message, in_message = masked(message)
    response, in_response = masked(_lines("response", response))
    return message, response, in_message + in_response


@lru_cache(maxsize=1_000)
def _masked_name(name: str) -> str:
    """The name of a session, or of a field, without secrets. Many turns have the same one."""
    return mask(name)


_masked_short = lru_cache(maxsize=1_000)(masked)


def _lines(name: str, text: str) -> str:
    """A text with line ends `\\n` and without NULs, as a journal keeps it."""
    if len(text) > requests.MAX_TEXT:
        raise UsageError(
            f"the {name} has {len(text):,} characters; at most {requests.MAX_TEXT:,} are allowed"
        )
    lines = writable(text).replace("\r\n", "\n").replace("\r", "\n")
    return lines.replace("\0", "\ufffd").strip("\n")


def _masked_context(context: dict[str, Any] | None) -> dict[str, Any] | None:
    """A context with the secrets of its keys and texts masked."""
    if context is None:
        return None
    try:
        safe = masked_value(context, ())
        size = len(json.dumps(safe, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise UsageError("the context is not a JSON object, or is nested too deep") from None
    if size > requests.MAX_CONTEXT:
        raise UsageError(
            f"the context has {size:,} characters; at most {requests.MAX_CONTEXT:,} are allowed"
        )
    return dict(safe)


def masked_value(value: Any, names: tuple[str, ...]) -> Any:
    """A JSON value with the secrets of its keys and texts masked.

    `names` are the keys above it, which say what it is: `password`, then `hunter2`.
    """
    if isinstance(value, dict):
        return {
            _masked_name(str(key)): masked_value(inner, (*names, str(key)))
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [masked_value(inner, names) for inner in value]
    if not isinstance(value, str):
        return value
    # Many turns of an import have the same context.
    mask_of = _masked_short if len(value) <= SHORT else masked
    for label in ("", *(f"{name}: " for name in names[-2:])):
        value = mask_of(value, label)[0]
    return value


def title_of(message: str) -> str:
    """The title of the episode of a message. Raises `UsageError` for an empty message."""
    return _title(_masked(message[: requests.MAX_TEXT], "")[0])


def _title(message: str) -> str:
    """The first words of the first line that has words."""
    line = next(filter(None, (" ".join(line.split()) for line in message.split("\n"))), "Episode")
    if len(line) <= TITLE:
        return line
    return f"{line[:TITLE].rpartition(' ')[0] or line[:TITLE]} ..."


def _data(**fields: Any) -> dict[str, Any]:
    """The fields of a record that have a value."""
    return {key: value for key, value in fields.items() if value not in (None, [], "")}
