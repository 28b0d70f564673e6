"""Reads lines of the transcripts that Claude Code and Codex keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from djinn_memory.memories.imports.formats.values import (
    digest,
    name_of,
    text_of,
    time_of,
    tool_call,
    tools_of,
)
from djinn_memory.memories.imports.messages import LeftOut, Message, Read, Role

CLAUDE_CODE = "claude-code"
CODEX = "codex"

_CLAUDE_LINES = frozenset({
    "user", "assistant", "system", "summary", "attachment", "progress", "custom-title",
    "file-history-snapshot", "queue-operation", "last-prompt", "permission-mode",
})  # fmt: skip
_CODEX_LINES = frozenset({
    "session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state",
})  # fmt: skip

_SERVICE = (
    "<environment_context>", "<user_instructions>", "<permissions", "<command-name>",
    "<command-message>", "<local-command-", "<system-reminder>", "<turn_aborted>", "Caveat:",
    "# AGENTS.md instructions", "[Request interrupted",
)  # fmt: skip
"""How texts begin that a program wrote in the name of the user."""


def is_claude_code(record: Mapping[str, Any]) -> bool:
    """Whether a record is a line of a transcript of Claude Code."""
    return str(record.get("type")) in _CLAUDE_LINES and (
        "sessionId" in record or "leafUuid" in record or "snapshot" in record
    )


def is_codex(record: Mapping[str, Any]) -> bool:
    """Whether a record is a line of a transcript of Codex."""
    return str(record.get("type")) in _CODEX_LINES and isinstance(record.get("payload"), dict)


def read_claude_code(line: Mapping[str, Any]) -> Iterator[Read]:
    """The messages of a line of Claude Code's transcript."""
    message = line.get("message")
    if line.get("type") not in ("user", "assistant") or not isinstance(message, dict):
        yield LeftOut("lines without a message")
        return
    if line.get("isSidechain"):
        yield LeftOut("messages of subagents")
        return
    content, session = message.get("content"), name_of(line.get("sessionId")) or CLAUDE_CODE
    text, at = text_of(content), time_of(line.get("timestamp"))
    role = "user" if line["type"] == "user" else "reply"
    key = f"{session}:{name_of(line.get('uuid')) or digest(role, str(at), text)}"
    calls = [*tools_of(content)]
    for call in calls:
        yield Message(key, session, "tool", call, at, CLAUDE_CODE)
    if line.get("isMeta") or (role == "user" and text.startswith(_SERVICE)):
        yield LeftOut("messages that the program wrote")
    elif text:
        context = {"folder": folder} if (folder := name_of(line.get("cwd"))) else {}
        yield Message(
            key, session, "user" if role == "user" else "reply", text, at, CLAUDE_CODE,
            CLAUDE_CODE, context,
        )  # fmt: skip
    elif not calls:
        yield LeftOut("messages without text")


def read_codex(line: Mapping[str, Any], session: str) -> tuple[str, list[Read]]:
    """The session of a line of Codex's transcript, which it may name itself, and its messages."""
    payload, kind = line["payload"], line.get("type")
    if kind == "session_meta":
        return name_of(payload.get("id")) or session, []
    if kind != "response_item":
        # What events say, items say too.
        return session, [LeftOut("lines without a message")]
    at, part = time_of(line.get("timestamp")), payload.get("type")
    if part in ("function_call", "custom_tool_call"):
        call = tool_call(payload.get("name"), payload.get("arguments") or payload.get("input"))
        return session, [Message("", session, "tool", call, at, CODEX)]
    if part in ("function_call_output", "custom_tool_call_output"):
        output = payload.get("output")
        text = text_of(output.get("content") if isinstance(output, dict) else output)
        return session, [Message("", session, "tool", f"result: {text[:1_000]}", at, CODEX)]
    role, text = payload.get("role"), text_of(payload.get("content"))
    if part != "message" or role not in ("user", "assistant") or not text:
        return session, [LeftOut("lines without a message")]
    if text.startswith(_SERVICE):
        return session, [LeftOut("messages that the program wrote")]
    key = f"{session}:{name_of(payload.get('id')) or digest(str(role), str(at), text)}"
    place: Role = "user" if role == "user" else "reply"
    return session, [Message(key, session, place, text, at, CODEX, CODEX)]
