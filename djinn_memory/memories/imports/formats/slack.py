"""Reads Slack's export: a folder of JSON files for each channel, one for each day."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from djinn_memory.memories.imports.formats.values import name_of, text_of, time_of
from djinn_memory.memories.imports.messages import LeftOut, Message, Read, Role

CHANNEL = "slack"

SAID = frozenset({
    "", "bot_message", "me_message", "thread_broadcast", "reply_broadcast", "file_share",
    "file_comment",
})  # fmt: skip
"""The subtypes of messages that someone said. The others tell of joins, edits and settings."""

_MARKED = re.compile(r"<([^<>\n]{1,4000})>")


def is_slack(record: object) -> bool:
    """Whether a record is a message of Slack's export."""
    return (
        isinstance(record, dict)
        and isinstance(record.get("ts"), str)
        and record.get("type") == "message"
    )


class Conversation(Struct, frozen=True):
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
    conversations: dict[str, Conversation] = field(default_factory=dict)
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
                self.conversations[folder] = Conversation(identity or name, shown, direct)

    def conversation(self, folder: str) -> Conversation:
        """The conversation in a folder, which may be listed nowhere."""
        return self.conversations.get(folder) or Conversation(folder, f"#{folder}")

    def read(self, message: Mapping[str, Any], place: Conversation) -> Read:
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
            # Outside of threads, what follows in a channel is rarely a reply.
            begins: Role = "user" if thread or place.direct else "note"
            return Message(key, session, begins, text, at, CHANNEL, CHANNEL, context)
        spoken = f"{self._speaker(message)}: {text}"
        replies = self.users and (thread or place.direct)
        role: Role = "reply" if replies else "note"
        return Message(key, session, role, spoken, at, CHANNEL, CHANNEL, context)

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
        """What a message says, with the names of its files."""
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


def _dicts(value: object) -> Iterator[Mapping[str, Any]]:
    return (
        (entry for entry in value if isinstance(entry, dict))
        if isinstance(value, list)
        else iter(())
    )
