"""The events of a calendar as lines of a note, and those of an agent's day.

`djinn import` writes the coming events of a calendar into a note of type `calendar`, an event a
line, with the times in the time zone of the event:

    - 2026-11-23 09:00+01:00 to 10:30: Standup (Room 4)
    - 2026-11-24 to 2026-11-26, all day: Harbour festival

The end has an offset of its own if the clock changes in between.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import islice

from msgspec import Struct

from djinn_memory.errors import DjinnError
from djinn_memory.memories.catalog.catalog import body_of
from djinn_memory.memories.profiles.requests import CalendarEvent
from djinn_memory.models import Filters, extended
from djinn_memory.runtime import Runtime
from djinn_memory.store.index.records import Selection

TYPE = "calendar"
"""The type of the note."""

MOST_TITLE = 200
"""Maximum characters of the title of an event."""

MOST_CALENDARS = 20
"""Maximum number of calendars that are read."""

SHARE = 1 / 8
"""The maximum share of a budget for the events of the day."""

_DAY, _OFFSET = r"\d{4}-\d\d-\d\d", r"[+-]\d\d:\d\d"
_LINE = re.compile(
    rf"- (?P<day>{_DAY})(?: (?P<time>\d\d:\d\d)(?P<offset>{_OFFSET}))?"
    rf"(?: to (?:(?P<last>{_DAY})(?: |(?=,)))?(?:(?P<end>\d\d:\d\d)(?P<changed>{_OFFSET})?)?)?"
    r"(?P<whole>, all day)?: (?P<title>.*\S)"
)
_MARKUP = re.compile(r"[\[\]#<>`*_^|\\]")


class PlannedEvent(Struct, frozen=True):
    """An event of a calendar. An event of whole days has dates, and its last day as `end`."""

    calendar: str
    start: date
    end: date | None
    title: str

    @property
    def whole_days(self) -> bool:
        """Whether it takes whole days."""
        return not isinstance(self.start, datetime)

    def period(self, zone: tzinfo | None) -> tuple[datetime, datetime]:
        """The times when it begins and ends, for somebody in a time zone."""
        if isinstance(self.start, datetime):
            begin = self.start.astimezone(zone)
            end = self.end.astimezone(zone) if isinstance(self.end, datetime) else begin
            return begin, max(begin, end)
        last = self.end or self.start
        return _midnight(self.start, zone), _midnight(last + timedelta(days=1), zone)


def _midnight(day: date, zone: tzinfo | None) -> datetime:
    begin = datetime.combine(day, time())
    return begin.replace(tzinfo=zone) if zone else begin.astimezone()


def event_line(event: PlannedEvent) -> str:
    """An event as a line of a note. Markup in its title is escaped."""
    title = _MARKUP.sub(r"\\\g<0>", " ".join(event.title.split())[:MOST_TITLE])
    start, end = event.start, event.end
    if not isinstance(start, datetime):
        last = f" to {end}" if end and end > start else ""
        return f"- {start}{last}, all day: {title}"
    if (offset := start.utcoffset()) is None or offset.seconds % 60:
        # Before standard time, offsets had seconds.
        start = start.astimezone(UTC)
    until = ""
    if isinstance(end, datetime) and end > start:
        local = end.astimezone(start.tzinfo)
        day = f"{local:%Y-%m-%d} " if local.date() != start.date() else ""
        changed = local.utcoffset() != start.utcoffset()
        clock = local.isoformat(" ", "minutes").partition(" ")[2] if changed else f"{local:%H:%M}"
        until = f" to {day}{clock}"
    return f"- {start.isoformat(' ', 'minutes')}{until}: {title}"


def read_events(text: str, calendar: str) -> Iterator[PlannedEvent]:
    """The events in the lines of a note. Other lines are left out."""
    for line in text.split("\n"):
        match = _LINE.fullmatch(line.rstrip())
        if match:
            try:
                yield _event(match, calendar)
            except ValueError:
                # A person may have changed the line.
                continue


def _event(match: re.Match[str], calendar: str) -> PlannedEvent:
    title = re.sub(r"\\(.)", r"\1", match["title"])
    day = date.fromisoformat(match["day"])
    last = date.fromisoformat(match["last"]) if match["last"] else day
    if match["whole"] or not match["time"]:
        return PlannedEvent(calendar, day, last if last > day else None, title)
    start = datetime.fromisoformat(f"{day}T{match['time']}{match['offset']}")
    end = None
    if match["end"]:
        end = datetime.fromisoformat(f"{last}T{match['end']}{match['changed'] or match['offset']}")
    return PlannedEvent(calendar, start, end, title)


def on_day(events: Iterable[PlannedEvent], now: datetime) -> list[PlannedEvent]:
    """The events of the local day of a time with a zone, in order. Equal events are one."""
    begin = _midnight(now.date(), now.tzinfo)
    end = _midnight(now.date() + timedelta(days=1), now.tzinfo)
    today: dict[tuple[datetime, datetime, str], PlannedEvent] = {}
    for event in events:
        start, stop = event.period(now.tzinfo)
        if start < end and (stop > begin or start >= begin):
            today.setdefault((start, stop, event.title), event)
    return [today[key] for key in sorted(today)]


def sort_key(event: PlannedEvent) -> tuple[datetime, str]:
    """The order of events in a note."""
    return event.period(UTC)[0], event.title


def events_of_day(
    runtime: Runtime, agent: str, zone: tzinfo | None, domains: Sequence[str] = ()
) -> tuple[CalendarEvent, ...]:
    """The events of the local day of an agent, in order, from calendars that it may see.

    With `domains`, only those of calendars of one of these domains.
    """
    local = runtime.now().astimezone(zone)
    return tuple(_shown(event, local) for event in on_day(_events(runtime, agent, domains), local))


def event_text(event: CalendarEvent) -> str:
    """An event as a line of Markdown."""
    return f"- {event.when}: {event.title}{' (over)' if event.over else ''}"


def _events(runtime: Runtime, agent: str, domains: Sequence[str]) -> Iterator[PlannedEvent]:
    vaults = {vault.name: vault for vault in runtime.home.scope(agent)}
    selection = Selection(Filters(types=(TYPE,), domains=tuple(domains)), now=runtime.now())
    with runtime.index(tuple(vaults.values())) as index:
        listed = index.memories(selection, order="title", fields=(TYPE,))
        memories = list(islice(listed, MOST_CALENDARS))
    for memory in memories:
        with suppress(OSError, DjinnError):
            name = memory.field(TYPE) or memory.title
            yield from read_events(body_of(vaults[memory.vault], memory), name)


def _shown(event: PlannedEvent, local: datetime) -> CalendarEvent:
    begin, end = event.period(local.tzinfo)
    times = begin.isoformat(timespec="minutes"), end.isoformat(timespec="minutes")
    if event.whole_days:
        times = event.start.isoformat(), (event.end or event.start).isoformat()
    return extended(
        event,
        CalendarEvent,
        when="all day" if event.whole_days else _when(begin, end, local),
        start=times[0],
        end=times[1] if event.end else None,
        all_day=event.whole_days,
        over=end <= local and begin < local,
    )


def _when(begin: datetime, end: datetime, local: datetime) -> str:
    """The part of an event that lies on a day, in words."""
    first, last = begin.date() == local.date(), end.date() == local.date()
    if first and last:
        return f"{begin:%H:%M}" + (f" to {end:%H:%M}" if end > begin else "")
    if first:
        return f"from {begin:%H:%M}"
    return f"until {end:%H:%M}" if last else "all day"
