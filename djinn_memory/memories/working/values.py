"""The values of working memory: what may be kept, and how it is shown."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.errors import UsageError
from djinn_memory.home.settings import LONGEST_TTL
from djinn_memory.notes.dates import moment
from djinn_memory.store.expiring import Tier, WorkingEntry

Type = Literal["task_context", "conversation", "tool_result", "reflection", "observation"]


MOST_BYTES = 1_000_000
"""Of a value as JSON; what is longer is a document."""

MOST_CHARACTERS = 200
"""Of a key and of the id of a task."""


class WorkingValue(Struct, frozen=True):
    """What working memory holds under a key."""

    key: str
    """Names it in its session or task."""
    value: Any
    """Text, or whatever else JSON can say."""
    type: str | None
    """task_context, conversation, tool_result, reflection, observation, or null."""
    tier: Tier
    """`short` for what becomes a note once it was used three times, else `working`."""
    agent: str
    """Whose it is."""
    session: str | None
    """The session it belongs to; null for a task's, and for what was handed over."""
    task: str | None
    """The task it belongs to."""
    given_by: str | None
    """The agent who handed it over."""
    created: str
    """When it was set, as ISO 8601 in UTC."""
    updated: str
    """When it was changed last."""
    expires: str
    """When it can be read no more."""
    ttl: int
    """The seconds that it was given."""
    uses: int
    """How often `get` has read it."""
    last_used: str | None
    """When `get` read it last."""


class WorkingLookup(WorkingValue, frozen=True):
    """A value that was asked for by its key."""

    also_from: Sequence[str]
    """The agents who handed over another value under this key."""


def value_of(found: WorkingEntry) -> WorkingValue:
    """An entry as it is shown."""
    where = {found.space: found.name}
    try:
        value = msgspec.json.decode(found.value)
    except (msgspec.DecodeError, RecursionError):
        value = found.value
    return WorkingValue(
        key=found.key,
        value=value,
        type=found.type,
        tier=found.tier,
        agent=found.agent,
        session=where.get("session"),
        task=where.get("task"),
        given_by=where.get("from"),
        created=iso(found.created),
        updated=iso(found.updated),
        expires=iso(found.expires),
        ttl=found.ttl,
        uses=found.uses,
        last_used=None if found.used is None else iso(found.used),
    )


def iso(seconds: float) -> str:
    """A time of the store as ISO 8601 in UTC."""
    return moment(datetime.fromtimestamp(seconds, UTC))


def from_json(text: str) -> object:
    """What a JSON text says; `UsageError` where it says nothing."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"--json-value: not JSON: {error}") from None


def as_json(value: object, key: str) -> str:
    """A value as it is kept; `UsageError` where it is none, or too long."""
    try:
        text = msgspec.json.encode(value)
    except UnicodeEncodeError:
        raise UsageError(f"the value of {key!r} is no UTF-8 text") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"the value of {key!r} is nothing that JSON can say: {error}") from None
    if len(text) > MOST_BYTES:
        raise UsageError(
            f"the value of {key!r} takes {len(text):,} bytes, more than {MOST_BYTES:,}; "
            "write a note with `djinn remember`, or a document with `djinn ingest`"
        )
    return text.decode()


def appended(before: WorkingEntry | None, made: WorkingEntry, most: int) -> WorkingEntry:
    """`made` as the last item of the list `before`, whose first ones go when it grows too long."""
    items = before.value if before else "[]"
    listed = msgspec.json.decode(items)
    if not isinstance(listed, list):
        raise UsageError(f"{made.key!r} holds no list to append to; clear it first")
    texts = [msgspec.json.encode(one).decode() for one in listed] + [made.value]
    del texts[:-most]
    while len(texts) > 1 and sum(len(one.encode()) + 1 for one in texts) >= MOST_BYTES:
        del texts[0]
    value = f"[{','.join(texts)}]"
    if before is None:
        return replace(made, value=value)
    return replace(
        before, value=value, updated=made.updated, ttl=made.ttl, tier=made.tier,
        type=made.type or before.type,
    )  # fmt: skip


def check_name(what: str, name: str) -> str:
    """`name`, if it is one; `UsageError` that begins with `what` otherwise."""
    odd = any(unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp") for sign in name)
    if odd or not name.strip() or len(name) > MOST_CHARACTERS:
        raise UsageError(
            f"{what}: {name[:40]!r} is no name; "
            f"allowed: 1 to {MOST_CHARACTERS} characters on one line"
        )
    return name


def check_ttl(ttl: int | None) -> None:
    """Raise `UsageError` for a time that nothing is kept for."""
    if ttl is not None and not 1 <= ttl <= LONGEST_TTL:
        raise UsageError(
            f"--ttl {ttl}: allowed: 1 to {LONGEST_TTL:,} seconds; what should last longer is a note"
        )
