"""Writes the coming events of imported calendars into a note for each calendar."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from djinn_memory.home.access import DOMAIN
from djinn_memory.memories.catalog.hiding import file_name
from djinn_memory.memories.episodes.requests import CALENDAR
from djinn_memory.memories.imports.requests import WrittenCalendar
from djinn_memory.memories.profiles.agenda import TYPE, PlannedEvent, event_line, sort_key
from djinn_memory.memories.profiles.reading import domain_to_write
from djinn_memory.memories.writing.change_set import VaultWriter, writing
from djinn_memory.models import Filters, Problem, Vault
from djinn_memory.notes import frontmatter
from djinn_memory.notes.dates import moment
from djinn_memory.notes.ids import new_id
from djinn_memory.notes.markdown import body
from djinn_memory.notes.slugs import folder, slug
from djinn_memory.runtime import Runtime
from djinn_memory.secrets import masked
from djinn_memory.store.index.records import Selection

MOST_EVENTS = 1_000
"""Maximum number of events in a note."""

HEAD = "The coming events of this calendar. The next import of it writes this note again."

Planned = Mapping[str, Sequence[PlannedEvent]]
"""The coming events of calendars, by the name of the calendar."""


def write_calendars(
    runtime: Runtime, agent: str, vault: Vault, planned: Planned, domain: str | None
) -> tuple[list[WrittenCalendar], list[Problem]]:
    """Write a note for each calendar, in place of that of an earlier import.

    A calendar without coming events gets no new note. Secrets are masked.
    """
    paths = {name: _path(runtime, vault, name) for name in planned}
    wanted = [name for name, events in planned.items() if events or paths[name]]
    if not wanted:
        return [], []
    default = domain_to_write(runtime, vault, agent, domain, CALENDAR)
    written = []
    with writing(runtime, vault, "import", agent, embeds=False) as writer:
        for name in wanted:
            events = nearest(planned[name])
            text = "\n".join([HEAD, "", *(masked(event_line(event))[0] for event in events)])
            path = paths[name]
            if path is None:
                path = _create(writer, name, text, default)
            else:
                writer.rewrite(path, partial(_with_events, text=text, domain=domain))
            written.append(WrittenCalendar(vault.name, path, name, len(events)))
    return written, writer.problems


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
    changed = body.replace(data, text)
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
