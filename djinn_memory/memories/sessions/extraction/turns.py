"""The turns of idle sessions that extraction has not read yet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.memories.episodes.journals import home_name_if_any
from djinn_memory.memories.episodes.reading import (
    EPISODES,
    FIELDS,
    EpisodeText,
    read_episodes,
)
from djinn_memory.memories.sessions.extraction.log import ExtractionLog, ReadMark
from djinn_memory.models import Filters
from djinn_memory.notes.dates import moment
from djinn_memory.runtime import Runtime
from djinn_memory.store.index.records import Selection

TOOL_TEXT = 500
"""Maximum characters that are read of a tool call and of its result."""

TOOL_KEYS = ("tool_input", "tool_response")
"""Keys of a context with the call of a tool and its result."""


class UnreadSession(Struct, frozen=True):
    """A session with turns that were not read."""

    session: str
    """The name of the session."""
    turns: tuple[EpisodeText, ...]
    """The turns that were not read, oldest first."""
    mark: ReadMark
    """How far it is read after these."""


class StatedText(Struct, frozen=True):
    """A text of a turn in which something may be stated."""

    text: str
    personal: bool
    """Whether the user said it. The rest is from tools and observations."""


def unread_sessions(
    runtime: Runtime, agent: str, log: ExtractionLog, session: str | None
) -> Iterator[UnreadSession]:
    """The sessions with unread turns, the one with the oldest last turn first.

    Only idle sessions count, and only turns that this home recorded: another home with the same
    vault has a ledger of its own, and reads its own. With a `session`, all its turns count.
    """
    vault = runtime.home.personal(agent)
    filters = EPISODES
    if session is None:
        name = home_name_if_any(runtime.home)
        if name is None:
            return
        # A file name such as `2026-11-20.laptop-k3f9.md` or `2026-11-20.laptop-k3f9-2.md`.
        filters = replace(EPISODES, paths=(f".{name}",))
    else:
        filters = replace(EPISODES, where=(("session", session),))
    idle = timedelta(minutes=runtime.home.config.sessions.idle_minutes)
    latest = moment(runtime.now() - idle)
    with runtime.index([vault]) as index:
        groups = index.groups("session", Selection(filters))
    if session is None:
        groups = [group for group in groups if group.last <= latest]
    marks = log.marks([group.value for group in groups])
    for group in groups:
        mark = marks.get(group.value.casefold())
        if session is None and mark and (mark.turns, mark.through) == (group.count, group.last):
            continue
        within_session = replace(filters, where=(("session", group.value),))
        turns = _turns(runtime, agent, within_session, None if session else mark, group.count)
        if turns:
            last = turns[-1].memory.date
            count = sum(turn.memory.date == last for turn in turns)
            if mark and mark.through == last and len(turns) < group.count and not session:
                count += mark.last
            yield UnreadSession(group.value, tuple(turns), ReadMark(last, count, group.count))


def _turns(
    runtime: Runtime, agent: str, filters: Filters, mark: ReadMark | None, total: int
) -> list[EpisodeText]:
    """The turns of a session after a mark, oldest first; all if turns were added before it."""
    vault = runtime.home.personal(agent)
    since = replace(filters, since=mark.through) if mark else filters
    with runtime.index([vault]) as index:
        memories = [*index.memories(Selection(since), fields=FIELDS)][::-1]
        if mark:
            memories = memories[mark.last :]
            if mark.turns + len(memories) != total:
                memories = [*index.memories(Selection(filters), fields=FIELDS)][::-1]
    return [*read_episodes(runtime, memories)]


def stated_texts(turn: EpisodeText) -> Iterator[StatedText]:
    """The texts of a turn in which something may be stated. The agent's response is none."""
    context = turn.context or {}
    if turn.memory.type == "interaction":
        yield StatedText(turn.message, personal=True)
    elif "tool_name" not in context:
        yield StatedText(turn.message, personal=False)
    for key in TOOL_KEYS if "tool_name" in context else ():
        for text in _strings(context.get(key)):
            yield StatedText(text, personal=False)
    tools = context.get("tools")
    for text in tools if isinstance(tools, list) else ():
        if isinstance(text, str):
            yield StatedText(text[:TOOL_TEXT], personal=False)


def tool_text(value: object) -> str:
    """The call of a tool, or its result, as a text of limited length."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text[:TOOL_TEXT]


def _strings(value: object, left: int = TOOL_TEXT) -> Iterator[str]:
    """The texts in the call of a tool or in its result, `TOOL_TEXT` characters together."""
    waiting = [value]
    while waiting and left > 0:
        inner = waiting.pop()
        if isinstance(inner, str):
            yield inner[:left]
            left -= len(inner)
        elif isinstance(inner, dict):
            waiting += reversed(inner.values())
        elif isinstance(inner, list):
            waiting += reversed(inner)


def time_of(turn: EpisodeText) -> datetime:
    """The local time of a turn."""
    return datetime.fromisoformat(turn.memory.created or turn.memory.date).astimezone()
