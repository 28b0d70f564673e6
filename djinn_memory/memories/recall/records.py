"""The uses and ratings of memories in the ledger that count for an agent."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from djinn_memory.home import access
from djinn_memory.home.home import Home
from djinn_memory.memories.catalog.catalog import MERGED, LedgerName, ledger_name
from djinn_memory.models import Vault
from djinn_memory.scoring import Record, pooled
from djinn_memory.store.index.memories import count_hash, place_exists
from djinn_memory.store.index.records import IndexedMemory
from djinn_memory.store.ledger import Ledger, reading
from djinn_memory.store.state import State


class LedgerRecords(Struct, frozen=True):
    """The uses and ratings of one memory that count for an agent."""

    name: LedgerName
    """The name of the memory in the ledger."""
    records: dict[tuple[str, str], Record]
    """The records that count, by name and agent. They include records under earlier names."""

    @property
    def pooled(self) -> Record:
        """The sum of all records."""
        return pooled(list(self.records.values()))


def logged_recalls(state: State) -> Ledger | None:
    """The ledger with the queries of recalls; None if there is none, or if the key of the running
    call hides a part, of which a query may tell.
    """
    return None if access.is_limited() else state.ledger_if_any


def records_of(
    state: State, ledger: Ledger | None, memories: Sequence[IndexedMemory], agent: str
) -> dict[int, LedgerRecords]:
    """The uses and ratings of memories that count for an agent, by memory.

    In the vault `pool_of`, the records of all agents count.
    """
    home = state.home
    vaults = {name: home.named((name,))[0] for name in {memory.vault for memory in memories}}
    names = {memory.memory_id: ledger_name(memory, vaults[memory.vault]) for memory in memories}
    former = names_in_events(state, ledger, memories, names, home.scope(agent)) if ledger else {}
    every = [name for several in former.values() for name in several]
    records = reading.records(ledger, every) if ledger else {}
    pool = pool_of(home)
    return {
        memory.memory_id: LedgerRecords(
            names[memory.memory_id],
            {
                (name, who): record
                for name in former.get(memory.memory_id, ())
                for who, record in records.get(name, {}).items()
                if who == agent or vaults[memory.vault].id == pool
            },
        )
        for memory in memories
    }


def names_in_events(
    state: State,
    ledger: Ledger,
    memories: Sequence[IndexedMemory],
    known: Mapping[int, LedgerName],
    vaults: Sequence[Vault],
) -> dict[int, list[str]]:
    """The names that events may have for each memory: its own, earlier ones, and those of memories
    that were merged into it. Their fields `merged` were loaded.
    """
    names = _former_names(state, ledger, known, vaults)
    for memory in memories:
        names[memory.memory_id] += [value for key, value in memory.fields if key == MERGED]
    return names


def pool_of(home: Home) -> str | None:
    """The id of the vault in which the ratings of all agents count, or None."""
    if not home.config.scoring.shared:
        return None
    return next((vault.id for vault in home.vaults if access.is_shared_name(vault.name)), None)


def _former_names(
    state: State, ledger: Ledger, known: Mapping[int, LedgerName], vaults: Sequence[Vault]
) -> dict[int, list[str]]:
    """The names that earlier events may have for each memory, its current name first.

    A memory that had no id was known by its path. A renamed memory without an id was known by
    another path, which no longer exists. It is recognised by a text that it has or had and that no
    other memory in `vaults` has. It was never in another vault.
    """
    names = {key: list(dict.fromkeys((name.memory, name.place))) for key, name in known.items()}
    texts = {name.hash: key for key, name in known.items() if name.hash}
    if not texts:
        return names
    current = set(texts)
    places = {known[key].memory: key for key in texts.values()}
    for memory, hashes in reading.hashes(ledger, places).items():
        texts |= dict.fromkeys(hashes - current, places[memory])
    hidden = {vault.id for vault in state.home.vaults} - {vault.id for vault in vaults}
    for digest, memories in reading.seen_with(ledger, texts).items():
        key = texts[digest]
        former = memories - set(names[key])
        if former and count_hash(state.index, digest, vaults) == (digest in current):
            names[key] += _gone(state, ledger, former, hidden, vaults)
    return names


def _gone(
    state: State, ledger: Ledger, former: set[str], hidden: Collection[str], vaults: Sequence[Vault]
) -> list[str]:
    """The names of deleted memories that were known by path, and their earlier names.

    Names in the vaults with `hidden` ids are left out, whether or not such a memory exists.
    """
    names: list[str] = []
    while former:
        gone = [
            name
            for name in sorted(former)
            if name not in names
            and name.partition("/")[0] not in hidden
            and not place_exists(state.index, name, vaults)
        ]
        names += gone
        hashes = reading.hashes(ledger, gone).values()
        texts = {digest for digests in hashes for digest in digests}
        seen = reading.seen_with(ledger, texts) if texts else {}
        former = {name for memories in seen.values() for name in memories} - set(names)
        former = former if gone else set()
    return names
