"""The messages of an export, and the exchanges that they form. Pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from djinn_memory.memories.profiles.agenda import PlannedEvent
from djinn_memory.models import Problem

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
    """What it is, in the plural, such as `system messages`."""
    number: int = 1
    """How many of these there are."""


Read = Message | LeftOut | Problem | PlannedEvent
"""What a reader yields."""


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
