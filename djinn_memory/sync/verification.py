"""Compares a vault with its scope on the server, names differences, and corrects them.

Notes and attachments are compared byte for byte, and the rows that follow from equal notes row by
row. Events are compared with the ledger, and the tables that follow from events with the events.
What the server lacks, or has in another way than this home, can be written again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from djinn_memory.errors import DjinnError
from djinn_memory.models import Progress
from djinn_memory.notes.note_file import content_hash
from djinn_memory.store.ledger import reading as ledger_reading
from djinn_memory.store.ledger import sync_state
from djinn_memory.store.ledger.events import StoredEvent
from djinn_memory.store.ledger.redaction import blanks
from djinn_memory.store.ledger.sync_state import EventCursor, NoteBase, bases
from djinn_memory.store.postgres import comparison, event_tables, note_tables
from djinn_memory.store.postgres import events as server_events
from djinn_memory.store.postgres import notes as server_notes
from djinn_memory.store.postgres.event_tables import CORRELATIONS
from djinn_memory.store.postgres.index import postings
from djinn_memory.store.postgres.note_tables import Lacking, LostName, NoteRow
from djinn_memory.store.postgres.notes import ServerChange, ServerNote, changed, contents
from djinn_memory.store.postgres.values import replace_rows
from djinn_memory.sync import events
from djinn_memory.sync.events import as_sent, with_agent_of
from djinn_memory.sync.notes import derived
from djinn_memory.sync.notes.link import VaultLink
from djinn_memory.sync.notes.listing import LocalFile, exchanged, list_files, match, unlisted
from djinn_memory.sync.notes.names import is_note
from djinn_memory.sync.notes.source_memory import PushedNote
from djinn_memory.sync.notes.table_rows import table_rows
from djinn_memory.sync.requests import Drift
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor

BATCH = 500
"""Number of notes whose rows are compared or written at once."""

REPAIR = "run `djinn sync backfill --all`"
"""The remedy for rows and bytes that differ from what this home has."""

RUN = "run `djinn sync run`"

_LEFT = "is left as it is, here and on the server: it is excluded, too large, or cannot be read"


def compare(link: VaultLink) -> tuple[int, list[Drift]]:
    """Compare a vault with the server. Returns the number of compared files, and differences."""
    known = exchanged(link, bases(link.ledger, link.scope))
    files = list_files(link, known)
    left = unlisted(link, files, known)
    matches = match(files, {key: base for key, base in known.items() if key not in left})
    with link.server.reading() as cursor:
        rows = changed(cursor, link.scope, -1)
        live = exchanged(link, {note.note_id: note for note in rows if not note.deleted})
        hashes: dict[UUID, bytes] = {}
        for note_id, data in contents(cursor, link.scope, list(live.values())):
            hashes[note_id] = content_hash(data)
            link.runtime.progress(Progress("check", len(hashes), len(live), link.vault.name))
    drifts: dict[str, str] = {}
    drifts |= {fresh.path: "is not on the server yet" for fresh in matches.fresh}
    drifts |= {known[note_id].path: _LEFT for note_id in left}
    for note_id in {*matches.notes, *live, *known} - left:
        file, note = matches.notes.get(note_id), live.get(note_id)
        path, why = _difference(link, file, note, known.get(note_id), hashes.get(note_id))
        if why:
            drifts[path] = why
    same = [live[note_id] for note_id in live if live[note_id].path not in drifts
            and note_id in matches.notes and is_note(live[note_id].path)]  # fmt: skip
    drifts |= _differing_notes(link, sorted(same, key=lambda note: note.path))
    compared = len({*matches.notes} & live.keys())
    vault = link.vault.name
    listed = [Drift(vault, path, drifts[path]) for path in sorted(drifts)]
    tables = differing_event_tables(link)
    return compared, [*listed, *(Drift(vault, None, why, table) for table, why in tables)]


def _difference(
    link: VaultLink,
    file: LocalFile | None,
    note: ServerNote | None,
    base: NoteBase | None,
    digest: bytes | None,
) -> tuple[str, str | None]:
    """The path of a file, and how its two sides differ; None if they are equal."""
    if file is None:
        path = note.path if note else base.path if base else ""
        gone = "was deleted here since the last run" if base else "is not in this home yet"
        return path, gone if note else "was deleted on both sides; the next run records it"
    if note is None:
        return file.path, "was deleted on the server since the last run"
    if digest != note.hash:
        return note.path, f"is damaged on the server: its bytes do not match its hash; {REPAIR}"
    try:
        here = link.files.hash(file.path)
    except (DjinnError, OSError) as error:
        return file.path, f"cannot be read: {error}"
    if here != file.hash:
        return file.path, "differs from the index; run `djinn index --rebuild`"
    if file.hash != note.hash:
        side = _changed_side(file.hash, note.hash, base)
        return file.path, f"was changed {side} since the last run"
    if file.path != note.path:
        return file.path, f"is {note.path} on the server"
    if base is None or (base.path, base.hash, base.rev) != (note.path, note.hash, note.rev):
        return file.path, "is equal, but was not recorded; the next run records it"
    return file.path, None


def _changed_side(local: bytes, server: bytes, base: NoteBase | None) -> str:
    if base and base.hash == server:
        return "here"
    return "on the server" if base and base.hash == local else "on both sides"


def _differing_notes(link: VaultLink, notes: Sequence[ServerNote]) -> Iterator[tuple[str, str]]:
    """The paths of those notes whose rows differ, and how. This home has the same version of all.

    The vectors themselves are not compared: a row may only lack one that this home has.
    """
    embedder = link.runtime.models.embedder
    embeds = embedder is not None and embedder.identity == link.server.state.model.identity
    with link.server.reading() as tx:
        pending = note_tables.waiting_notes(tx, link.scope, "rows")
        unembedded = note_tables.waiting_notes(tx, link.scope, "vectors") - pending
        lost = comparison.lost_names(tx, link.scope)
        for start in range(0, len(notes), BATCH):
            page = notes[start : start + BATCH]
            ids = [note.note_id for note in page]
            own_notes = derived.indexed(link, derived.unchanged(link, page))
            here = {note.note_id: note for note in own_notes}
            listed = [(note.note_id, note.rows) for note in here.values()]
            expected = [
                row for own in here.values() for row in _expected_rows(link, own, lost[own.note_id])
            ]
            differing: defaultdict[UUID, list[str]] = defaultdict(list)
            for note_id, table in chain(
                comparison.differing_rows(tx, link.scope, ids, expected),
                comparison.differing_index(tx, link.scope, listed, embeds=embeds),
            ):
                differing[note_id].append(table)
            for note in page:
                own = here.get(note.note_id)
                if note.note_id in pending:
                    yield note.path, "has no rows on the server yet; run `djinn sync run`"
                elif own:
                    if tables := ", ".join(differing[note.note_id]):
                        yield note.path, f"does not match its rows in {tables}; {REPAIR}"
                    elif note.note_id in unembedded and _is_embedded(own):
                        yield note.path, "lacks vectors on the server; run `djinn sync backfill`"
            done = start + len(page)
            link.runtime.progress(Progress("check", done, len(notes), link.vault.name))


def _is_embedded(note: PushedNote) -> bool:
    return all(
        window.vector is not None
        for memory in note.rows.memories
        for chunk in memory.chunks
        for window in chunk.windows
    )


def _expected_rows(link: VaultLink, note: PushedNote, lost: Collection[LostName]) -> list[NoteRow]:
    """The rows that a note has, without those that other notes have in its place."""
    names = {(kind, name) for kind, name, _ in lost}
    taken = {uuid5(link.scope, name) for kind, name in names if kind == "id"}
    return [
        row
        for row in table_rows(link.scope, link.vault, note, link.runtime.now(), taken)
        if row.name not in names
    ]


def differing_event_tables(link: VaultLink) -> Iterator[tuple[str, str]]:
    """The tables of events that differ, and how.

    `events` is compared with the ledger of this home, and each other table with the rows that it
    follows from. Correlations depend on the time zone of the home that computed them, so only this
    home compares them.
    """
    with link.server.reading() as tx:
        sent = _events_on_server(tx, link)
        fit = [stored for stored in sent if events.is_exchangeable(stored)]
        for number, why in _event_differences(tx, link, sent, fit):
            if number:
                yield "events", why.format(count(number, "event"))
        scope = link.scope
        numbers = comparison.outdated(tx, scope) | comparison.differing_lists(tx, scope)
        tables = event_tables.table_rows(fit, link.runtime.home.config.scoring)
        if (known := events.own_correlations(tx, link)) is not None:
            tables[CORRELATIONS] = known
        for table, rows in tables.items():
            numbers[table] = comparison.count_differences(tx, scope, table, rows)
    for table, number in numbers.items():
        if number:
            yield table, f"differs in {count(number, 'row')}; {REPAIR}"


def _events_on_server(tx: Cursor, link: VaultLink) -> list[StoredEvent]:
    """All events of a scope on the server."""
    return [*chain.from_iterable(server_events.since(tx, link.scope, -1))]


def _expected_events(
    link: VaultLink, sent: Iterable[StoredEvent]
) -> Iterator[tuple[StoredEvent, StoredEvent]]:
    """The events that differ between home and server: each as it should be, and as it is there.

    The expected events lack the texts that were purged on either side.
    """
    recorded = ledger_reading.stored_events(link.ledger, events.SYNCED)
    here = {stored.id: stored for stored in recorded}
    forms = {stored.id: stored for stored in as_sent(link, recorded)}
    for stored in sent:
        if own := here.get(stored.id):
            expected = server_events.expected(forms[stored.id], stored)
            sent_before = server_events.expected(with_agent_of(own, stored), stored)
            if stored not in (expected, sent_before):
                yield expected, stored


def _event_differences(
    tx: Cursor, link: VaultLink, sent: Sequence[StoredEvent], fit: Sequence[StoredEvent]
) -> Iterator[tuple[int, str]]:
    """The number of events that differ in one way, and how they do."""
    cursor = sync_state.event_cursor(link.ledger, link.scope)
    recorded = ledger_reading.stored_events(link.ledger, events.SYNCED)
    outgoing = filter(server_events.is_storable, events.outgoing(link, recorded))
    missing = {stored.id for stored in outgoing} - {stored.id for stored in sent}
    unsent = {key for key in missing if key > cursor.pushed}
    unknown = {stored.id for stored in fit} - {stored.id for stored in recorded}
    pages = server_events.since(tx, link.scope, cursor.rev)
    unread = unknown & {stored.id for stored in chain.from_iterable(pages)}
    changed = [*_expected_events(link, fit)]
    purged = sum(
        blanks(expected.event.data) > blanks(stored.event.data) for expected, stored in changed
    )
    again = f"{REPAIR}, then `djinn sync run`"
    yield len(unsent), f"lacks {{}} that this home has not sent yet; {RUN}"
    yield len(unread), f"has {{}} that this home has not received yet; {RUN}"
    yield purged, f"has {{}} with texts that were purged here; {RUN}"
    yield len(missing - unsent), f"lacks {{}} of this home; {again}"
    yield len(unknown - unread), f"has {{}} that this home lacks; {again}"
    yield len(changed) - purged, f"has {{}} whose data differs from this home's; {REPAIR}"
    yield len(sent) - len(fit), "has {} that no home sends; delete the rows on the server"


def fill(link: VaultLink, lacking: Lacking, batch: int = BATCH) -> tuple[int, int]:
    """Write the rows of notes again, for notes that lack something on the server.

    Returns how many notes are complete now, and how many this home could not complete.
    """
    with link.server.reading() as tx:
        waiting = note_tables.waiting_notes(tx, link.scope, lacking)
    ids = sorted(waiting)
    left = 0
    for start in range(0, len(ids), batch):
        page = ids[start : start + batch]
        with link.server.reading() as tx:
            notes = server_notes.states(tx, link.scope, page)
        changes = [*derived.unchanged(link, notes.values())]
        written = {note.note_id for note in derived.indexed(link, changes)}
        if written:
            written = _fill_page(link, changes, written, lacking)
        left += len(page) - len(written)
        done = start + len(page)
        link.runtime.progress(Progress("push", done, len(ids), link.vault.name))
    if ids:
        derived.finish_load(link, len(ids))
    return len(ids) - left, left


def restore(link: VaultLink) -> None:
    """Write again what `verify` finds damaged or different in files and events."""
    _restore_bytes(link)
    _restore_events(link)


def _restore_bytes(link: VaultLink) -> None:
    """Write the bytes of notes and attachments again that are damaged on the server.

    Files that this home has in another version stay as they are.
    """
    with link.server.reading() as tx:
        notes = server_notes.changed(tx, link.scope, -1)
        damaged = {note.note_id: note for note in notes if not note.deleted}
        for note_id, data in server_notes.contents(tx, link.scope, [*damaged.values()]):
            if content_hash(data) == damaged[note_id].hash:
                del damaged[note_id]
    for change in derived.unchanged(link, damaged.values()):
        with link.server.transaction() as tx:
            server_notes.restore(tx, link.scope, damaged[change.note_id], change.content or b"")


def _restore_events(link: VaultLink) -> None:
    """Write what `verify` finds different in events and the tables that follow from them.

    The next run exchanges all events again: those that either side lacks may have to wait for it,
    because they quote what another home purged.
    """
    with link.server.reading() as tx:
        correlations = events.own_correlations(tx, link)
    with link.writing() as writer:
        sent = filter(events.is_exchangeable, _events_on_server(writer.tx, link))
        listed = {stored.id: stored for stored in sent}
        changed = [event for event, _ in _expected_events(link, listed.values())]
        server_events.write(writer, link.home_id, changed)
        listed |= {stored.id: stored for stored in changed}
        scoring = link.runtime.home.config.scoring
        event_tables.rebuild(writer, [*listed.values()], scoring)
        note_tables.resolve_relations(writer.tx, link.scope)
        postings.recount(writer.tx, link.scope)
        if correlations is not None:
            replace_rows(writer.tx, link.scope, writer.rev, CORRELATIONS, correlations)
    sync_state.move_event_cursor(link.ledger, link.scope, EventCursor())


def _fill_page(
    link: VaultLink, changes: Sequence[ServerChange], indexed: set[UUID], lacking: Lacking
) -> set[UUID]:
    """Write the rows that follow from notes. Returns the notes that lack nothing now."""
    with link.server.writing(link.scope) as writer:
        # Another home may have pushed, filled or deleted a note since.
        states = server_notes.states(writer.tx, link.scope, [*indexed])
        same = {
            change.note_id
            for change in changes
            if (note := states.get(change.note_id)) and note.hash == change.hash
        }
        lack = note_tables.waiting_notes(writer.tx, link.scope, lacking, [*same])
        derived.write(link, writer, changes, lack)
        if lacking == "everything":
            return same
        return same - note_tables.waiting_notes(writer.tx, link.scope, lacking, [*same])
