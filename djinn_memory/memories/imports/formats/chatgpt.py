"""Reads ChatGPT's export: conversations whose `mapping` is a tree of messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from djinn_memory.memories.imports.formats.values import (
    digest,
    name_of,
    text_of,
    time_of,
    tool_call,
)
from djinn_memory.memories.imports.messages import LeftOut, Message, Read, Role

CHANNEL = "chatgpt"

_HIDDEN = frozenset({
    "thoughts", "reasoning_recap", "user_editable_context", "model_editable_context",
    "system_error", "sonic_webpage", "tether_browsing_display", "app_pairing_content",
})  # fmt: skip
"""The contents that ChatGPT does not show as messages."""


def is_chatgpt(record: object) -> bool:
    """Whether a record is a conversation of ChatGPT's export."""
    return isinstance(record, dict) and isinstance(record.get("mapping"), dict)


def read_chatgpt(conversation: Mapping[str, Any]) -> Iterator[Read]:
    """The messages on the path to the current node. Raises `ValueError` if it is no conversation.

    Answers that were generated again and edited prompts lie beside that path, and are left out.
    """
    mapping = conversation.get("mapping")
    if not isinstance(mapping, dict):
        raise ValueError("has no mapping")
    path = _path(mapping, conversation.get("current_node"))
    session = name_of(conversation.get("conversation_id")) or name_of(conversation.get("id"))
    session = session or f"chatgpt-{digest(*(str(node.get('id')) for node in path[:2]))}"
    title, started = name_of(conversation.get("title")), time_of(conversation.get("create_time"))
    context = {"conversation": title} if title else {}
    for node in path:
        message = node.get("message")
        if isinstance(message, dict):
            yield _message(message, session, started, context)
    beside = sum(
        isinstance(node, dict) and _role(node.get("message")) in ("user", "assistant")
        for node in mapping.values()
    ) - sum(_role(node.get("message")) in ("user", "assistant") for node in path)
    for _ in range(beside):
        yield LeftOut("messages on abandoned branches")


def _path(mapping: Mapping[str, Any], current: object) -> list[Mapping[str, Any]]:
    """The nodes from the root to the current one, or to the newest leaf if that is missing."""
    if not isinstance(current, str) or current not in mapping:
        leaves = [
            (_created(node), number, key)
            for number, (key, node) in enumerate(mapping.items())
            if isinstance(node, dict) and not node.get("children")
        ]
        current = max(leaves)[2] if leaves else None
    path: list[Mapping[str, Any]] = []
    passed: set[str] = set()
    while isinstance(current, str) and current not in passed:
        passed.add(current)
        node = mapping.get(current)
        if not isinstance(node, dict):
            break
        path.append(node)
        current = node.get("parent")
    return path[::-1]


def _created(node: Mapping[str, Any]) -> float:
    message = node.get("message")
    at = time_of(message.get("create_time")) if isinstance(message, dict) else None
    return at.timestamp() if at else 0.0


def _role(message: object) -> str:
    author = message.get("author") if isinstance(message, dict) else None
    return str(author.get("role", "")) if isinstance(author, dict) else ""


def _message(
    message: Mapping[str, Any], session: str, started: datetime | None, context: dict[str, Any]
) -> Read:
    role, content = _role(message), message.get("content")
    kind = str(content.get("content_type")) if isinstance(content, dict) else ""
    metadata = message.get("metadata")
    if isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation"):
        return LeftOut("hidden messages")
    if kind in _HIDDEN:
        return LeftOut("hidden messages")
    text, at = _text(content), time_of(message.get("create_time")) or started
    key = f"{session}:{name_of(message.get('id')) or digest(role, str(at), text)}"
    recipient = message.get("recipient")
    if role == "tool" or (role == "assistant" and recipient not in (None, "", "all")):
        author = message.get("author")
        name = recipient if role == "assistant" else (author or {}).get("name")
        call = tool_call(name, text) if role == "assistant" else f"result: {text}"
        return Message(key, session, "tool", call, at, CHANNEL)
    if not text:
        return LeftOut("messages without text")
    if role not in ("user", "assistant"):
        return LeftOut("system messages")
    place: Role = "user" if role == "user" else "reply"
    return Message(key, session, place, text, at, CHANNEL, CHANNEL, context)


def _text(content: object) -> str:
    """The text of a message; a picture or a recording in it as a word in brackets."""
    if not isinstance(content, dict):
        return text_of(content)
    if "parts" in content:
        return text_of(content["parts"])
    return text_of(content.get("text") or content.get("result") or content.get("content"))
