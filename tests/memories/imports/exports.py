"""Writes exports as the programs write them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

SECRET = "sk-ant-api03-" + "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH-abcdefgh"


def lines(path: Path, records: Iterable[Any]) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def said(role: str, text: str, at: Any = None, **more: Any) -> dict[str, Any]:
    """A line of a chat log."""
    return {"role": role, "content": text, **({"timestamp": at} if at else {}), **more}


LOG = [
    said("user", "When does the ferry leave?", "2026-03-01T10:00:00Z", session_id="trip"),
    said("assistant", "At noon, from pier 4.", "2026-03-01T10:00:05Z", session_id="trip"),
    said("user", f"My key is {SECRET}", 1_772_359_300, session_id="keys"),
]


def claude_message(number: int, sender: str, text: str, **more: Any) -> dict[str, Any]:
    return {
        "uuid": f"c0ffee00-0000-4000-8000-{number:012}",
        "sender": sender,
        "text": text,
        "content": [{"type": "text", "text": text}],
        "created_at": f"2026-02-01T10:{number:02}:00.000000Z",
        "attachments": [],
        "files": [],
        **more,
    }


def claude(*messages: dict[str, Any], name: str = "A boat", uuid: str = "boat") -> dict[str, Any]:
    """A conversation of Claude's export."""
    return {
        "uuid": uuid,
        "name": name,
        "created_at": "2026-02-01T10:00:00.000000Z",
        "updated_at": "2026-02-01T11:00:00.000000Z",
        "account": {"uuid": "acc"},
        "chat_messages": list(messages),
    }


BOAT = claude(
    claude_message(1, "human", "Name a boat."),
    claude_message(2, "assistant", "Otter would suit her."),
    claude_message(3, "human", "And a dinghy?"),
)


def node(
    key: str, parent: str | None, role: str, text: str, at: float | None, **more: Any
) -> dict[str, Any]:
    message = {
        "id": key,
        "author": {"role": role},
        "create_time": at,
        "content": {"content_type": "text", "parts": [text]},
        "recipient": "all",
        **more,
    }
    return {"id": key, "message": message, "parent": parent, "children": []}


def chatgpt(nodes: Iterable[dict[str, Any]], current: str, title: str = "Trip") -> dict[str, Any]:
    """A conversation of ChatGPT's export."""
    mapping = {each["id"]: each for each in nodes}
    mapping["root"] = {"id": "root", "message": None, "parent": None, "children": []}
    for key, each in mapping.items():
        if each["parent"]:
            mapping[each["parent"]]["children"].append(key)
    return {
        "title": title,
        "create_time": 1_769_000_000.5,
        "update_time": 1_769_000_100.5,
        "mapping": mapping,
        "current_node": current,
        "conversation_id": "67f0-trip",
    }


def trip() -> dict[str, Any]:
    """A conversation whose answer was generated again."""
    return chatgpt(
        [
            node("q1", "root", "user", "Plan a day in Oslo.", 1_769_000_001.0),
            node("a1", "q1", "assistant", "Stay in bed.", 1_769_000_005.0),
            node("a2", "q1", "assistant", "Take the ferry to Nesodden.", 1_769_000_009.0),
        ],
        "a2",
    )


def zipped(path: Path, **members: Any) -> Path:
    """An archive with JSON files. A name has `__` for `/` and no extension."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in members.items():
            archive.writestr(f"{name.replace('__', '/')}.json", json.dumps(value))
    return path


PEOPLE = [
    {"id": "U1", "name": "anna", "profile": {"display_name": "Anna", "real_name": "Anna Berg"}},
    {"id": "U2", "name": "ben", "profile": {"display_name": "", "real_name": "Ben Fjord"}},
]
CHANNELS = [{"id": "C1", "name": "harbour", "members": ["U1", "U2"]}]
DIRECT = [{"id": "D1", "members": ["U1", "U2"]}]


def slack_message(user: str, ts: str, text: str, **more: Any) -> dict[str, Any]:
    return {"type": "message", "user": user, "ts": ts, "text": text, **more}


DAY = [
    slack_message("U1", "1767600000.000100", "<@U1> has joined", subtype="channel_join"),
    slack_message(
        "U1", "1767600001.000100", "<@U2>, see <https://x.org|docs> &amp; the <#C1|harbour>",
        thread_ts="1767600001.000100",
    ),
    slack_message("U2", "1767600060.000100", "Seen.", thread_ts="1767600001.000100"),
    slack_message("U2", "1767600090.000100", "The crane is down."),
]  # fmt: skip


def slack(folder: Path) -> Path:
    """A Slack export as a folder."""
    for name, value in {
        "users": PEOPLE,
        "channels": CHANNELS,
        "dms": DIRECT,
        "harbour/2026-01-05": DAY,
        "D1/2026-01-06": [slack_message("U1", "1767690000.000100", "Lunch?")],
    }.items():
        path = folder / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value), encoding="utf-8")
    return folder


CALENDAR = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//Example//EN
X-WR-CALNAME:Work
BEGIN:VEVENT
UID:standup@example.org
SUMMARY:Standup
LOCATION:Pier 4
DTSTART;TZID=Europe/Berlin:20260302T093000
DTEND;TZID=Europe/Berlin:20260302T094500
RRULE:FREQ=WEEKLY;COUNT=4
EXDATE;TZID=Europe/Berlin:20260309T093000
END:VEVENT
BEGIN:VEVENT
UID:standup@example.org
RECURRENCE-ID;TZID=Europe/Berlin:20260316T093000
SUMMARY:Standup, later
DTSTART;TZID=Europe/Berlin:20260316T110000
DTEND;TZID=Europe/Berlin:20260316T111500
END:VEVENT
BEGIN:VEVENT
UID:holiday@example.org
SUMMARY:Holiday
DTSTART;VALUE=DATE:20260501
DTEND;VALUE=DATE:20260503
END:VEVENT
BEGIN:VEVENT
UID:launch@example.org
SUMMARY:Launch
DTSTART:20990101T120000Z
END:VEVENT
END:VCALENDAR
"""


def write_exports(folder: Path) -> Path:
    """A folder with a small export of each format."""
    folder.mkdir(parents=True, exist_ok=True)
    lines(folder / "log.jsonl", LOG)
    (folder / "conversations.json").write_text(json.dumps([BOAT], indent=1), encoding="utf-8")
    zipped(folder / "chatgpt.zip", conversations=[trip()], user={"email": "anna@example.org"})
    slack(folder / "slack")
    ics = CALENDAR.replace("\n", "\r\n")
    (folder / "work.ics").write_bytes(ics.encode())
    (folder / "readme.txt").write_text("Nothing to import.\n")
    return folder
