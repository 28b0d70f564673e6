"""Exchanges the events of the ledger with a server. It can be repeated at any time.

Agents of two homes may have the same name. In a vault other than an agent's own, the server
therefore adds the first digits of the id of its own vault to its name in uses and ratings.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import chain, islice
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid5

from msgspec.structs import replace

from djinn_memory.errors import NotFound
from djinn_memory.home.home import Home
from djinn_memory.memories.catalog.catalog import located
from djinn_memory.memories.patterns.requests import Correlation
from djinn_memory.memories.patterns.verbs import correlations_until
from djinn_memory.memories.proposals.log import SETTLED
from djinn_memory.memories.recall.gap_answers import CLOSED
from djinn_memory.models import Problem, Vault
from djinn_memory.runtime import Runtime
from djinn_memory.store.ledger import TOOL_CALLED, Event, reading, sync_state
from djinn_memory.store.ledger.events import KEY_ADDED, KEY_REVOKED, StoredEvent
from djinn_memory.store.ledger.projections import RETRIEVED, USES
from djinn_memory.store.postgres import event_tables
from djinn_memory.store.postgres import events as server_events
from djinn_memory.store.postgres import notes as server_notes
from djinn_memory.store.postgres.comparison import count_differences
from djinn_memory.store.postgres.event_tables import CONSOLIDATED, CORRELATIONS
from djinn_memory.store.postgres.values import Row, replace_rows
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
    TOOL_CALLED, KEY_ADDED, KEY_REVOKED,
})  # fmt: skip
"""Events that belong to the vault of their agent: they quote its words, or tell what it did."""

OF_VAULT = frozenset({"episode.purged"})
"""Events whose data names their vault."""

SYNCED = (*sorted(OF_MEMORY | OF_AGENT | OF_VAULT),)
"""All kinds of events that are exchanged. The others are about files and runs of this machine."""


def exchange(link: VaultLink, direction: Direction = "both") -> tuple[int, int]:
    """Exchange the events of a vault with its scope on the server: first pull, then push.

    Returns the number of events that are new in this home, and of those that are new on the server
    or of which texts were purged there. The index must be up to date. The next run does the
    work that a lost connection or a kill left out.
    """
    since = sync_state.event_cursor(link.ledger, link.scope).rev
    pulled = pull(link) if direction != "push" else 0
    pushed = push(link, since) if direction != "pull" else 0
    return pulled, pushed


def pull(link: VaultLink) -> int:
    """Take in the events of the scope that were written since the last pull. Returns how many."""
    cursor, taken = sync_state.event_cursor(link.ledger, link.scope), 0
    with link.server.reading() as tx:
        head = server_notes.head(tx, link.scope)
        if head is None or head.rev == cursor.rev:
            return 0
        pages = server_events.since(tx, link.scope, cursor.rev)
        while events := [*chain.from_iterable(islice(pages, PAGES))]:
            taken += link.ledger.take_in(_as_received(link, _exchangeable(link, events)))
        marks = server_notes.marks(tx, link.scope, [head.rev])
    sync_state.see(link.ledger, link.scope, marks)
    sync_state.move_event_cursor(link.ledger, link.scope, replace(cursor, rev=head.rev))
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
    cursor = sync_state.event_cursor(ledger, link.scope)
    recorded = reading.stored_events(ledger, SYNCED, cursor.pushed)
    own = outgoing(link, recorded)
    # A purge changes events that were pushed before, and their memory is gone.
    purged = as_sent(link, reading.purged_events(ledger, SYNCED))
    with link.server.reading() as tx:
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
                replace_rows(writer.tx, link.scope, writer.rev, CORRELATIONS, changed_correlations)
        pushed += len(changed)
    if recorded:
        sync_state.move_event_cursor(ledger, link.scope, replace(cursor, pushed=recorded[-1].id))
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
    """The events that go to the scope of a vault, in the form in which they go there.

    A recall stays here if its memories are all in vaults that do not go to the server: there it
    would have found nothing.
    """
    own = [*_belonging(link.runtime, link.vault, recorded)]
    forms = zip(own, as_sent(link, own), strict=True)
    return [form for stored, form in forms if not _is_emptied(stored, form)]


def _correlations(link: VaultLink) -> list[Row]:
    """The rows of `CORRELATIONS`: from the episodes of each agent whose own vault this is.

    Episodes until the last consolidation of the agent count.
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
    """The events that belong to a vault.

    An agent's queries and reported gaps belong to the vault that djinn manages for the agent.
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
    return {agent for agent, own in _own_vaults(runtime.home).items() if own == vault.id}


def _own_vaults(home: Home) -> dict[str, str]:
    """The id of the own vault of each agent that has one."""
    vaults = dict[str, str]()
    for agent in home.config.agents:
        with suppress(NotFound):
            vaults[agent] = home.personal(agent).id
    return vaults


def _gap_agents(runtime: Runtime, events: Iterable[StoredEvent]) -> Mapping[str, object]:
    """The agents that reported the gaps of events which name no agent."""
    gaps = {stored.event.subject for stored in events if "agent" not in stored.event.data}
    reports = reading.events_of(runtime.state.ledger, ("gap.reported",), sorted(gaps))
    return {event.subject: event.data.get("agent") for event in reports}


_DIGITS = 8
"""Number of digits of a vault's id in the name of its agent."""


def as_sent(link: VaultLink, events: Iterable[StoredEvent]) -> list[StoredEvent]:
    """Events of the ledger in the form in which they go to the server.

    A recall shows memories of all vaults that its agent sees, and any of them may close a gap or
    contradict another. The server gets no names of memories whose vault does not go to it, or is no
    longer known.
    """
    listed = [*events]
    vaults = {vault.id: vault for vault in (link.vault, *link.runtime.home.synced)}
    # Events of earlier versions do not name the vaults of memories.
    unnamed = {name for stored in listed for name in _without_vault(stored.event)}
    with link.runtime.index([*vaults.values()]) as index:
        known = {*located(index, unnamed)} if unnamed else set()
    names = _agent_names(link)
    return [
        stored._replace(event=_renamed(_restricted(stored.event, vaults, known), names))
        for stored in listed
    ]


def _is_emptied(stored: StoredEvent, form: StoredEvent) -> bool:
    """Whether the form in which a recall goes to the server names none of its memories."""
    return bool(stored.event.data.get("memories")) and not form.event.data.get("memories")


def _as_received(link: VaultLink, events: Iterable[StoredEvent]) -> list[StoredEvent]:
    """Events of the server in the form in which the ledger keeps them."""
    names = {theirs: own for own, theirs in _agent_names(link).items()}
    return [stored._replace(event=_renamed(stored.event, names)) for stored in events]


def with_agent_of(own: StoredEvent, server: StoredEvent) -> StoredEvent:
    """An event of the ledger, with the name that its agent had when the event was sent.

    Since then the agent may have been removed, or its own vault may have become another one.
    """
    agent, theirs = own.event.data.get("agent"), str(server.event.data.get("agent"))
    if theirs[:-_DIGITS] != f"{agent}-":
        return own
    return own._replace(event=_renamed(own.event, {str(agent): theirs}))


def _agent_names(link: VaultLink) -> dict[str, str]:
    """The names on the server of this home's agents whose own vault is another one."""
    return {
        agent: f"{agent}-{own[:_DIGITS]}"
        for agent, own in _own_vaults(link.runtime.home).items()
        if own != link.vault.id
    }


def _renamed(event: Event, names: Mapping[str, str]) -> Event:
    """An event; if it is a use or a rating, its agent is renamed as `names` says."""
    agent = event.data.get("agent")
    if event.kind not in USES or not isinstance(agent, str) or agent not in names:
        return event
    return replace(event, data={**event.data, "agent": names[agent]})


def _restricted(event: Event, vaults: Collection[str], memories: Collection[str]) -> Event:
    """An event without the names of memories that are neither in these vaults nor among these.

    Of a call, only who called what, how long it took and how it ended goes to the server: its
    arguments and its errors may quote any vault.
    """

    def goes(memory: dict[str, Any]) -> bool:
        name = str(memory.get("memory"))
        return str(memory.get("vault", name.partition("/")[0])) in vaults or name in memories

    data = dict(event.data)
    if event.kind == TOOL_CALLED:
        data |= {"arguments": {}, "outcome": str(data.get("outcome")).partition(":")[0]}
    elif event.kind == RETRIEVED:
        data["memories"] = [memory for memory in _memories(event) if goes(memory)]
    elif event.kind == CLOSED and not goes({"memory": data.get("by")}):
        data["by"] = None
    elif not all(goes({"memory": name}) for name in _subjects(event)):
        del data["subjects"]
    return replace(event, data=data) if data != event.data else event


def _without_vault(event: Event) -> list[str]:
    """The memories that an event names without their vault."""
    if event.kind == CLOSED:
        return [str(event.data.get("by"))]
    shown = [str(memory.get("memory")) for memory in _memories(event) if "vault" not in memory]
    return shown + _subjects(event)


def _subjects(event: Event) -> list[str]:
    """The memories that contradict each other."""
    listed = event.data.get("subjects")
    return [str(name) for name, _ in listed] if isinstance(listed, list) else []


def _memories(event: Event) -> list[dict[str, Any]]:
    """The memories that a recall showed."""
    listed = event.data.get("memories") if event.kind == RETRIEVED else None
    memories = listed if isinstance(listed, list) else []
    return [memory for memory in memories if isinstance(memory, dict)]
