"""Finds the occurrences of a repeating event in a period, with bounded work."""

from __future__ import annotations

from calendar import isleap, monthrange
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from djinn_memory.memories.imports.values import EARLIEST

if TYPE_CHECKING:
    from icalendar import Calendar, Event

MOST_A_DAY = 48
"""Maximum number of occurrences of an event on a day."""

MOST_FOLLOWED = 100_000
"""Maximum number of occurrences before the end of the period that are counted one by one: one each
day for 273 years. It takes 2 seconds."""

AHEAD = timedelta(days=5 * 366)
"""The time after the period in which further occurrences are counted. A rule that never applies
would be followed for 8,000 years."""

STEP = timedelta(days=366)
"""The period whose occurrences are looked for at once."""

_A_DAY = {"SECONDLY": 86_400, "MINUTELY": 1_440, "HOURLY": 24}

_UNITS = {"HOURLY": timedelta(hours=1), "DAILY": timedelta(days=1), "WEEKLY": timedelta(weeks=1)}
"""The lengths of the units that rules count. Months and years have none, and are few."""

_FILTERS = {"BYMONTH", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO", "BYDAY"}
"""The keys with which a rule may never apply."""

_WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")

_DAYS = {"WEEKLY": 7.0, "MONTHLY": 28.0, "YEARLY": 365.0}


class UnreadableEventError(Exception):
    """An event cannot be read. The text says why."""


class ImportPeriod(Struct, frozen=True):
    """The time whose occurrences of repeating events are read."""

    begin: datetime
    end: datetime


class EventOccurrence(Struct, frozen=True):
    """An event at one time."""

    event: Event
    start: date
    end: date | None
    original: date
    """The start before this occurrence was moved. It names the occurrence."""


class RepeatingEvent:
    """The events with one UID: a repeating one, and its changed occurrences."""

    def __init__(self, calendar: Calendar, events: Sequence[Event], period: ImportPeriod) -> None:
        """Raises `UnreadableEventError` for rules that take too long to follow."""
        self._period = period
        self._rules = [rule for event in events for rule in _listed(event.get("RRULE"))]
        self._endless = any("COUNT" not in rule and "UNTIL" not in rule for rule in self._rules)
        starts = [instant(start) for event in events if (start := start_of(event)) is not None]
        if not starts:
            raise UnreadableEventError("has no DTSTART, or several")
        dates = [instant(each) for event in events for each in _dates(event)]
        self.first = min([*starts, *dates])
        """The first time that an occurrence may have."""
        self.skips = False
        """Whether so many earlier occurrences are left out that they are not counted."""
        for event in events:
            for rule in _listed(event.get("RRULE")):
                _check(rule)
                _limit(rule, start_of(event), period.end + AHEAD)
                self._follow(event, rule)
            self._drop_idle(event)
        self._query = _query(calendar, events)

    def _follow(self, event: Event, rule: Any) -> None:
        """Let a rule that began long ago begin shortly before the period.

        Raises `UnreadableEventError` if it cannot, because it counts its occurrences.
        """
        start, frequency = start_of(event), str(_listed(rule.get("FREQ"))[0])
        if start is None:
            return
        number = _interval(rule) * _DAYS.get(frequency, 24 / _A_DAY.get(frequency, 24))
        days = (self._period.end + AHEAD - instant(start)) / timedelta(days=1)
        if days / number <= MOST_FOLLOWED:
            return
        length = max(timedelta(0), (end_of(event, start) or start) - start)
        unit = _interval(rule) * _UNITS.get(frequency, timedelta(0))
        if not unit or "COUNT" in rule or len(_listed(event.get("RRULE"))) > 1:
            why = f"has more than {MOST_FOLLOWED:,} occurrences, of which the first ones are old"
            raise UnreadableEventError(why)
        skipped = (self._period.begin - instant(start) - length) // unit - 2
        if skipped > 0:
            self.skips = True
            for key in ("DTSTART", "DTEND"):
                if key in event:
                    event[key].dt += skipped * unit

    def _drop_idle(self, event: Event) -> None:
        """Remove the rules of an event that do not apply until some time after the period."""
        start, rules = start_of(event), _listed(event.get("RRULE"))
        last = self._period.end + AHEAD
        used = [rule for rule in rules if start is None or _applies(rule, start, last)]
        if len(used) < len(rules):
            event["RRULE"] = used
            if not used:
                del event["RRULE"]

    def before(self) -> int:
        """The number of occurrences before the period, as far as they are counted."""
        if self.skips:
            return 0
        begin = max(self.first, EARLIEST)
        return sum(1 for _ in self._between(begin, self._period.begin))

    def after(self) -> int:
        """The number of occurrences after the period; 0 for a rule without an end."""
        if self._endless:
            return 0
        return sum(1 for _ in self._between(self._period.end, self._period.end + AHEAD))

    def within(self) -> Iterator[EventOccurrence]:
        """The occurrences in the period, in order."""
        begin = max(self._period.begin, min(self.first, self._period.end), EARLIEST)
        while begin < self._period.end:
            until = min(begin + STEP, self._period.end)
            # A long occurrence is in several steps.
            yield from self._between(begin, until)
            begin = until

    def _between(self, begin: datetime, end: datetime) -> Iterator[EventOccurrence]:
        """The occurrences that begin at a time, or after it, and before another."""
        if begin >= end:
            return
        timed = []
        for number, each in enumerate(self._query.between(begin - timedelta(days=1), end)):
            if begin <= (at := instant(each.start)) < end:
                timed.append((at, number, each))
        for _, _, each in sorted(timed, key=lambda entry: entry[:2]):
            yield each.at_its_time()


def _query(calendar: Calendar, events: Sequence[Event]) -> Any:
    """The library's query. It returns occurrences instead of events.

    To copy an event for each would take the square of the number of its dates.
    """
    from icalendar import Calendar
    from recurring_ical_events import ComponentsWithName, Occurrence, of

    class Found(Occurrence):  # type: ignore[misc]
        def __init__(self, adapter: Any, *times: Any, **more: Any) -> None:
            super().__init__(adapter, *times, **more)
            self._source = adapter

        def as_component(self, keep_recurrence_attributes: bool) -> Found:
            return self

        def at_its_time(self) -> EventOccurrence:
            event = self._source._component
            changed = event.get("RECURRENCE-ID")
            # A change of all later occurrences stands for each of them.
            moved = changed is not None and self.start == self._source.start
            original = changed.dt if moved else self.start
            return EventOccurrence(event, self.start, self.end, original)

    alone = Calendar()
    for key in ("VERSION", "PRODID", "X-WR-TIMEZONE"):
        if key in calendar:
            alone[key] = calendar[key]
    for event in events:
        alone.add_component(event)
    return of(alone, components=[ComponentsWithName("VEVENT", occurrence=Found)])


def start_of(event: Event) -> date | None:
    """The start of an event: a day, or a time with or without a zone."""
    value = getattr(event.get("DTSTART"), "dt", None)
    return value if isinstance(value, date) else None


def end_of(event: Event, start: date) -> date | None:
    """The end of an event, from its end or its duration. That of whole days is the day after."""
    end = getattr(event.get("DTEND"), "dt", None)
    length = getattr(event.get("DURATION"), "dt", None)
    if isinstance(length, timedelta) and not isinstance(end, date):
        return start + length
    same = isinstance(end, date) and isinstance(end, datetime) == isinstance(start, datetime)
    return end if same else None


def instant(value: date) -> datetime:
    """The time of a start. A day begins at midnight, a time without a zone is local."""
    if not isinstance(value, datetime):
        value = datetime.combine(value, time())
    try:
        return (value if value.tzinfo else value.astimezone()).astimezone(UTC)
    except (OverflowError, ValueError, OSError):
        # In the years 1 and 9999 a zone may lead out of the calendar.
        return value.replace(tzinfo=UTC)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _dates(event: Event) -> Iterator[date]:
    """The additional dates of an event."""
    for dates in _listed(event.get("RDATE")):
        for each in dates.dts:
            yield each.dt[0] if isinstance(each.dt, tuple) else each.dt


def _interval(rule: Any) -> int:
    return max((int(number) for number in _listed(rule.get("INTERVAL"))), default=1)


def _check(rule: Any) -> None:
    """Raise `UnreadableEventError` for a rule that takes too long to follow."""
    if any(int(number) < 1 for number in rule.get("INTERVAL", ())):
        raise UnreadableEventError("has an INTERVAL below 1")
    often = max((_A_DAY.get(str(each), 1) for each in rule.get("FREQ", ())), default=1)
    for key in ("BYMINUTE", "BYSECOND"):
        often *= max(len(rule.get(key, ())), 1)
    if often * (len(rule.get("BYHOUR", ())) or 1) > MOST_A_DAY:
        raise UnreadableEventError(f"occurs more than {MOST_A_DAY} times a day")


def _limit(rule: Any, start: date | None, last: datetime) -> None:
    """End a rule at a time at the latest, unless it counts its occurrences."""
    if "COUNT" not in rule and all(instant(until) > last for until in rule.get("UNTIL", ())):
        until: date = last.date()
        if isinstance(start, datetime):
            until = last.replace(microsecond=0, tzinfo=start.tzinfo and UTC)
        rule["UNTIL"] = [until]


def _applies(rule: Any, start: date, last: datetime) -> bool:
    """Whether a rule may apply on a day between its start and a time.

    The library looks for the next occurrence up to the year 9999, which takes 4 seconds.
    """
    frequency = str(rule["FREQ"][0])
    times = 1
    for key in ("BYHOUR", "BYMINUTE", "BYSECOND"):
        times *= len(rule.get(key, ())) or 1
    most = times * {"HOURLY": 1, "DAILY": 1, "WEEKLY": 7, "MONTHLY": 31}.get(frequency, 366)
    positions = rule.get("BYSETPOS", ())
    if positions and all(abs(int(position)) > most for position in positions):
        return False
    keys = _FILTERS & rule.keys()
    if not keys or "RSCALE" in rule:
        # Of another calendar than the Gregorian one nothing can be said here.
        return True
    day = date(start.year, start.month, start.day)
    months, days = _numbers(rule, "BYMONTH"), _numbers(rule, "BYMONTHDAY")
    year_days = _numbers(rule, "BYYEARDAY")
    # For every day with which a week may begin.
    weeks = {week + more for week in _numbers(rule, "BYWEEKNO") for more in (-1, 0, 1)}
    weekdays = {_WEEKDAYS.index(str(each)[-2:].upper()) for each in rule.get("BYDAY", ())}
    if keys == {"BYMONTH"} and frequency in ("MONTHLY", "YEARLY"):
        days = {day.day}
    step = _interval(rule) if frequency == "DAILY" else 1
    for number in range(0, (last.date() - day).days + 1, step):
        each = day + timedelta(days=number)
        length = monthrange(each.year, each.month)[1]
        if (
            (not months or each.month in months)
            and (not days or each.day in days or each.day - length - 1 in days)
            and (not weekdays or each.weekday() in weekdays)
            and (not year_days or _day_of_year(each) & year_days)
            and (not weeks or min(weeks) < 1 or each.isocalendar().week in weeks)
        ):
            return True
    return False


def _numbers(rule: Any, key: str) -> set[int]:
    return {int(number) for number in rule.get(key, ())}


def _day_of_year(day: date) -> set[int]:
    """The number of a day in its year, from its start and from its end."""
    number = day.timetuple().tm_yday
    return {number, number - 367 if isleap(day.year) else number - 366}
