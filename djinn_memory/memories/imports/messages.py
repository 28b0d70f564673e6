"""The messages of an export, the exchanges that they form, and their turns to be recorded."""

from __future__ import annotations

import pickle
from array import array
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from djinn_memory.memories.episodes.recorder import Turn
from djinn_memory.memories.episodes.requests import MAX_TEXT
from djinn_memory.memories.imports.requests import ImportFormat
from djinn_memory.memories.imports.values import digest
from djinn_memory.memories.profiles.agenda import PlannedEvent
from djinn_memory.models import Problem
from djinn_memory.system.files import Scratch

TOOL_TEXT = 500
"""Maximum characters that are kept of a tool call or of its result."""

MOST_TOOLS = 50
"""Maximum number of tool calls and results that are kept of an exchange."""

OPEN = 1_000
"""Maximum number of exchanges that wait for replies, and of messages that wait for a time."""

Role = Literal["user", "reply", "note", "tool"]


class Message(Struct, frozen=True):
    """A message of an export."""

    key: str
    """Names it within its format: the same in each export that has it."""
    session: str
    """The conversation, channel or thread."""
    role: Role
    """`user` begins an exchange, `reply` and `tool` continue it, `note` stands by itself."""
    text: str
    at: datetime | None
    """Its time, with a zone; None if the export does not say."""
    channel: str
    client: str | None = None
    """The program in which it was written, such as `claude`."""
    context: dict[str, Any] = {}
    """More data about it, such as the title of the conversation."""


class LeftOut(Struct, frozen=True):
    """Something in an export that does not become an episode."""

    reason: str
    """The kind of the omitted items, in the plural, such as `system messages`."""
    number: int = 1
    """How many of these there are."""


Read = Message | LeftOut | Problem | PlannedEvent
"""The items that a reader yields."""


class Exchange(Struct):
    """A user message with the replies to it, or a note. It becomes an episode."""

    first: Message
    replies: list[str] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)

    def add(self, message: Message) -> None:
        """Add a reply, or a tool call or result."""
        if message.role == "reply":
            self.replies.append(message.text)
        elif len(self.tools) < MOST_TOOLS:
            self.tools.append(message.text[:TOOL_TEXT])


def timed(items: Iterable[Read], fallback: datetime) -> Iterator[Read]:
    """The messages, each with a time.

    A message without a time gets that of the message before it in its session, else of the next
    one, else `fallback`.
    """
    last: OrderedDict[str, datetime] = OrderedDict()
    waiting: dict[str, list[Message]] = {}
    held = 0
    for read in items:
        if not isinstance(read, Message):
            yield read
            continue
        session = read.session
        if read.at is None:
            if session not in last and held < OPEN:
                waiting.setdefault(session, []).append(read)
                held += 1
                continue
            read = replace(read, at=last.get(session, fallback))
        for earlier in waiting.pop(session, ()):
            held -= 1
            yield replace(earlier, at=read.at)
        assert read.at is not None
        last[session] = read.at
        last.move_to_end(session)
        if len(last) > OPEN:
            last.popitem(last=False)
        yield read
    for messages in waiting.values():
        yield from (replace(message, at=fallback) for message in messages)


def exchanges(items: Iterable[Read]) -> Iterator[Exchange | LeftOut | Problem | PlannedEvent]:
    """The messages as exchanges.

    Messages of several sessions may alternate. A reply without a user message before it becomes an
    exchange by itself, as a note does.
    """
    waiting: OrderedDict[str, Exchange] = OrderedDict()
    for read in items:
        if not isinstance(read, Message):
            yield read
            continue
        session = read.session
        if read.role == "user":
            if session in waiting:
                yield waiting.pop(session)
            waiting[session] = Exchange(read)
            if len(waiting) > OPEN:
                yield waiting.popitem(last=False)[1]
        elif read.role == "note":
            yield Exchange(read)
        elif session in waiting:
            waiting[session].add(read)
            waiting.move_to_end(session)
        elif read.role == "reply":
            yield Exchange(read)
        else:
            yield LeftOut("tool calls without a message")
    yield from waiting.values()


class Chronology:
    """Exchanges that were read, each with a number that says what it belongs to.

    The events of a calendar are in no order: recorded as they come, they would open each journal
    hundreds of times.
    """

    def __init__(self) -> None:
        self._scratch = Scratch()
        self._times, self._places = array("d"), array("q")

    def __len__(self) -> int:
        return len(self._times)

    @property
    def size(self) -> int:
        """The size of the exchanges in bytes."""
        return self._scratch.size

    def close(self) -> None:
        """Remove the exchanges."""
        self._scratch.close()

    def add(self, number: int, exchange: Exchange) -> None:
        """Add an exchange whose message has a time."""
        assert exchange.first.at is not None
        self._times.append(exchange.first.at.timestamp())
        data = pickle.dumps((number, exchange), pickle.HIGHEST_PROTOCOL)
        self._places.append(self._scratch.put(data))

    def take(self) -> Iterator[tuple[int, Exchange]]:
        """The exchanges in the order of their times. Afterwards there are none."""
        times, places = self._times, self._places
        self._times, self._places = array("d"), array("q")
        for position in sorted(range(len(times)), key=times.__getitem__):
            yield pickle.loads(self._scratch.get(places[position]))
        self._scratch.clear()


LONGEST_SOURCE = 200
"""Maximum characters of a source."""

LONGEST_SESSION = 100
"""Maximum characters of a session. A filter takes no longer one."""


def draft(form: ImportFormat, exchange: Exchange, now: datetime) -> Turn:
    """The turn of an exchange whose message has a time. A time after `now` is replaced by it.

    It may be longer than a turn can be; see `pieces`.
    """
    first = exchange.first
    assert first.at is not None
    source = f"{form}:{first.key}"
    if len(source) > LONGEST_SOURCE:
        source = f"{form}:{digest(source)}"
    session = first.session
    if len(session) > LONGEST_SESSION or not session.isprintable():
        session = f"{form}-{digest(session)}"
    context = dict(first.context)
    if exchange.tools:
        context["tools"] = exchange.tools
    return Turn(
        "interaction" if first.role == "user" else "observation",
        first.text,
        "\n\n".join(filter(None, exchange.replies)),
        min(first.at, now),
        session,
        first.channel,
        context or None,
        first.client,
        source,
        len(exchange.replies),
    )


def continuation(turn: Turn, replies: Sequence[str], have: int) -> Turn:
    """The turn of the `replies` behind the first `have`, which an earlier import did not see."""
    return replace(
        turn,
        source=f"{turn.source}+{have}",
        kind="observation",
        message="\n\n".join(replies),
        response="",
        # As many as it has, so that a later import knows what is recorded.
        replies=len(replies),
        context={**(turn.context or {}), "continues": turn.source},
    )


def pieces(turn: Turn) -> Iterator[Turn]:
    """The turns of a draft. A message that is too long for one turn continues in further ones."""
    yield replace(turn, message=turn.message[:MAX_TEXT], response=turn.response[:MAX_TEXT])
    number = 1
    for text in (turn.message, turn.response):
        for start in range(MAX_TEXT, len(text), MAX_TEXT):
            part = text[start : start + MAX_TEXT]
            if not part.strip():
                continue
            number += 1
            context = {**(turn.context or {}), "continues": turn.source}
            source = f"{turn.source}#{number}"
            yield replace(
                turn, kind="observation", message=part, response="", context=context,
                source=source, replies=0,
            )  # fmt: skip
