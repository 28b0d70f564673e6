"""Reads times, texts and roles as the programs write them. Pure, and safe with any JSON."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

EARLIEST = datetime(1971, 1, 1, tzinfo=UTC)
"""An earlier time is a default value of a program, not the time of a message."""

LONGEST_KEY = 120
"""Maximum characters of an id from a file. A longer one is replaced by its digest."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_TEXT_BLOCKS = frozenset({"", "text", "input_text", "output_text", "paragraph"})


def time_of(value: object) -> datetime | None:
    """A time as ISO 8601, as RFC 2822, or as seconds, milli-, micro- or nanoseconds since 1970.

    A time without a zone counts as UTC, so that a file means the same on every machine. None for
    any other value, and for a time before 1971.
    """
    at = None
    with suppress(ValueError, OverflowError, TypeError, OSError):
        if isinstance(value, str):
            at = _written(value.strip())
        elif isinstance(value, int | float) and not isinstance(value, bool):
            at = _counted(float(value))
    if at is None:
        return None
    try:
        at = (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
        at.astimezone()
    except (ValueError, OverflowError):
        return None
    return at if at >= EARLIEST else None


def _written(text: str) -> datetime | None:
    if not text or len(text) > 60:
        return None
    if text[0].isdigit() and text.replace(".", "", 1).isdigit() and len(text) >= 9:
        return _counted(float(text))
    with suppress(ValueError):
        return datetime.fromisoformat(text.removesuffix(" UTC"))
    return parsedate_to_datetime(text)


def _counted(number: float) -> datetime | None:
    if not math.isfinite(number):
        return None
    while number > 1e11:
        number /= 1_000
    return _EPOCH + timedelta(seconds=number)


def name_of(value: object) -> str:
    """An id or a name as text on one line; empty for any other value. A long one is a digest."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST_KEY else digest(text)


def digest(*parts: str) -> str:
    """A digest of texts, which names them."""
    whole = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(whole, digest_size=12).hexdigest()


def text_of(value: object) -> str:
    """The text of a message's content: text, parts, or blocks of which some are text."""
    return "\n\n".join(filter(None, _texts(value, 0))).strip()


def _texts(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and depth < 3:
        for part in value:
            yield from _texts(part, depth + 1)
    elif isinstance(value, dict) and depth < 3:
        kind = str(value.get("type") or value.get("content_type") or "")
        if kind in _TEXT_BLOCKS:
            for key in ("text", "value", "content", "parts"):
                if key in value:
                    yield from _texts(value[key], depth + 1)
                    break
        elif "image" in kind:
            yield "[image]"
        elif "audio" in kind:
            yield from _texts(value.get("text") or "[audio]", depth + 1)


def tools_of(value: object) -> Iterator[str]:
    """The tool calls and their results among the blocks of a message's content."""
    for block in value if isinstance(value, list) else ():
        if not isinstance(block, dict):
            continue
        if block.get("type") == "tool_use":
            yield tool_call(block.get("name"), block.get("input"))
        elif block.get("type") == "tool_result":
            yield f"result: {text_of(block.get('content'))[:1_000]}"


def tool_call(name: object, arguments: object) -> str:
    """A tool call on one line: its name and its arguments."""
    given = arguments if isinstance(arguments, str) else _pairs(arguments)
    return f"{name_of(name) or 'tool'}: {given[:1_000]}".rstrip(": ")


def _pairs(value: object) -> str:
    if not isinstance(value, dict):
        return ""
    return ", ".join(f"{key}={str(inner)[:400]}" for key, inner in [*value.items()][:20])


USER_ROLES = frozenset({"user", "human", "prompter", "customer", "me", "you"})
REPLY_ROLES = frozenset({
    "assistant", "ai", "bot", "model", "gpt", "agent", "claude", "chatgpt", "gemini", "copilot",
    "chatbot",
})  # fmt: skip
TOOL_ROLES = frozenset({"tool", "function", "ipython"})
SYSTEM_ROLES = frozenset({"system", "developer", "system_prompt", "context"})
