"""The values of working memory: which values are valid, and how an entry is shown."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime

import msgspec
from msgspec.structs import replace

from djinn_memory.errors import Remedy, UsageError
from djinn_memory.memories.working.requests import MOST_CHARACTERS, WorkingValue
from djinn_memory.models import extended
from djinn_memory.notes.dates import moment
from djinn_memory.store.expiring import WorkingEntry

MOST_BYTES = 1_000_000
"""Maximum bytes of a value as JSON. A longer text is a document."""


def value_of(entry: WorkingEntry) -> WorkingValue:
    """An entry as answers show it."""
    scope = {entry.space: entry.name}
    try:
        value = msgspec.json.decode(entry.value)
    except (msgspec.DecodeError, RecursionError):
        value = entry.value
    return extended(
        entry,
        WorkingValue,
        value=value,
        session=scope.get("session"),
        task=scope.get("task"),
        given_by=scope.get("from"),
        created=iso(entry.created),
        updated=iso(entry.updated),
        expires=iso(entry.expires),
        last_used=None if entry.used is None else iso(entry.used),
    )


def iso(seconds: float) -> str:
    """A time of the store as ISO 8601 in UTC."""
    return moment(datetime.fromtimestamp(seconds, UTC))


def from_json(text: str) -> object:
    """Decode a JSON text. Raises `UsageError` if it is not JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"is not JSON: {error}", argument="json_value") from None


def as_json(value: object, key: str) -> str:
    """Encode a value. Raises `UsageError` if JSON cannot represent it, or if it is too long."""
    try:
        text = msgspec.json.encode(value)
    except UnicodeEncodeError:
        raise UsageError(f"the value of {key!r} is not UTF-8 text") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"the value of {key!r} cannot be written as JSON: {error}") from None
    if len(text) > MOST_BYTES:
        raise UsageError(
            f"the value of {key!r} takes {len(text):,} bytes, more than {MOST_BYTES:,}",
            Remedy("remember", purpose="write a note instead"),
            Remedy("documents.ingest", purpose="turn a file into a document"),
        )
    return text.decode()


def appended(before: WorkingEntry | None, entry: WorkingEntry, most: int) -> WorkingEntry:
    """The list `before` with `entry` as its last element.

    If the list exceeds `most` elements or `MOST_BYTES`, the first elements are dropped.
    """
    elements = msgspec.json.decode(before.value if before else "[]")
    if not isinstance(elements, list):
        raise UsageError(f"{entry.key!r} is not a list; clear it before you append")
    texts = [msgspec.json.encode(element).decode() for element in elements] + [entry.value]
    del texts[:-most]
    while len(texts) > 1 and sum(len(text.encode()) + 1 for text in texts) >= MOST_BYTES:
        del texts[0]
    value = f"[{','.join(texts)}]"
    if before is None:
        return replace(entry, value=value)
    return replace(
        before, value=value, updated=entry.updated, ttl=entry.ttl, tier=entry.tier,
        type=entry.type or before.type,
    )  # fmt: skip


def check_name(field: str, name: str) -> str:
    """Return `name`. Raises `UsageError` for the field if it is not a valid name."""
    odd = any(unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp") for sign in name)
    if odd or not name.strip() or len(name) > MOST_CHARACTERS:
        raise UsageError(
            f"{name[:40]!r} is not a valid name; use 1 to {MOST_CHARACTERS} characters on one line",
            argument=field,
        )
    return name
