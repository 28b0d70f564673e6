"""Reads chat logs: records that are a message, a turn or a conversation, or of a coding agent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from djinn_memory.memories.imports.messages import LeftOut, Message, Read, Role
from djinn_memory.memories.imports.values import (
    REPLY_ROLES,
    SYSTEM_ROLES,
    TOOL_ROLES,
    USER_ROLES,
    digest,
    name_of,
    text_of,
    time_of,
    tool_call,
    tools_of,
)

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


def _is_claude_code(record: Mapping[str, Any]) -> bool:
    """Whether a record is a line of a transcript of Claude Code."""
    return str(record.get("type")) in _CLAUDE_LINES and (
        "sessionId" in record or "leafUuid" in record or "snapshot" in record
    )


def _is_codex(record: Mapping[str, Any]) -> bool:
    """Whether a record is a line of a transcript of Codex."""
    return str(record.get("type")) in _CODEX_LINES and isinstance(record.get("payload"), dict)


def _read_claude_code(line: Mapping[str, Any]) -> Iterator[Read]:
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


def _read_codex(line: Mapping[str, Any], session: str) -> tuple[str, list[Read]]:
    """The session of a line of Codex's transcript, which it may name itself, and its messages."""
    payload, kind = line["payload"], line.get("type")
    if kind == "session_meta":
        return name_of(payload.get("id")) or session, []
    if kind != "response_item":
        # The content of events is in items too.
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


CHANNEL = "chat"

MESSAGES = ("messages", "conversation", "conversations", "turns", "dialog", "dialogue")
PROMPTS = ("prompt", "question", "query", "instruction", "input", "request", "user")
RESPONSES = ("response", "completion", "answer", "output", "reply", "assistant")
ROLES_OF_USERS = ("user", "human")
"""Roles that nobody has as a name."""
SPEAKERS = ("role", "sender", "author", "from", "speaker", "user", "username", "name")
TEXTS = ("content", "text", "message", "body", "value")
TIMES = (
    "timestamp", "time", "ts", "created_at", "createdAt", "create_time", "created", "date",
    "datetime", "sent_at", "at",
)  # fmt: skip
IDS = ("id", "uuid", "message_id", "messageId", "msg_id")
SESSIONS = (
    "session_id", "sessionId", "session", "conversation_id", "conversationId", "thread_id",
    "threadId", "chat_id", "chatId", "thread", "channel",
)  # fmt: skip
TITLES = ("title", "conversation_title", "name", "subject")


def is_chat(record: object) -> bool:
    """Whether a record has one of the known forms."""
    if not isinstance(record, dict):
        return False
    if _is_claude_code(record) or _is_codex(record) or _listed(record) is not None:
        return True
    if _turn(record) is not None:
        return True
    speaks = _speaker(record) or _first_of(record, SESSIONS) is not None
    return bool(speaks and text_of(_first_of(record, TEXTS)))


class ChatLog(Struct):
    """The state of reading one log. The records of a log may refer to earlier ones."""

    name: str
    """The session of messages that name none."""
    user: str = ""
    """The name, in lower case, of the speaker who counts as the user."""
    head: str = ""
    """The digest of the first message, which stands for a log whose messages have no time."""
    session: str = ""
    """The session that a line named for the lines below it."""
    seen: Counter[str] = field(default_factory=Counter)
    """How often a message without id and time occurred."""

    def read(self, record: Mapping[str, Any]) -> Iterator[Read]:
        """The messages of a record."""
        if _is_claude_code(record):
            yield from _read_claude_code(record)
        elif _is_codex(record):
            self.session, messages = _read_codex(record, self.session or self.name)
            yield from messages
        elif (listed := _listed(record)) is not None:
            yield from self._conversation(record, listed)
        elif turn := _turn(record):
            scope, context, at = _session(record), _context(record), _first_of(record, TIMES)
            identity = name_of(_first_of(record, IDS))
            key = f"{scope}:{identity}" if scope and identity else digest(identity, *turn, str(at))
            session, when = scope or self.name, time_of(at)
            yield Message(key, session, "user", turn[0], when, CHANNEL, None, context)
            if turn[1]:
                yield Message(f"{key}+", session, "reply", turn[1], when, CHANNEL, None, context)
        else:
            yield from self._message(record, _session(record), "", _context(record))

    def _conversation(self, record: Mapping[str, Any], listed: list[Any]) -> Iterator[Read]:
        """The messages of a record that is a whole conversation."""
        scope, shown = name_of(_first_of(record, (*IDS, *SESSIONS))), ""
        if not scope:
            # The first exchange names it, so that a longer copy of it has the same name.
            scope = digest(*(text_of(_content(message)) for message in listed[:3]))
            shown = f"{self.name}-{scope[:8]}"
        at, context = _first_of(record, TIMES), _context(record)
        for message in listed:
            if isinstance(message, str):
                message = {"text": message}
            if not isinstance(message, dict):
                yield LeftOut("messages of an unknown form")
                continue
            given = message if _first_of(message, TIMES) else {**message, "at": None}
            yield from self._message(given, scope, shown, context, at)

    def _message(
        self,
        record: Mapping[str, Any],
        scope: str,
        shown: str,
        context: dict[str, Any],
        conversation_at: object = None,
    ) -> Iterator[Read]:
        """The message of a record. `scope` is the conversation that the file names, if any."""
        session = shown or scope or self.name
        content = _content(record)
        text, speaker = text_of(content), _speaker(record)
        given = time_of(_first_of(record, TIMES))
        at = given or time_of(conversation_at)
        key = self._key(record, scope, speaker, text, str(given or ""))
        role, text = self._role(speaker, text)
        for call in _calls(record, content):
            yield Message(key, session, "tool", call, at, CHANNEL)
        if role is None or not text:
            yield LeftOut("system messages" if text else "messages without text")
            return
        yield Message(key, session, role, text, at, CHANNEL, None, context)

    def _role(self, speaker: str, text: str) -> tuple[Role | None, str]:
        """The role of a message, and its text with the name of a speaker who has no role."""
        name = speaker.casefold()
        if self.user and name == self.user:
            return "user", text
        if name in SYSTEM_ROLES:
            return None, text
        if name in TOOL_ROLES:
            return "tool", f"result: {text}" if text else ""
        if name in REPLY_ROLES:
            return "reply", text
        if name in USER_ROLES and (name in ROLES_OF_USERS or not self.user):
            return "user", text
        spoken = f"{speaker}: {text}" if speaker and text else text
        return ("reply" if self.user else "note"), spoken

    def _key(self, record: Mapping[str, Any], scope: str, speaker: str, text: str, at: str) -> str:
        """The key of a message: its id, or a digest of its text.

        The key does not depend on the name of the file or on the place in it. An id outside of a
        conversation may be a number that other files use too.
        """
        identity = name_of(_first_of(record, IDS))
        if identity and scope:
            return f"{scope}:{identity}"
        if at or identity:
            return digest(scope, identity, speaker, at, text)
        self.head = self.head or digest(speaker, text)
        key = digest(scope or self.head, speaker, text)
        self.seen[key] += 1
        return key if self.seen[key] == 1 else f"{key}:{self.seen[key]}"


def _session(record: Mapping[str, Any]) -> str:
    """The conversation that a record names; may be empty."""
    return name_of(_first_of(record, SESSIONS))


def _context(record: Mapping[str, Any]) -> dict[str, Any]:
    title = name_of(_first_of(record, TITLES)) if _listed(record) is not None else ""
    title = title or name_of(_first_of(record, TITLES[:2]))
    return {"conversation": title} if title else {}


def _listed(record: Mapping[str, Any]) -> list[Any] | None:
    """The messages of a record that is a conversation; None if it is none."""
    for name in MESSAGES:
        listed = record.get(name)
        if isinstance(listed, list) and any(
            isinstance(message, str) or (isinstance(message, dict) and _speaker(message))
            for message in listed[:20]
        ):
            return listed
    return None


def _turn(record: Mapping[str, Any]) -> tuple[str, str] | None:
    """The prompt and the response of a record that is a turn; None if it is none."""
    response = _first_of(record, RESPONSES)
    prompt = _first_of(record, PROMPTS)
    if prompt is None and isinstance(response, str):
        prompt = record.get("message")
    if prompt is None or response is None or not isinstance(response, str | list | dict):
        return None
    asked = text_of(prompt)
    if "instruction" in record and record.get("input") and prompt is record["instruction"]:
        asked = f"{asked}\n\n{text_of(record['input'])}".strip()
    answered = text_of(response) if not isinstance(response, dict) else text_of(_content(response))
    return (asked, answered) if asked else None


def _content(record: object) -> Any:
    if not isinstance(record, dict):
        return record
    content = _first_of(record, TEXTS)
    # `message` may be a message itself.
    return _content(content) if isinstance(content, dict) and "content" in content else content


def _speaker(record: Mapping[str, Any]) -> str:
    """The role or the name of the one who wrote a message."""
    for name in SPEAKERS:
        value = record.get(name)
        if isinstance(value, dict):
            value = _first_of(value, ("role", "name", "username", "id"))
        if speaker := name_of(value):
            return speaker
    inner = record.get("message")
    return name_of(inner.get("role")) if isinstance(inner, dict) else ""


def _calls(record: Mapping[str, Any], content: object) -> Iterator[str]:
    """The tool calls in a message."""
    yield from tools_of(content)
    calls = record.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            yield tool_call(function.get("name"), function.get("arguments"))


def _first_of(record: Mapping[str, Any], names: Iterable[str]) -> Any:
    """The value of the first of these keys that has one."""
    return next((record[name] for name in names if record.get(name) not in (None, "")), None)
