"""Reads calendar files. Each occurrence until now becomes a message."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from djinn_memory.memories.episodes.requests import CALENDAR
from djinn_memory.memories.imports.formats.values import EARLIEST, digest, name_of
from djinn_memory.memories.imports.messages import LeftOut, Message, Read
from djinn_memory.memories.profiles.agenda import PlannedEvent
from djinn_memory.models import Problem

if TYPE_CHECKING:
    from icalendar import Component

CHANNEL = CALENDAR

MOST_OCCURRENCES = 10_000
"""Maximum number of occurrences of an event: one each day for 27 years."""

COMING = "events that are still to come"

MOST_A_DAY = 48
"""Maximum number of occurrences of an event on a day."""

AHEAD = timedelta(days=5 * 366)
"""The time after now in which a next occurrence is looked for. A rule that never applies would be
followed for 8,000 years."""

STEP = timedelta(days=366)
"""The period whose occurrences are looked for at once."""

PLANNED = timedelta(days=60)
"""The time after now whose events are listed in the note of the calendar."""

PAST = timedelta(hours=36)
"""The time before now whose events are listed too: the whole day, in every time zone."""

OLD = "events before 1971"

CORRECT = "correct it in the calendar, then export it again"
"""What to do about an event that cannot be read."""

_BEGIN = re.compile(r"^BEGIN:VCALENDAR\s*$", re.IGNORECASE | re.MULTILINE)

_A_DAY = {"SECONDLY": 86_400, "MINUTELY": 1_440, "HOURLY": 24}


class UnreadableCalendarError(Exception):
    """A calendar cannot be read. The text says why."""


class UnreadableEventError(Exception):
    """An event cannot be read. The text says why."""


def read_calendar(text: str, now: datetime) -> Iterator[Read]:
    """The occurrences of a calendar's events that began before `now`, event by event.

    Raises `UnreadableCalendarError` if the text is no calendar.
    """
    from icalendar import Calendar

    try:
        calendars = Calendar.from_ical(text, multiple=True)
    except (ValueError, RecursionError):
        why = "is not a calendar file that can be read; export the calendar again"
        raise UnreadableCalendarError(why) from None
    for calendar in calendars:
        name = name_of(calendar.get("X-WR-CALNAME")) or CHANNEL
        series: dict[str, list[Any]] = defaultdict(list)
        for event in calendar.walk("VEVENT"):
            series[_uid(event)].append(event)
        others = sum(len(calendar.walk(kind)) for kind in ("VTODO", "VJOURNAL"))
        for _ in range(others):
            yield LeftOut("tasks and journal entries")
        for uid, events in series.items():
            try:
                yield from _series(calendar, name, uid, events, now)
            except UnreadableEventError as error:
                yield Problem(_title(events, uid), f"the event {error}; {CORRECT}")
            except Exception:
                # The words of the library mean nothing to whoever has the calendar.
                broken = [key for event in events for key, _ in event.errors if key]
                why = f"{broken[0]} of the event" if broken else "the rule or a date of the event"
                yield Problem(_title(events, uid), f"{why} cannot be read; {CORRECT}")
    if len(calendars) < len(_BEGIN.findall(text)):
        why = "is cut off: a line END:VCALENDAR is missing; export the calendar again"
        raise UnreadableCalendarError(why)


def _title(events: Sequence[Component], uid: str) -> str:
    return name_of(events[0].get("SUMMARY")) or uid


def _uid(event: Component) -> str:
    given = name_of(event.get("UID"))
    return given or digest(str(event.get("SUMMARY")), str(_start(event)))


def _start(event: Component) -> date | None:
    start = event.get("DTSTART")
    value = getattr(start, "dt", None)
    return value if isinstance(value, date) else None


def _series(
    calendar: Component, name: str, uid: str, events: list[Any], now: datetime
) -> Iterator[Read]:
    """The occurrences of the events with one uid."""
    recurs = any("RRULE" in event or "RDATE" in event for event in events)
    if not recurs and len(events) == 1:
        yield from _planned(events[0], name, now)
        yield _occurrence(events[0], name, uid, now, alone=True)
        return
    for event in events:
        rules = event.get("RRULE")
        for rule in rules if isinstance(rules, list) else [rules]:
            if rule is not None:
                _limit(rule, _start(event), now)
    first = min(_moment(start) for event in events if (start := _start(event)) is not None)
    if first < EARLIEST:
        yield LeftOut(OLD)
    coming = False
    for number, occurrence in enumerate(_expanded(calendar, events, max(first, EARLIEST), now)):
        start = _start(occurrence)
        yield from _planned(occurrence, name, now)
        if start is None or _moment(start) > now:
            coming = True
            if start is None or _moment(start) > now + PLANNED:
                break
            continue
        if number == MOST_OCCURRENCES:
            why = f"only the first {MOST_OCCURRENCES:,} occurrences are recorded"
            yield Problem(_title(events, uid), why)
            break
        yield _occurrence(occurrence, name, uid, now)
    if coming:
        yield LeftOut(COMING)


def _limit(rule: Any, start: date | None, now: datetime) -> None:
    """End a rule soon after `now`.

    Raises `UnreadableEventError` for a rule that takes too long to follow.
    """
    if any(int(number) < 1 for number in rule.get("INTERVAL", ())):
        raise UnreadableEventError("has an INTERVAL below 1")
    often = max((_A_DAY.get(str(each), 1) for each in rule.get("FREQ", ())), default=1)
    for key in ("BYMINUTE", "BYSECOND"):
        often *= max(len(rule.get(key, ())), 1)
    if often * (len(rule.get("BYHOUR", ())) or 1) > MOST_A_DAY:
        raise UnreadableEventError(f"occurs more than {MOST_A_DAY} times a day")
    last = now + AHEAD
    if "COUNT" not in rule and all(_moment(until) > last for until in rule.get("UNTIL", ())):
        until: date = last.date()
        if isinstance(start, datetime):
            until = last.replace(microsecond=0, tzinfo=start.tzinfo and UTC)
        rule["UNTIL"] = [until]


def _expanded(
    calendar: Component, events: list[Any], first: datetime, now: datetime
) -> Iterator[Any]:
    """The occurrences of events that begin between `first` and `AHEAD` of now, in order."""
    import recurring_ical_events
    from icalendar import Calendar

    alone = Calendar()
    for key in ("VERSION", "PRODID", "X-WR-TIMEZONE"):
        if key in calendar:
            alone[key] = calendar[key]
    for event in events:
        alone.add_component(event)
    query = recurring_ical_events.of(alone, keep_recurrence_attributes=False)
    # `after` would look at all earlier occurrences again for each day.
    begin, end = max(first - timedelta(days=1), EARLIEST), now + AHEAD
    while begin < end:
        until = begin + STEP
        occurrences = ((_start(each), each) for each in query.between(begin, until))
        # A long occurrence is in several steps.
        timed = [
            (at, number, each)
            for number, (start, each) in enumerate(occurrences)
            if start is not None and begin <= (at := _moment(start)) < until
        ]
        yield from (each for _, _, each in sorted(timed, key=lambda entry: entry[:2]))
        begin = until


def _moment(value: date) -> datetime:
    """The time of a start. A day begins at midnight, a time without a zone is local."""
    if not isinstance(value, datetime):
        value = datetime.combine(value, time())
    return (value if value.tzinfo else value.astimezone()).astimezone(UTC)


def _occurrence(
    event: Component, name: str, uid: str, now: datetime, *, alone: bool = False
) -> Read:
    start = _start(event)
    if start is None:
        raise UnreadableEventError("has no DTSTART, or several")
    at = _moment(start)
    if at > now:
        return LeftOut(COMING)
    if str(event.get("STATUS", "")).upper() == "CANCELLED":
        return LeftOut("cancelled events")
    if at < EARLIEST:
        return LeftOut(OLD)
    original = getattr(event.get("RECURRENCE-ID"), "dt", start)
    key = uid if alone else f"{uid}:{original.isoformat()}"
    return Message(key, name, "note", _text(event, start), at, CHANNEL, CHANNEL, {"calendar": name})


def _planned(event: Component, name: str, now: datetime) -> Iterator[PlannedEvent]:
    """The occurrence of an event that is about to come, or was on this day; nothing for others."""
    start, end = _start(event), getattr(event.get("DTEND"), "dt", None)
    if start is None or str(event.get("STATUS", "")).upper() == "CANCELLED":
        return
    length = getattr(event.get("DURATION"), "dt", None)
    if end is None and isinstance(length, timedelta):
        end = start + length
    if isinstance(start, datetime):
        start = start if start.tzinfo else start.astimezone()
        end = end if not isinstance(end, datetime) or end.tzinfo else end.astimezone()
    elif isinstance(end, date) and not isinstance(end, datetime):
        # The end of whole days is the day after.
        end -= timedelta(days=1)
    title = name_of(event.get("SUMMARY")) or "Event"
    place = _person(event.get("LOCATION"))
    planned = PlannedEvent(name, start, end, f"{title} ({place})" if place else title)
    begins, ends = planned.period(UTC)
    if begins <= now + PLANNED and ends >= now - PAST:
        yield planned


def _text(event: Component, start: date) -> str:
    """An event as text: title, time, place, people, description."""
    lines = [name_of(event.get("SUMMARY")) or "Event", _when(event, start)]
    for label, key in (("Place", "LOCATION"), ("Organizer", "ORGANIZER")):
        if value := _person(event.get(key)):
            lines.append(f"{label}: {value}")
    attendees = event.get("ATTENDEE", ())
    listed = attendees if isinstance(attendees, list) else [attendees]
    if people := ", ".join(filter(None, map(_person, listed[:50]))):
        lines.append(f"With: {people}")
    description = str(event.get("DESCRIPTION") or "").strip()
    return "\n".join(lines) + (f"\n\n{description}" if description else "")


def _when(event: Component, start: date) -> str:
    end = getattr(event.get("DTEND"), "dt", None)
    if not isinstance(start, datetime):
        last = end - timedelta(days=1) if isinstance(end, date) else start
        return f"{start} to {last}, all day" if last > start else f"{start}, all day"
    zone = str(start.tzinfo) if start.tzinfo else ""
    until = ""
    if isinstance(end, datetime) and end > start:
        until = f" to {end:%H:%M}" if end.date() == start.date() else f" to {end:%Y-%m-%d %H:%M}"
    return f"{start:%Y-%m-%d %H:%M}{until} {zone}".rstrip()


def _person(value: Any) -> str:
    """The name in a property of a person or a place."""
    named = getattr(value, "params", {}).get("CN")
    return name_of(str(named or value or "").removeprefix("mailto:").removeprefix("MAILTO:"))
