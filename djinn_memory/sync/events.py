"""Exchanges the events of the ledger with a server. It can be repeated at any time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import chain, islice
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.errors import NotFound
from djinn_memory.memories.catalog.catalog import located
from djinn_memory.memories.patterns.requests import Correlation
from djinn_memory.memories.patterns.verbs import correlations_until
from djinn_memory.memories.proposals.log import SETTLED
from djinn_memory.models import Problem, Vault
from djinn_memory.runtime import Runtime
from djinn_memory.store.ledger import Event, reading, sync_events, sync_state
from djinn_memory.store.ledger.changes import StoredEvent
from djinn_memory.store.postgres import events as server_events
from djinn_memory.store.postgres import notes as server_notes
from djinn_memory.store.postgres.projections import event_tables, tables
from djinn_memory.store.postgres.projections.differences import count_differences
from djinn_memory.store.postgres.projections.event_tables import CONSOLIDATED
from djinn_memory.store.postgres.projections.tables import CORRELATIONS, Row
from djinn_memory.sync.event_forms import as_received, as_sent, is_emptied
from djinn_memory.sync.notes.link import VaultLink
from djinn_memory.sync.run import Direction

if TYPE_CHECKING:
    from djinn_memory.store.postgres.connection import Cursor

BATCH = 5_000
"""Number of events that one transaction writes."""

PAGES = 25
"""Pages of events that are taken in at once. Tables are derived again each time."""

MOST_CORRELATIONS = 1_000
"""The correlations of an agent that a server keeps, the most certain ones."""

OF_MEMORY = frozenset({"memory.opened", "memory.rated"})
"""Events that belong to the vault of their memory."""

OF_AGENT = frozenset({
    "memory.retrieved", "gap.reported", "gap.closed", "gap.reopened",
    "session.started", "session.checkpointed", "session.ended", "summary.built",
    "episode.marked", "consolidation.read", "pattern.begun", "pattern.written",
    "extraction.begun", "extraction.taken", "extraction.valued", "extraction.read",
    "contradiction.found", "contradiction.gone", "contradiction.settled",
    "learning.shared", "learning.kept", "learning.withdrawn",
})  # fmt: skip
"""Events that belong to the vault of their agent: they quote its words, or tell what it did."""

OF_VAULT = frozenset({"episode.purged"})
"""Events whose data names their vault."""

SYNCED = (*sorted(OF_MEMORY | OF_AGENT | OF_VAULT),)
"""All kinds of events that are exchanged. The others are about files and runs of this machine."""


class ExchangedEvents(Struct, frozen=True):
    """The result of an exchange."""

    pulled: int = 0
    """Events that are new in this home."""
    pushed: int = 0
    """Events that are new on the server, or of which texts were purged there."""


def exchange(link: VaultLink, direction: Direction = "both") -> ExchangedEvents:
    """Exchange the events of a vault with its scope on the server: first pull, then push.

    The index must be up to date. What a lost connection or a kill left out is done by the next run.
    """
    since = sync_events.cursor(link.ledger, link.scope).rev
    pulled = pull(link) if direction != "push" else 0
    pushed = push(link, since) if direction != "pull" else 0
    return ExchangedEvents(pulled, pushed)


def pull(link: VaultLink) -> int:
    """Take in the events of the scope that were written since the last pull. Returns how many."""
    cursor, taken = sync_events.cursor(link.ledger, link.scope), 0
    with link.reading() as tx:
        head = server_notes.head(tx, link.scope)
        if head is None or head.rev == cursor.rev:
            return 0
        pages = server_events.since(tx, link.scope, cursor.rev)
        while events := [*chain.from_iterable(islice(pages, PAGES))]:
            taken += link.ledger.take_in(as_received(link, _exchangeable(link, events)))
        marks = server_notes.marks(tx, link.scope, [head.rev])
    sync_state.see(link.ledger, link.scope, marks)
    sync_events.move(link.ledger, link.scope, replace(cursor, rev=head.rev))
    return taken


def _exchangeable(link: VaultLink, events: Iterable[StoredEvent]) -> Iterator[StoredEvent]:
    """The events that a home may have sent. Others could change what djinn does on this machine."""
    for stored in events:
        if is_exchangeable(stored):
            yield stored
        else:
            why = f"has the kind {stored.event.kind}, or a time, that no home sends; it is left out"
            link.add(Problem(f"{link.vault.name}: event {stored.id}", why))


def is_exchangeable(stored: StoredEvent) -> bool:
    """Whether a home may have sent an event."""
    return stored.event.kind in SYNCED and server_events.is_storable(stored)


def push(link: VaultLink, since: int) -> int:
    """Write the events of the vault that were recorded since the last push. Returns how many.

    Correlations follow journals that changed after the revision `since` too.
    """
    ledger = link.ledger
    cursor = sync_events.cursor(ledger, link.scope)
    recorded = reading.stored_events(ledger, SYNCED, cursor.pushed)
    own = outgoing(link, recorded)
    # A purge changes events that were pushed before, and their memory is gone.
    purged = as_sent(link, reading.purged_events(ledger, SYNCED))
    with link.reading() as tx:
        waiting = server_events.pending(tx, link.scope, own)
        waiting += server_events.pending(tx, link.scope, purged, known_only=True)
        changed_correlations = _changed_correlations(tx, link, waiting, since)
    pushed = 0
    batches = [waiting[start : start + BATCH] for start in range(0, len(waiting), BATCH)]
    for batch in batches or [[]] * (changed_correlations is not None):
        with link.writing() as writer:
            changed = server_events.push(writer, link.home_id, batch)
            event_tables.follow(writer, changed, link.runtime.home.config.scoring)
            if changed_correlations is not None:
                tables.replace_rows(
                    writer.tx, link.scope, writer.rev, CORRELATIONS, changed_correlations
                )
        pushed += len(changed)
    if recorded:
        sync_events.move(ledger, link.scope, replace(cursor, pushed=recorded[-1].id))
    return pushed


def _changed_correlations(
    tx: Cursor, link: VaultLink, waiting: Iterable[StoredEvent], since: int
) -> list[Row] | None:
    """The correlations of the scope, if those on the server are others.

    They follow from the episodes until the last consolidation, which may be new. Such an episode
    may also be added or removed later.
    """
    if not any(stored.event.kind == CONSOLIDATED for stored in waiting):
        last = server_events.last_sent(tx, link.scope, CONSOLIDATED)
        if not (last and last[0] == link.home_id):
            return None
        if not server_notes.journal_changed(tx, link.scope, since, last[1]):
            return None
    known = _correlations(link)
    return known if count_differences(tx, link.scope, CORRELATIONS, known) else None


def own_correlations(tx: Cursor, link: VaultLink) -> list[Row] | None:
    """The rows of `CORRELATIONS`; None if those on the server are of another home.

    They are of the home that sent the last consolidation. Without a consolidation there are none,
    as every home knows.
    """
    last = server_events.last_sent(tx, link.scope, CONSOLIDATED)
    return _correlations(link) if last is None or last[0] == link.home_id else None


def outgoing(link: VaultLink, recorded: Sequence[StoredEvent]) -> list[StoredEvent]:
    """Those of these events that go to the scope of a vault, in the form in which they go there.

    A recall stays here if its memories are all in vaults that do not go to the server: there it
    would have found nothing.
    """
    own = [*_belonging(link.runtime, link.vault, recorded)]
    forms = zip(own, as_sent(link, own), strict=True)
    return [form for stored, form in forms if not is_emptied(stored, form)]


def _correlations(link: VaultLink) -> list[Row]:
    """The rows of `CORRELATIONS`: from the episodes of each agent whose own vault this is.

    Those until the last consolidation of the agent count.
    """
    agents = _agents(link.runtime, link.vault)
    events = reading.stored_events(link.ledger, (CONSOLIDATED,))
    last = {stored.event.subject: stored.at for stored in events}
    return [
        _correlation(link.scope, pair)
        for agent in sorted(agents & last.keys())
        for pair in correlations_until(
            link.runtime, agent, datetime.fromisoformat(last[agent])
        ).correlations[:MOST_CORRELATIONS]
    ]


def _correlation(scope: UUID, pair: Correlation) -> Row:
    first_kind, _, first = pair.first.partition(": ")
    second_kind, _, second = pair.second.partition(": ")
    return {
        "correlation_id": uuid5(scope, f"{pair.first}\n{pair.second}"),
        "concept_a_type": first_kind,
        "concept_a_value": first,
        "concept_b_type": second_kind,
        "concept_b_value": second,
        "correlation_strength": pair.strength,
        "observations": pair.support,
    }


def _belonging(
    runtime: Runtime, vault: Vault, events: Sequence[StoredEvent]
) -> Iterator[StoredEvent]:
    """Those of these events that belong to a vault.

    What an agent asked for and reported missing belongs to the vault that djinn manages for it.
    Uses, ratings and what was settled about a memory belong to the vault of the memory.
    """
    memories = {stored.event.subject for stored in events if _is_of_memory(stored.event)}
    with runtime.index([vault]) as index:
        inside = {*located(index, memories)} if memories else set()
    agents = _agents(runtime, vault)
    gaps = _gap_agents(runtime, events) if agents else {}
    for stored in events:
        event = stored.event
        if _is_of_memory(event):
            own = event.subject.startswith(f"{vault.id}/") or event.subject in inside
        elif event.kind in OF_VAULT:
            own = event.data.get("vault") == vault.id
        elif event.kind in OF_AGENT:
            own = event.data.get("agent", gaps.get(event.subject)) in agents
        else:
            own = False
        if own:
            yield stored


def _is_of_memory(event: Event) -> bool:
    """Whether the subject of an event is a memory; that of a contradiction may be one too."""
    settled = event.kind == SETTLED and not event.subject.startswith("con_")
    return settled or event.kind in OF_MEMORY


def _agents(runtime: Runtime, vault: Vault) -> set[str]:
    """The agents whose own events belong to a vault."""
    agents = set()
    for agent in runtime.home.config.agents:
        with suppress(NotFound):
            if runtime.home.personal(agent).id == vault.id:
                agents.add(agent)
    return agents


def _gap_agents(runtime: Runtime, events: Iterable[StoredEvent]) -> Mapping[str, object]:
    """The agents that reported the gaps of events which name no agent."""
    gaps = {stored.event.subject for stored in events if "agent" not in stored.event.data}
    reports = reading.events_of(runtime.state.ledger, ("gap.reported",), sorted(gaps))
    return {event.subject: event.data.get("agent") for event in reports}
