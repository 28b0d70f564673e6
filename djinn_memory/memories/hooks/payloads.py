"""The inputs that clients give their hooks, cut to the fields and sizes that a spool keeps.

Each client sends one JSON object. They are described at https://code.claude.com/docs/en/hooks,
https://developers.openai.com/codex/hooks, https://geminicli.com/docs/hooks/reference and
https://docs.windsurf.com/windsurf/cascade/hooks. In an entry, events and fields have the names of
Claude Code. Only the standard library is imported: each hook pays for it.
"""

from __future__ import annotations

import json
import os
import re
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CLIENTS = ("claude", "codex", "gemini", "windsurf")

GEMINI = {
    "UserPromptSubmit": "BeforeAgent",
    "PostToolUse": "AfterTool",
    "Stop": "AfterAgent",
    "PreCompact": "PreCompress",
}
"""The events that Gemini CLI names otherwise than Claude Code."""

KEPT = {
    "SessionStart": ("source",),
    "UserPromptSubmit": ("prompt",),
    "PostToolUse": ("tool_name", "tool_input", "tool_response"),
    "Stop": ("last_assistant_message",),
    "PreCompact": ("custom_instructions", "trigger"),
    "PostCompact": ("compact_summary", "trigger"),
    "SessionEnd": ("reason",),
}
"""The fields that are kept of each event. Other events are ignored."""

SPOKEN = ("UserPromptSubmit", "Stop")
"""Events that are not recorded of a subagent, which talks to the agent and not to the user."""

NEEDED = {"UserPromptSubmit": "prompt", "PostToolUse": "tool_name"}
"""The field without which an event says nothing."""

NAMES = ("id", "client", "agent", "session", "event")
"""The fields of every entry that identify its turn. They are texts."""

TEXTS = ("prompt", "last_assistant_message", "compact_summary", "custom_instructions")
"""Fields that are recorded whole, up to `MOST_TEXT` characters."""

MOST_TEXT = 200_000
"""Characters of a text: as many as an episode may have."""

MOST_VALUE = 1_000
"""Characters of the input or the response of a tool as JSON. A session's extraction reads 500, and
each is a part of a line in a journal."""

MOST_LEAF = 500
"""Characters of a text inside such a value, when the whole is too long."""

MOST_LEAVES = 40
MOST_DEPTH = 6

MOST_NAME = 100
"""Characters of a session's name and of other short fields."""

MOST_PATH = 4_000


MANY_KEYS = 50_000
"""Keys above which only the beginning of an input is parsed: a million take a second. What
identifies an event comes first, and of the rest little is kept in any case."""

BEGINNING = 65_536
"""Bytes of this beginning."""

MOST_OPEN = 50
"""Levels of nesting in which it may end."""

_STRUCTURE = r'(?s)"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}\[\],]'
"""A string, also one that breaks off, or a mark outside of strings. Compiled only where it is
needed."""


class UnusableInputError(Exception):
    """An input does not have the form of a client's event. The text says why."""


def parse(data: bytes) -> dict[str, Any]:
    """The object that a client sent. Raises `UnusableInputError`."""
    try:
        if data.count(b'":') - data.count(b'\\":') > MANY_KEYS:
            # A character may be cut in two.
            text = _beginning(data[:BEGINNING].decode("utf-8-sig", "ignore"))
        else:
            text = data.decode("utf-8-sig")
        payload = json.loads(text)
    except UnicodeDecodeError:
        raise UnusableInputError("the input is not UTF-8 text") from None
    except (ValueError, RecursionError):
        raise UnusableInputError("the input is not JSON") from None
    if not isinstance(payload, dict):
        raise UnusableInputError("the input is not a JSON object")
    return payload


def _beginning(text: str) -> str:
    """The whole values at the start of a JSON text that breaks off, as JSON."""
    opened: list[str] = []
    end, closing = 0, ""
    for match in re.finditer(_STRUCTURE, text):
        mark = match[0]
        if mark in "{[":
            opened.append("}" if mark == "{" else "]")
        elif mark == "," and len(opened) <= MOST_OPEN:
            # The value before the comma is whole.
            end, closing = match.start(), "".join(reversed(opened))
        elif mark in "}]" and opened:
            opened.pop()
    return text[:end] + closing


def entry_of(payload: dict[str, Any], client: str, agent: str) -> tuple[dict[str, Any], bool]:
    """The spool entry for the input of a client, and whether something of it was cut.

    The entry is empty for an event that is not recorded. Raises `UnusableInputError`.
    """
    payload = _as_claude(payload, client)
    event = payload.get("hook_event_name")
    if not isinstance(event, str):
        raise UnusableInputError("the input has no hook_event_name")
    if event not in KEPT or (event in SPOKEN and payload.get("agent_id")):
        return {}, False
    needed = NEEDED.get(event)
    if needed and not (isinstance(payload.get(needed), str) and payload[needed].strip()):
        raise UnusableInputError(f"{event} has no {needed}")
    entry: dict[str, Any] = {
        # The key with which its turn is recorded: once, however often it is taken in.
        "id": os.urandom(10).hex(),
        "at": round(time.time(), 3),
        "client": client,
        "agent": agent,
        "event": event,
        "session": _session_name(payload.get("session_id")) or client,
    }
    cut = False
    for name in ("cwd", "agent_type", *KEPT[event]):
        value, shorter = _limited(name, payload.get(name))
        if value not in (None, ""):
            entry[name] = value
        cut = cut or shorter
    return entry, cut


def own_name(entry: dict[str, Any]) -> str:
    """The name that the client of an entry gives its event."""
    event: str = entry["event"]
    return GEMINI.get(event, event) if entry["client"] == "gemini" else event


def _as_claude(payload: dict[str, Any], client: str) -> dict[str, Any]:
    """The input of another client with the names of Claude Code."""
    if client == "gemini":
        named = {own: event for event, own in GEMINI.items()}
        event = payload.get("hook_event_name")
        answer = payload.get("prompt_response")
        payload = {**payload, "last_assistant_message": answer}
        return {**payload, "hook_event_name": named.get(event, event)} if event else payload
    if client != "windsurf":
        return payload
    event, info = payload.get("agent_action_name"), payload.get("tool_info")
    given: dict[str, Any] = info if isinstance(info, dict) else {}
    session = {"session_id": payload.get("trajectory_id"), "cwd": given.get("cwd")}
    if event == "pre_user_prompt":
        said = {"hook_event_name": "UserPromptSubmit", "prompt": given.get("user_prompt")}
    elif event == "post_cascade_response":
        said = {"hook_event_name": "Stop", "last_assistant_message": given.get("response")}
    elif isinstance(event, str) and event.startswith("post_"):
        tool = given.get("mcp_tool_name") or event.removeprefix("post_")
        arguments = given.get("mcp_tool_arguments") or {
            "command" if name == "command_line" else name: value
            for name, value in given.items()
            if name not in ("cwd", "mcp_result")
        }
        said = {"hook_event_name": "PostToolUse", "tool_name": tool, "tool_input": arguments}
        said |= {"tool_response": given.get("mcp_result")}
    else:
        said = {"hook_event_name": event}
    return {**session, **said}


def _session_name(value: object) -> str:
    """The name of a session for the id that a client sent; empty for none that can be used."""
    if not isinstance(value, str):
        return ""
    return "".join(filter(str.isprintable, value)).strip()[:MOST_NAME]


def _limited(name: str, value: object) -> tuple[Any, bool]:
    """A field as it is kept, and whether it was cut."""
    if name.startswith("tool_") and name != "tool_name":
        return _shortened(value)
    if not isinstance(value, str):
        return None, False
    limit = MOST_TEXT if name in TEXTS else MOST_PATH if name == "cwd" else MOST_NAME
    return _cut(value, limit), len(value) > limit


def _cut(text: str, limit: int) -> str:
    """The first words of a text.

    A part of a secret does not look like one, so no word is cut: a long one is left out.
    """
    if len(text) <= limit:
        return text
    start = text[: limit - 4]
    end = max(map(start.rfind, " \t\n"))
    # A long text without spaces is no secret: some scripts have none.
    return f"{start if end < 0 and limit == MOST_TEXT else start[: max(end, 0)]} ...".lstrip()


def _shortened(value: object) -> tuple[Any, bool]:
    """A JSON value, with its texts and its lists cut when it is too long."""
    try:
        if len(json.dumps(value)) <= MOST_VALUE:
            return value, False
        shorter = _trimmed(value, [MOST_LEAVES], MOST_DEPTH)
        text = json.dumps(shorter)
    except RecursionError:
        return None, True
    return shorter if len(text) <= 2 * MOST_VALUE else _cut(text, MOST_VALUE), True


def _trimmed(value: object, left: list[int], depth: int) -> Any:
    """A value with at most `left` leaves and `depth` levels."""
    left[0] -= 1
    if isinstance(value, str):
        return _cut(value, MOST_LEAF)
    if not isinstance(value, dict | list):
        return value
    if depth == 0:
        return "..."
    if isinstance(value, list):
        inner = []
        for part in value:
            if left[0] <= 0:
                inner.append("...")
                break
            inner.append(_trimmed(part, left, depth - 1))
        return inner
    parts = {}
    for key, part in value.items():
        if left[0] <= 0:
            parts["..."] = "..."
            break
        parts[_cut(key, MOST_NAME)] = _trimmed(part, left, depth - 1)
    return parts
