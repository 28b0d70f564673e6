"""Events, and ids that sort in the order of the events."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

EPISODE_PURGED = "episode.purged"
"""The kind of the event that an episode was purged. Its subject is the id. Another import must not
record the episode again."""

_TAIL = 62
"""Number of random bits in a UUID, after the bits that sort it."""


class Event(Struct, frozen=True):
    """An event."""

    kind: str
    """The kind of event, as `noun.verb`."""
    subject: str
    """The memory, document, session or other object of the event."""
    data: dict[str, Any]
    at: str = ""
    """The time of the event, as ISO 8601 in UTC."""


def uuid7(*, after: str = "") -> str:
    """A UUID of version 7 (RFC 9562). Later UUIDs sort later, and each sorts after `after`."""
    milliseconds, nanoseconds = divmod(time.time_ns(), 1_000_000)
    # 12 bits hold the fraction of the millisecond, which keeps the order within it.
    ticks = milliseconds << 12 | (nanoseconds << 12) // 1_000_000
    if after:
        ticks = max(ticks, _ticks(after) + 1)
    tail = int.from_bytes(os.urandom(8)) & (1 << _TAIL) - 1
    value = ticks >> 12 << 80 | 7 << 76 | (ticks & 0xFFF) << 64 | 2 << _TAIL | tail
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _ticks(identity: str) -> int:
    """The time of a UUID, in 4096ths of a millisecond."""
    value = int(identity.replace("-", ""), 16)
    # A UUID of a later version, which is foreign, sorts behind all of ours of its millisecond.
    fraction = value >> 64 & 0xFFF if value >> 76 & 0xF <= 7 else 0xFFF
    return value >> 80 << 12 | fraction


def now() -> str:
    """The current time in the format of events."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
