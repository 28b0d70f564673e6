"""The events of an agent's day, from the notes of its imported calendars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, tzinfo
from itertools import islice

from djinn_memory.chunking.tokens import token_counts
from djinn_memory.errors import DjinnError
from djinn_memory.memories.catalog.catalog import body_of
from djinn_memory.memories.catalog.standing import TokenBudget
from djinn_memory.memories.profiles.agenda import TYPE, PlannedEvent, on_day, read_events
from djinn_memory.memories.profiles.requests import CalendarEvent
from djinn_memory.models import Filters
from djinn_memory.runtime import Runtime
from djinn_memory.store.index.records import Selection

MOST_CALENDARS = 20
"""Maximum number of calendars that are read."""

SHARE = 1 / 8
"""The maximum share of a budget for the events of the day."""


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


def fit_events(events: Sequence[CalendarEvent], room: TokenBudget) -> tuple[CalendarEvent, ...]:
    """The events that fit in a share of a budget. Those that are over are left out first."""
    kept = list(events)
    most = min(int(room.budget * SHARE), room.left)
    sizes = dict(zip(events, token_counts([event_text(event) for event in events]), strict=True))
    while kept and sum(sizes[event] + 1 for event in kept) > most:
        kept.remove(next((event for event in kept if event.over), kept[-1]))
        room.left_out += 1
    room.left -= sum(sizes[event] + 1 for event in kept)
    return tuple(kept)


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
    return CalendarEvent(
        title=event.title,
        when="all day" if event.whole_days else _when(begin, end, local),
        start=times[0],
        end=times[1] if event.end else None,
        all_day=event.whole_days,
        over=end <= local and begin < local,
        calendar=event.calendar,
    )


def _when(begin: datetime, end: datetime, local: datetime) -> str:
    """The part of an event that lies on a day, in words."""
    first, last = begin.date() == local.date(), end.date() == local.date()
    if first and last:
        return f"{begin:%H:%M}" + (f" to {end:%H:%M}" if end > begin else "")
    if first:
        return f"from {begin:%H:%M}"
    return f"until {end:%H:%M}" if last else "all day"
