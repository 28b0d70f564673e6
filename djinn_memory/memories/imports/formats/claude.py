"""Reads Claude's export: conversations with `chat_messages`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from djinn_memory.memories.imports.formats.values import (
    REPLY_ROLES,
    USER_ROLES,
    digest,
    name_of,
    text_of,
    time_of,
    tools_of,
)
from djinn_memory.memories.imports.messages import LeftOut, Message, Read

CHANNEL = "claude"


def is_claude(record: object) -> bool:
    """Whether a record is a conversation of Claude's export."""
    return isinstance(record, dict) and isinstance(record.get("chat_messages"), list)


def read_claude(conversation: Mapping[str, Any]) -> Iterator[Read]:
    """The messages of a conversation. Raises `ValueError` if it is none."""
    messages = conversation.get("chat_messages")
    if not isinstance(messages, list):
        raise ValueError("has no chat_messages")
    session = name_of(conversation.get("uuid")) or f"claude-{digest(str(messages[:1]))}"
    title, started = name_of(conversation.get("name")), time_of(conversation.get("created_at"))
    context = {"conversation": title} if title else {}
    for message in messages:
        if not isinstance(message, dict):
            yield LeftOut("messages of an unknown form")
            continue
        text, blocks = _text(message), message.get("content")
        sender = str(message.get("sender", "")).lower()
        at = time_of(message.get("created_at")) or started
        identity = name_of(message.get("uuid")) or digest(sender, str(at), text)
        key = f"{session}:{identity}"
        if text and sender in USER_ROLES:
            yield Message(key, session, "user", text, at, CHANNEL, CHANNEL, context)
        elif text and sender in REPLY_ROLES:
            yield Message(key, session, "reply", text, at, CHANNEL, CHANNEL, context)
        else:
            yield LeftOut("system messages" if text else "messages without text")
        for call in tools_of(blocks):
            yield Message(key, session, "tool", call, at, CHANNEL)


def _text(message: Mapping[str, Any]) -> str:
    """The text of a message with that of its attachments, and the names of its files."""
    blocks = message.get("content")
    parts = [text_of(blocks) or text_of(message.get("text"))]
    for attachment in _dicts(message.get("attachments")):
        name = name_of(attachment.get("file_name")) or "pasted text"
        parts.append(f"[attachment: {name}]\n{text_of(attachment.get('extracted_content'))}")
    for file in _dicts(message.get("files")):
        if name := name_of(file.get("file_name")):
            parts.append(f"[file: {name}]")
    return "\n\n".join(filter(None, map(str.strip, parts)))


def _dicts(value: object) -> Iterator[Mapping[str, Any]]:
    return (
        (entry for entry in value if isinstance(entry, dict))
        if isinstance(value, list)
        else iter(())
    )
