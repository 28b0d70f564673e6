"""Compares the events of a home with those of a server, and the tables that follow from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from djinn_memory.store.ledger import reading as ledger_reading
from djinn_memory.store.ledger import sync_events
from djinn_memory.store.ledger.changes import StoredEvent
from djinn_memory.store.ledger.redaction import blanks
from djinn_memory.store.postgres import events as server_events
from djinn_memory.store.postgres.index.comparison import differing_lists
from djinn_memory.store.postgres.projections import event_tables
from djinn_memory.store.postgres.projections.differences import count_differences, outdated
from djinn_memory.store.postgres.projections.tables import CORRELATIONS
from djinn_memory.sync import events
from djinn_memory.sync.event_forms import as_sent, with_agent_of
from djinn_memory.sync.notes.link import VaultLink
from djinn_memory.sync.verification.rows import REPAIR
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor

RUN = "run `djinn sync run`"


def differing(link: VaultLink) -> Iterator[tuple[str, str]]:
    """The tables of events that differ, and how.

    `events` is compared with the ledger of this home, and each other table with the rows that it
    follows from. Correlations depend on the time zone of the home that computed them, so only this
    home compares them.
    """
    with link.reading() as tx:
        sent = events_on_server(tx, link)
        fit = [stored for stored in sent if events.is_exchangeable(stored)]
        for number, why in _event_differences(tx, link, sent, fit):
            if number:
                yield "events", why.format(count(number, "event"))
        numbers = outdated(tx, link.scope) | differing_lists(tx, link.scope)
        derived = event_tables.table_rows(fit, link.runtime.home.config.scoring)
        for table, rows in derived.items():
            numbers[table] = count_differences(tx, link.scope, table, rows)
        if events.computes_correlations(tx, link):
            known = events.correlations(link)
            numbers[CORRELATIONS] = count_differences(tx, link.scope, CORRELATIONS, known)
    for table, number in numbers.items():
        if number:
            yield table, f"differs in {count(number, 'row')}; {REPAIR}"


def events_on_server(tx: Cursor, link: VaultLink) -> list[StoredEvent]:
    """All events of a scope on the server."""
    return [*chain.from_iterable(server_events.since(tx, link.scope, -1))]


def expected_events(
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
    cursor = sync_events.cursor(link.ledger, link.scope)
    recorded = ledger_reading.stored_events(link.ledger, events.SYNCED)
    outgoing = filter(server_events.is_storable, events.outgoing(link, recorded))
    missing = {stored.id for stored in outgoing} - {stored.id for stored in sent}
    unsent = {key for key in missing if key > cursor.pushed}
    unknown = {stored.id for stored in fit} - {stored.id for stored in recorded}
    pages = server_events.since(tx, link.scope, cursor.rev)
    unread = unknown & {stored.id for stored in chain.from_iterable(pages)}
    changed = [*expected_events(link, fit)]
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
