"""An event, and the ids that keep events in order."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

_TAIL = 62
"""Random bits of a UUID, behind what sorts it."""


class Event(Struct, frozen=True):
    """One thing that happened."""

    kind: str
    """What, as `noun.verb`."""
    subject: str
    """To what."""
    data: dict[str, Any]
    at: str = ""
    """When, as ISO 8601 in UTC."""


def uuid7(*, after: str = "") -> str:
    """A UUID of version 7 (RFC 9562): those made later sort later, and it behind `after`."""
    milliseconds, nanoseconds = divmod(time.time_ns(), 1_000_000)
    # The fraction of the millisecond in the 12 bits behind it keeps the order within it.
    ticks = milliseconds << 12 | (nanoseconds << 12) // 1_000_000
    if after:
        ticks = max(ticks, _ticks(after) + 1)
    tail = int.from_bytes(os.urandom(8)) & (1 << _TAIL) - 1
    value = ticks >> 12 << 80 | 7 << 76 | (ticks & 0xFFF) << 64 | 2 << _TAIL | tail
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _ticks(identity: str) -> int:
    """When a UUID was made, in 4096ths of a millisecond."""
    value = int(identity.replace("-", ""), 16)
    # One of a later version, which is not ours, sorts behind all of ours of its millisecond.
    fraction = value >> 64 & 0xFFF if value >> 76 & 0xF <= 7 else 0xFFF
    return value >> 80 << 12 | fraction


def now() -> str:
    """The time, as events tell it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
