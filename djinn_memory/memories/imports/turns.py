"""Turns the exchanges of an export into turns that can be recorded. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.memories.episodes.recorder import Turn
from djinn_memory.memories.episodes.requests import MAX_TEXT, EpisodeType
from djinn_memory.memories.imports.formats.values import digest
from djinn_memory.memories.imports.messages import Exchange
from djinn_memory.memories.imports.requests import ImportFormat

LONGEST_SOURCE = 200
"""Maximum characters of a source."""

LONGEST_SESSION = 100
"""Maximum characters of a session. A filter takes no longer one."""


class TurnDraft(Struct, frozen=True):
    """An exchange with its source."""

    source: str
    kind: EpisodeType
    message: str
    replies: tuple[str, ...]
    at: datetime
    session: str
    channel: str
    client: str | None
    context: dict[str, Any]


def draft(form: ImportFormat, exchange: Exchange, now: datetime) -> TurnDraft:
    """The draft of an exchange whose message has a time. A time after `now` is replaced by it."""
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
    return TurnDraft(
        source,
        "interaction" if first.role == "user" else "observation",
        first.text,
        tuple(exchange.replies),
        min(first.at, now),
        session,
        first.channel,
        first.client,
        context,
    )


def continuation(entry: TurnDraft, have: int) -> TurnDraft:
    """The draft of the replies behind the first `have`, which an earlier import did not see."""
    return replace(
        entry,
        source=f"{entry.source}+{have}",
        kind="observation",
        message="\n\n".join(entry.replies[have:]),
        # As many as it has, so that a later import knows what is recorded.
        replies=("",) * (len(entry.replies) - have),
        context={**entry.context, "continues": entry.source},
    )


def pieces(entry: TurnDraft) -> Iterator[Turn]:
    """The turns of a draft. A message that is too long for one turn continues in further ones."""
    response = "\n\n".join(filter(None, entry.replies))
    turn = Turn(
        entry.kind,
        entry.message[:MAX_TEXT],
        response[:MAX_TEXT],
        entry.at,
        entry.session,
        entry.channel,
        entry.context or None,
        entry.client,
        entry.source,
        len(entry.replies),
    )
    yield turn
    number = 1
    for text in (entry.message, response):
        for start in range(MAX_TEXT, len(text), MAX_TEXT):
            part = text[start : start + MAX_TEXT]
            if not part.strip():
                continue
            number += 1
            context = {**entry.context, "continues": entry.source}
            source = f"{entry.source}#{number}"
            yield replace(
                turn, kind="observation", message=part, response="", context=context,
                source=source, replies=0,
            )  # fmt: skip
