"""From whom domains hide memories, also in files that the index does not have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from djinn_memory.home import access
from djinn_memory.home.home import Home
from djinn_memory.models import Vault
from djinn_memory.notes.domains import domains_of
from djinn_memory.notes.ids import crockford
from djinn_memory.notes.note import Note
from djinn_memory.store.index.records import IndexedMemory


def domains_in(memories: Iterable[IndexedMemory]) -> Iterator[str]:
    """The domains of memories, whose field `domain` was loaded."""
    for memory in memories:
        yield from (value for key, value in memory.fields if key == access.DOMAIN)


def hidden_from(home: Home, memory: IndexedMemory) -> frozenset[str]:
    """The agents from which the domains of a memory hide it. Its field `domain` was loaded."""
    return frozenset(access.excluded(access.grants_of(home.config.access), domains_in([memory])))


def file_name(vault: Vault, name: str) -> str:
    """The name of a new file without its extension.

    A limited agent's ends in four random characters. A number after the name would tell the agent
    that a hidden file has the name.
    """
    return name if vault.reader is None else f"{name}-{crockford(20)}"


def hides_note(home: Home, vault: Vault, note: Note) -> bool:
    """Whether the domains of a note hide it from the reader of the vault."""
    return vault.reader is not None and home.hides(vault, domains_of(note))
