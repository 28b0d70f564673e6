"""Reads calendar files: occurrences until now become messages, those to come a note."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

from djinn_memory.errors import DjinnError
from djinn_memory.home.access import DOMAIN
from djinn_memory.memories.catalog.catalog import file_name
from djinn_memory.memories.episodes.requests import CALENDAR
from djinn_memory.memories.imports.calendar_file import CalendarFile, CalendarPart
from djinn_memory.memories.imports.messages import LeftOut, Message, Read
from djinn_memory.memories.imports.occurrences import (
    MOST_FOLLOWED,
    EventOccurrence,
    ImportPeriod,
    RepeatingEvent,
    UnreadableEventError,
    end_of,
    instant,
    start_of,
)
from djinn_memory.memories.imports.requests import WrittenCalendar
from djinn_memory.memories.imports.values import EARLIEST, digest, name_of
from djinn_memory.memories.profiles.agenda import TYPE, PlannedEvent, event_line, sort_key
from djinn_memory.memories.profiles.reading import domain_to_write
from djinn_memory.memories.writing.change_set import VaultWriter
from djinn_memory.models import Filters, Problem, Vault
from djinn_memory.notes import frontmatter
from djinn_memory.notes.dates import moment
from djinn_memory.notes.ids import new_id
from djinn_memory.notes.slugs import folder, slug
from djinn_memory.runtime import Runtime
from djinn_memory.secrets import masked
from djinn_memory.store.index.records import Selection
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from icalendar import Calendar, Event

MOST_OCCURRENCES = 10_000
"""Maximum number of occurrences of an event: one each day for 27 years."""

COMING = "events that are still to come"

PAST = timedelta(hours=36)
"""The time before now whose events are listed too: the whole day, in every time zone."""

OLD = "events before 1971"

FOREVER = timedelta(days=100 * 365)
"""The time after now in which moved events may be whose repeating event is not in the file."""

CORRECT = "correct it in the calendar, then export it again"
"""The remedy for an event that cannot be read."""


def read_calendar(
    stream: BinaryIO, now: datetime, period: ImportPeriod, advance: Callable[[int], None]
) -> Iterator[Read]:
    """The events of a calendar file that began before `now`, and those to come.

    Of repeating events the occurrences in a period are read, of others all. `advance` gets the
    number of bytes that were read. Raises `DjinnError` if the file is no calendar.
    """
    with closing(CalendarFile()) as file:
        file.read(stream, advance)
        broken = not file.calendars
        for part in file.calendars:
            try:
                calendar = part.calendar()
            except (ValueError, RecursionError):
                # Where it is cut off, a line may be half.
                broken = broken or part is not file.calendars[-1] or not file.cut
                continue
            yield from _part(file, part, calendar, now, period)
        if file.cut:
            why = f"is cut off at {file.cut}: a line END:VCALENDAR is missing"
            raise DjinnError(f"{why}; export the calendar again")
        if broken:
            why = "is not a calendar file that can be read; export the calendar again"
            raise DjinnError(why)


def _part(
    file: CalendarFile, part: CalendarPart, calendar: Calendar, now: datetime, period: ImportPeriod
) -> Iterator[Read]:
    """The events of one calendar of a file."""
    name = name_of(calendar.get("X-WR-CALNAME")) or CALENDAR
    if part.others:
        yield LeftOut("tasks and journal entries", part.others)
    for why, number in part.lost.items():
        yield Problem(name, f"{count(number, 'event')} {why}; {CORRECT}")
    for places in part.events.values():
        listed = [places] if isinstance(places, int) else places
        yield from _read_events(calendar, name, [*map(file.event, listed)], now, period)


def _read_events(
    calendar: Calendar, name: str, events: list[Event], now: datetime, period: ImportPeriod
) -> Iterator[Read]:
    """The events with one UID. An unreadable event becomes a problem."""
    uid = _uid(events[0])
    try:
        if len(events) == 1 and not any(key in events[0] for key in ("RRULE", "RDATE")):
            yield from _single(events[0], name, uid, now)
        else:
            yield from _series(calendar, events, name, uid, now, period)
    except UnreadableEventError as error:
        yield Problem(_title(events, uid), f"the event {error}; {CORRECT}")
    except Exception:
        # The library's words mean nothing to the owner of the calendar.
        broken = [key for event in events for key, _ in event.errors if key]
        why = f"{broken[0]} of the event" if broken else "the rule or a date of the event"
        yield Problem(_title(events, uid), f"{why} cannot be read; {CORRECT}")


def _title(events: Sequence[Event], uid: str) -> str:
    return name_of(events[0].get("SUMMARY")) or uid


def _uid(event: Event) -> str:
    if given := name_of(event.get("UID")):
        return given
    start = None if "DTSTART" in dict(event.errors) else start_of(event)
    return digest(str(event.get("SUMMARY")), str(start))


def _single(event: Event, name: str, uid: str, now: datetime) -> Iterator[Read]:
    """An event that does not repeat."""
    start = start_of(event)
    if start is None:
        raise UnreadableEventError("has no DTSTART, or several")
    occurrence = EventOccurrence(event, start, end_of(event, start), start)
    yield from _planned(occurrence, name, now)
    yield _occurrence(occurrence, name, uid, now)


def _series(
    calendar: Calendar,
    events: list[Event],
    name: str,
    uid: str,
    now: datetime,
    period: ImportPeriod,
) -> Iterator[Read]:
    """The occurrences of a repeating event in a period."""
    if not any(key in event for event in events for key in ("RRULE", "RDATE")):
        # They stand for themselves.
        period = ImportPeriod(EARLIEST, now + FOREVER)
    repeating = RepeatingEvent(calendar, events, period)
    if repeating.first < EARLIEST:
        yield LeftOut(OLD)
    coming = False
    recorded = beyond = 0
    for occurrence in repeating.within():
        start = instant(occurrence.start)
        if start > now:
            coming = True
            yield from _planned(occurrence, name, now)
        elif recorded == MOST_OCCURRENCES:
            beyond += 1
        else:
            recorded += 1
            yield from _planned(occurrence, name, now)
            yield _occurrence(occurrence, name, f"{uid}:{occurrence.original.isoformat()}", now)
    if coming:
        yield LeftOut(COMING)
    if beyond:
        why = f"{beyond:,} occurrences are left out; djinn records {MOST_OCCURRENCES:,} of an event"
        yield Problem(_title(events, uid), why)
    if repeating.skips:
        yield LeftOut(f"events with more than {MOST_FOLLOWED:,} earlier occurrences")
    for number, side, setting in (
        (repeating.before(), "before", "calendar_past"),
        (repeating.after(), "after", "calendar_future"),
    ):
        if number:
            at = period.begin if side == "before" else period.end
            reason = f"occurrences {side} {at.astimezone():%Y-%m-%d} (import.{setting})"
            yield LeftOut(reason, number)


def _occurrence(occurrence: EventOccurrence, name: str, key: str, now: datetime) -> Read:
    event, at = occurrence.event, instant(occurrence.start)
    if at > now:
        return LeftOut(COMING)
    if _cancelled(event):
        return LeftOut("cancelled events")
    if at < EARLIEST:
        return LeftOut(OLD)
    text = _text(occurrence)
    return Message(key, name, "note", text, at, CALENDAR, CALENDAR, {"calendar": name})


def _cancelled(event: Event) -> bool:
    return str(event.get("STATUS", "")).upper() == "CANCELLED"


def _planned(occurrence: EventOccurrence, name: str, now: datetime) -> Iterator[PlannedEvent]:
    """The occurrence of an event that is about to come, or was on this day; nothing for others."""
    event, start, end = occurrence.event, occurrence.start, occurrence.end
    over = instant(end or start) < now - PAST - timedelta(days=1)
    if over or start.year == date.max.year or _cancelled(event):
        return
    if isinstance(start, datetime):
        start = start if start.tzinfo else start.astimezone()
        end = end if not isinstance(end, datetime) or end.tzinfo else end.astimezone()
    elif end is not None:
        # The end of whole days is the day after.
        end -= timedelta(days=1)
    title = name_of(event.get("SUMMARY")) or "Event"
    place = _person(event.get("LOCATION"))
    planned = PlannedEvent(name, start, end, f"{title} ({place})" if place else title)
    _, ends = planned.period(UTC)
    if ends >= now - PAST:
        yield planned


def _text(occurrence: EventOccurrence) -> str:
    """An event as text: title, time, place, people, description."""
    event = occurrence.event
    lines = [name_of(event.get("SUMMARY")) or "Event", _when(occurrence.start, occurrence.end)]
    for label, key in (("Place", "LOCATION"), ("Organizer", "ORGANIZER")):
        if value := _person(event.get(key)):
            lines.append(f"{label}: {value}")
    attendees = event.get("ATTENDEE", ())
    listed = attendees if isinstance(attendees, list) else [attendees]
    if people := ", ".join(filter(None, map(_person, listed))):
        lines.append(f"With: {people}")
    description = str(event.get("DESCRIPTION") or "").strip()
    return "\n".join(lines) + (f"\n\n{description}" if description else "")


def _when(start: date, end: date | None) -> str:
    if not isinstance(start, datetime):
        last = end - timedelta(days=1) if end else start
        return f"{start} to {last}, all day" if last > start else f"{start}, all day"
    zone = str(start.tzinfo) if start.tzinfo else ""
    until = ""
    if isinstance(end, datetime) and instant(end) > instant(start):
        until = f" to {end:%H:%M}" if end.date() == start.date() else f" to {end:%Y-%m-%d %H:%M}"
    return f"{start:%Y-%m-%d %H:%M}{until} {zone}".rstrip()


def _person(value: Any) -> str:
    """The name in a property of a person or a place."""
    named = getattr(value, "params", {}).get("CN")
    return name_of(str(named or value or "").removeprefix("mailto:").removeprefix("MAILTO:"))


MOST_EVENTS = 1_000
"""Maximum number of events in a note."""

HEAD = "The coming events of this calendar. The next import of it writes this note again."

Planned = Mapping[str, Sequence[PlannedEvent]]
"""The coming events of calendars, by the name of the calendar."""


def write_calendars(
    runtime: Runtime, agent: str, writer: VaultWriter, planned: Planned, domain: str | None
) -> list[WrittenCalendar]:
    """Write a note for each calendar, in place of that of an earlier import.

    A calendar without coming events gets no new note. Secrets are masked.
    """
    vault, written = writer.vault, []
    paths = {name: _path(runtime, vault, name) for name in planned}
    wanted = [name for name, events in planned.items() if events or paths[name]]
    default = domain_to_write(runtime, vault, agent, domain, CALENDAR) if wanted else None
    for name in wanted:
        events = nearest(planned[name])
        text = "\n".join([HEAD, "", *(masked(event_line(event))[0] for event in events)])
        path = paths[name]
        if path is None:
            path = _create(writer, name, text, default)
        else:
            writer.rewrite(path, partial(_with_events, text=text, domain=domain))
        written.append(WrittenCalendar(vault.name, path, name, len(events)))
    return written


def nearest(events: Iterable[PlannedEvent]) -> list[PlannedEvent]:
    """The next ones of the events of a calendar, as many as its note has, in order."""
    return sorted(set(events), key=sort_key)[:MOST_EVENTS]


def _path(runtime: Runtime, vault: Vault, name: str) -> str | None:
    """The path of the note of a calendar, if an earlier import wrote one."""
    filters = Filters(types=(TYPE,), where=((TYPE, name),))
    with runtime.index([vault]) as index:
        memories = index.memories(Selection(filters), order="written", limit=1, fields=())
        return next((memory.path for memory in memories), None)


def _with_events(data: bytes, text: str, domain: str | None) -> bytes:
    """A note with other events, and with the domain of this import if it gives one."""
    changed = frontmatter.replace_text(data, text)
    return changed if domain is None else frontmatter.edit_fields(changed, {DOMAIN: domain})


def _create(writer: VaultWriter, name: str, text: str, domain: str | None) -> str:
    fields = {
        "id": new_id(),
        "title": f"Calendar: {name}",
        "type": TYPE,
        TYPE: name,
        **({DOMAIN: domain} if domain is not None else {}),
        "created": moment(writer.now),
    }
    note = frontmatter.compose(fields, f"{text}\n")
    file = file_name(writer.vault, slug(name))
    return writer.put(folder(TYPE), file, note.encode("utf-8", "replace"))
