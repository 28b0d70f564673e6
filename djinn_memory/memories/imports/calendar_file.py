"""Cuts a calendar file into its events while it is read, however long it is.

The library parses a calendar as a whole, which takes 20 times the size of the file, and looks at
each character of each line. So the lines of the events are put into a temporary file here, and the
library gets those of one event at a time, without the lines that nobody reads.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct, field

from djinn_memory.memories.imports.values import name_of
from djinn_memory.system.files import Scratch

if TYPE_CHECKING:
    from icalendar import Calendar, Event

MOST_EVENT = 64_000_000
"""Maximum size in bytes of an event. A longer one is not held in memory."""

MOST_ATTENDEES = 50
"""Maximum number of attendees that are read of an event."""

TEXTS = ("SUMMARY", "DESCRIPTION", "LOCATION", "UID", "STATUS")
"""Properties of text. The library takes 3 seconds for one of 10 MB."""

_KEPT = frozenset(name.encode() for name in (
    *TEXTS, "ORGANIZER", "ATTENDEE", "DTSTART", "DTEND", "DURATION", "RRULE", "RDATE",
    "EXDATE", "RECURRENCE-ID", "SEQUENCE",
))  # fmt: skip
"""The properties of an event that are read."""

_NAME = re.compile(rb"\s*([A-Za-z-]+)")
_VALUE = re.compile(rb"[;:]")
_UID = re.compile(rb"(?i:(?:^|\n)UID(?:;[^:\r\n]*)?):([^\r\n]*)")
_HEAD = re.compile(r'[^:"]*(?:"[^"]*"[^:"]*)*:')
"""The name of a property with its parameters, up to its value."""

_ESCAPED = re.compile(r"\\([nN,;:\"\\])")

UNENDED = "without a line END:VEVENT"

_Lines = list[bytes]


class CalendarPart(Struct):
    """A calendar of a file, with the places of its events."""

    head: _Lines = field(default_factory=list)
    """Its own properties, and its time zones."""
    events: dict[int, int | list[int]] = field(default_factory=dict)
    """The places of the events by a hash of their UID, several for those that share one."""
    others: int = 0
    """The number of its tasks and journal entries."""
    lost: Counter[str] = field(default_factory=Counter)
    """The number of its events that cannot be read, by reason."""

    def add(self, key: int, place: int) -> None:
        """Add the place of an event."""
        before = self.events.setdefault(key, place)
        if isinstance(before, list):
            before.append(place)
        elif before != place:
            self.events[key] = [before, place]

    def calendar(self) -> Calendar:
        """The calendar without its events. Raises `ValueError` if its lines cannot be read."""
        from icalendar import Calendar

        head = b"".join(self.head).decode("utf-8", "replace")
        text = f"BEGIN:VCALENDAR\r\n{head}\r\nEND:VCALENDAR\r\n"
        [calendar] = Calendar.from_ical(text, multiple=True)
        return calendar


class CalendarFile:
    """The calendars of a file."""

    def __init__(self) -> None:
        """Nothing is read yet."""
        self.calendars: list[CalendarPart] = []
        self.cut: str | None = None
        """Where the file is cut off; None if it is whole."""
        self._scratch = Scratch()
        self._stack: list[bytes] = []
        """The names of the components that are open."""
        self._lines: _Lines = []
        """The lines of the open event or time zone so far, as pieces."""
        self._size = 0
        self._keeps: _Lines | None = None
        """The list that got the last line, which the next one may continue."""
        self._number = 0

    def close(self) -> None:
        """Remove the events."""
        self._scratch.close()

    def read(self, stream: BinaryIO, advance: Callable[[int], None]) -> None:
        """Read a stream of UTF-8. `advance` gets the number of bytes that were read."""
        whole = True
        for line in iter(partial(stream.readline, MOST_EVENT), b""):
            advance(len(line))
            self._number += whole
            if not whole:
                self._continue(line)
            elif line[:1] in b" \t" and self._stack:
                self._continue(line[1:])
            elif line.strip():
                self._begin_line(line)
            whole = line.endswith(b"\n")
        if self._stack:
            self._cut_off()

    def _cut_off(self) -> None:
        """Note that the open calendar ends here without its last line."""
        title = ""
        if b"VEVENT" in self._stack:
            lines = b"".join(self._lines).decode("utf-8", "replace")
            title = name_of(_parsed_event(lines).get("SUMMARY"))
        event = f", in the event {title}" if title else ""
        self.cut = self.cut or f"line {self._number:,}{event}"

    def _continue(self, piece: bytes) -> None:
        if self._keeps and self._fits(len(piece)):
            self._keeps[-1] = self._keeps[-1].rstrip(b"\r\n")
            self._keeps.append(piece)

    def _fits(self, size: int) -> bool:
        """Whether an event or a time zone may have so many bytes more."""
        self._size += size
        if self._size > MOST_EVENT:
            self._lines.clear()
        return self._size <= MOST_EVENT

    def _begin_line(self, line: bytes) -> None:
        start = line[:6].upper()
        if start == b"BEGIN:":
            self._begin(line[6:].strip().upper())
        into = self._target(line)
        if start[:4] == b"END:":
            into = self._lines if b"VTIMEZONE" in self._stack else None
        if into is not None and self._fits(len(line)):
            into.append(line)
            self._keeps = into
        else:
            self._keeps = None
        if start[:4] == b"END:":
            self._end(line[4:].strip().upper())

    def _target(self, line: bytes) -> _Lines | None:
        """The list that a line is kept in; None for a line that nobody reads."""
        if len(self._stack) == 1:
            return self.calendars[-1].head if line[:6].upper() != b"BEGIN:" else None
        if self._stack[1:] == [b"VEVENT"]:
            match = _NAME.match(line)
            # A name may be folded too.
            is_read = match and (match[1].upper() in _KEPT or not _VALUE.search(line))
            return self._lines if is_read else None
        return self._lines if b"VTIMEZONE" in self._stack else None

    def _begin(self, name: bytes) -> None:
        if name == b"VCALENDAR":
            if self._stack:
                self._cut_off()
            self._stack = []
            self.calendars.append(CalendarPart())
        elif not self._stack:
            return
        elif name == b"VEVENT" and name in self._stack:
            self.calendars[-1].lost[UNENDED] += 1
            del self._stack[1:]
        self._stack.append(name)
        if len(self._stack) <= 2:
            self._lines, self._size = [], 0
            self.calendars[-1].others += name in (b"VTODO", b"VJOURNAL")

    def _end(self, name: bytes) -> None:
        if name not in self._stack:
            # A misspelt name ends the innermost component, as in the library.
            name = self._stack[-1] if len(self._stack) > 1 else b""
        if not name:
            return
        while (ended := self._stack.pop()) != name:
            self.calendars[-1].lost.update([UNENDED] if ended == b"VEVENT" else ())
        if len(self._stack) == 1:
            if ended == b"VEVENT":
                self._put_event()
            elif ended == b"VTIMEZONE" and self._size <= MOST_EVENT:
                self.calendars[-1].head += self._lines
            self._lines, self._size = [], 0

    def _put_event(self) -> None:
        part = self.calendars[-1]
        if self._size > MOST_EVENT:
            part.lost[f"longer than {MOST_EVENT:,} bytes"] += 1
            return
        data = b"".join(self._lines)
        match = _UID.search(data)
        identity = b" ".join(match[1].split()) if match else data
        part.add(hash(identity), self._scratch.put(data))

    def event(self, place: int) -> Event:
        """The event at a place."""
        return _parsed_event(self._scratch.get(place).decode("utf-8", "replace"))


def _parsed_event(text: str) -> Event:
    """The event with these lines, which are not folded."""
    from icalendar import Event

    texts: dict[str, str] = {}
    dates: dict[str, list[str]] = defaultdict(list)
    others, attendees = ["BEGIN:VEVENT"], 0
    for line in re.split(r"\r?\n", text):
        match = _HEAD.match(line)
        name = re.split(r"[;:]", line, maxsplit=1)[0].strip().upper()
        attendees += name == "ATTENDEE"
        if match and name in TEXTS:
            texts.setdefault(name, _unescaped(line[match.end() :]))
        elif match and name in ("RDATE", "EXDATE"):
            # The library keeps a kilobyte for each line.
            dates[match[0]].append(line[match.end() :])
        elif name == "RRULE" and not line[len(name) :].strip(": "):
            # Some programs write an empty rule.
            continue
        elif name != "ATTENDEE" or attendees <= MOST_ATTENDEES:
            others.append(line)
    others += [head + ",".join(values) for head, values in dates.items()]
    event = Event.from_ical("\r\n".join([*others, "END:VEVENT", ""]))
    event.update(texts)
    return event


def _unescaped(value: str) -> str:
    """The text that a value stands for."""
    return _ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], value)
