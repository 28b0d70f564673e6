"""Reads the exports of Claude, ChatGPT and Slack."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct, field

from djinn_memory.memories.imports.messages import LeftOut, Message, Read, Role
from djinn_memory.memories.imports.requests import ImportFormat
from djinn_memory.memories.imports.values import (
    REPLY_ROLES,
    USER_ROLES,
    digest,
    name_of,
    text_of,
    time_of,
    tool_call,
    tools_of,
)

CLAUDE, CHATGPT, SLACK = "claude", "chatgpt", "slack"


def export_format(record: object) -> ImportFormat | None:
    """The format of a conversation of Claude's or ChatGPT's export, or of a message of Slack's."""
    if not isinstance(record, dict):
        return None
    if isinstance(record.get("mapping"), dict):
        return "chatgpt"
    if isinstance(record.get("chat_messages"), list):
        return "claude"
    is_message = isinstance(record.get("ts"), str) and record.get("type") == "message"
    return "slack" if is_message else None


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
        text, blocks = _claude_text(message), message.get("content")
        sender = str(message.get("sender", "")).lower()
        at = time_of(message.get("created_at")) or started
        identity = name_of(message.get("uuid")) or digest(sender, str(at), text)
        key = f"{session}:{identity}"
        if text and sender in USER_ROLES | REPLY_ROLES:
            role: Role = "user" if sender in USER_ROLES else "reply"
            yield Message(key, session, role, text, at, CLAUDE, CLAUDE, context)
        else:
            yield LeftOut("system messages" if text else "messages without text")
        for call in tools_of(blocks):
            yield Message(key, session, "tool", call, at, CLAUDE)


def _claude_text(message: Mapping[str, Any]) -> str:
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


_HIDDEN = frozenset({
    "thoughts", "reasoning_recap", "user_editable_context", "model_editable_context",
    "system_error", "sonic_webpage", "tether_browsing_display", "app_pairing_content",
})  # fmt: skip
"""The contents that ChatGPT does not show as messages."""


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
            yield _chatgpt_message(message, session, started, context)
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


def _chatgpt_message(
    message: Mapping[str, Any], session: str, started: datetime | None, context: dict[str, Any]
) -> Read:
    role, content = _role(message), message.get("content")
    kind = str(content.get("content_type")) if isinstance(content, dict) else ""
    metadata = message.get("metadata")
    if isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation"):
        return LeftOut("hidden messages")
    if kind in _HIDDEN:
        return LeftOut("hidden messages")
    text, at = _chatgpt_text(content), time_of(message.get("create_time")) or started
    key = f"{session}:{name_of(message.get('id')) or digest(role, str(at), text)}"
    recipient = message.get("recipient")
    if role == "tool" or (role == "assistant" and recipient not in (None, "", "all")):
        author = message.get("author")
        name = recipient if role == "assistant" else (author or {}).get("name")
        call = tool_call(name, text) if role == "assistant" else f"result: {text}"
        return Message(key, session, "tool", call, at, CHATGPT)
    if not text:
        return LeftOut("messages without text")
    if role not in ("user", "assistant"):
        return LeftOut("system messages")
    place: Role = "user" if role == "user" else "reply"
    return Message(key, session, place, text, at, CHATGPT, CHATGPT, context)


def _chatgpt_text(content: object) -> str:
    """The text of a message; a picture or a recording in it as a word in brackets."""
    if not isinstance(content, dict):
        return text_of(content)
    if "parts" in content:
        return text_of(content["parts"])
    return text_of(content.get("text") or content.get("result") or content.get("content"))


SAID = frozenset({
    "", "bot_message", "me_message", "thread_broadcast", "reply_broadcast", "file_share",
    "file_comment",
})  # fmt: skip
"""The subtypes of messages that someone said. The others tell of joins, edits and settings."""

_MARKED = re.compile(r"<([^<>\n]{1,4000})>")


class _Conversation(Struct, frozen=True):
    """A channel or a direct message."""

    id: str
    name: str
    """Its name, or the names of its members."""
    direct: bool = False
    """Whether it is a direct message, in which every message has its reply."""


class Workspace(Struct):
    """The people and the channels of an export."""

    people: dict[str, str] = field(default_factory=dict)
    """Their names, by id."""
    conversations: dict[str, _Conversation] = field(default_factory=dict)
    """The conversations, by the name of their folder."""
    users: frozenset[str] = frozenset()
    """The ids of the person who counts as the user."""

    def add_people(self, listed: object, user: str) -> None:
        """Add the people of `users.json`. `user` is the name of the user, in lower case."""
        for person in _dicts(listed):
            profile = person.get("profile")
            profile = profile if isinstance(profile, dict) else {}
            names = [
                name_of(value)
                for value in (
                    profile.get("display_name"), profile.get("real_name"), person.get("real_name"),
                    person.get("name"), profile.get("email"), person.get("id"),
                )
            ]  # fmt: skip
            if identity := name_of(person.get("id")):
                self.people[identity] = next(filter(None, names), identity)
                if user and user in (name.casefold() for name in names if name):
                    self.users |= {identity}

    def add_conversations(self, listed: object) -> None:
        """Add the conversations of `channels.json`, `groups.json`, `dms.json` or `mpims.json`."""
        for entry in _dicts(listed):
            identity, name = name_of(entry.get("id")), name_of(entry.get("name"))
            members = entry.get("members")
            direct = not name or name.startswith("mpdm-")
            if direct and isinstance(members, list):
                people = sorted(self.people.get(str(member), str(member)) for member in members)
                shown = name_of(", ".join(people))
            else:
                shown = f"#{name}"
            for folder in filter(None, (name, identity)):
                self.conversations[folder] = _Conversation(identity or name, shown, direct)

    def conversation(self, folder: str) -> _Conversation:
        """The conversation in a folder, which may be listed nowhere."""
        return self.conversations.get(folder) or _Conversation(folder, f"#{folder}")

    def read(self, message: Mapping[str, Any], place: _Conversation) -> Read:
        """A message of a conversation. Raises `ValueError` if it is none."""
        if str(message.get("subtype") or "") not in SAID or message.get("hidden"):
            return LeftOut("joins, edits and other notices")
        stamp = name_of(message.get("ts"))
        at, text = time_of(stamp), self._text(message)
        if not stamp or at is None:
            raise ValueError("has no ts")
        if not text:
            return LeftOut("messages without text")
        thread = name_of(message.get("thread_ts"))
        name = place.name.removeprefix("#")
        session = f"{name}/{thread}" if thread else name
        user = name_of(message.get("user"))
        context = {"conversation": place.name}
        key = f"{place.id}:{stamp}"
        if user and user in self.users:
            # Outside of threads, the next message in a channel is rarely a reply.
            begins: Role = "user" if thread or place.direct else "note"
            return Message(key, session, begins, text, at, SLACK, SLACK, context)
        spoken = f"{self._speaker(message)}: {text}"
        replies = self.users and (thread or place.direct)
        role: Role = "reply" if replies else "note"
        return Message(key, session, role, spoken, at, SLACK, SLACK, context)

    def _speaker(self, message: Mapping[str, Any]) -> str:
        profile, bot = message.get("user_profile"), message.get("bot_profile")
        listed = self.people.get(name_of(message.get("user")))
        named = [listed]
        for more in (profile, bot):
            if isinstance(more, dict):
                named += [name_of(more.get(key)) for key in ("display_name", "real_name", "name")]
        named += [name_of(message.get(key)) for key in ("username", "user", "bot_id")]
        return next(filter(None, named), None) or "someone"

    def _text(self, message: Mapping[str, Any]) -> str:
        """The text of a message, with the names of its files."""
        parts = [self._plain(text_of(message.get("text")))]
        if not parts[0]:
            for attachment in _dicts(message.get("attachments")):
                said = attachment.get("text") or attachment.get("fallback")
                parts.append(self._plain(text_of(said)))
        for file in _dicts(message.get("files")):
            if name := name_of(file.get("title") or file.get("name")):
                parts.append(f"[file: {name}]")
        return "\n\n".join(filter(None, parts))

    def _plain(self, text: str) -> str:
        """A text with its mentions, links and escapes as a reader sees them."""
        text = _MARKED.sub(lambda mark: self._mark(mark[1]), text)
        return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")

    def _mark(self, mark: str) -> str:
        target, _, label = mark.partition("|")
        if target.startswith("@"):
            return f"@{label or self.people.get(target[1:], target[1:])}"
        if target.startswith("#"):
            known = self.conversations.get(target[1:])
            return f"#{label}" if label else known.name if known else target
        if target.startswith("!"):
            return label or f"@{target[1:].partition('^')[0]}"
        return f"{label} ({target})" if label and label not in target else target
