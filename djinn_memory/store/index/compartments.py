"""Compartments: the parts of a vault that differ in the agents that may read them.

Words and vectors are kept by compartment, so that hidden memories of an agent count in none of its
scores. While no agent's access to domains is limited, a vault is one compartment.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence

import apsw
from msgspec import Struct

from djinn_memory.home import access
from djinn_memory.models import Vault
from djinn_memory.store.index import meta, words
from djinn_memory.store.sqlite import rows, write_row

_GRANTS = "grants"
"""The key in `meta` of the grants by which the memories are divided."""


class Compartment(Struct, frozen=True):
    """The memories of a vault from which the same agents are excluded."""

    number: int
    vault: Vault
    excluded: str
    """The names of these agents, separated by spaces."""


def grants(connection: apsw.Connection) -> dict[str, list[str]]:
    """The domains that each limited agent may see, by which the memories are divided."""
    stored = meta.get(connection, _GRANTS)
    decoded: dict[str, list[str]] = json.loads(stored) if stored else {}
    return decoded


def put_grants(connection: apsw.Connection, granted: Mapping[str, Collection[str]]) -> None:
    """Store the grants by which memories are divided from now on."""
    meta.put(connection, _GRANTS, json.dumps(folded(granted)))


def folded(granted: Mapping[str, Collection[str]]) -> dict[str, list[str]]:
    """Grants in the form in which they are stored and compared."""
    return {agent: sorted(domains) for agent, domains in sorted(access.grants_of(granted).items())}


def of_memory(connection: apsw.Connection, vault: int, domains: Collection[str]) -> int:
    """The number of the compartment of a vault for a memory with these domains.

    It is created if it is missing.
    """
    excluded = " ".join(access.excluded(grants(connection), domains)) if domains else ""
    number: int | None = connection.execute(
        "select id from compartment where vault_id = ? and excluded = ?", (vault, excluded)
    ).get
    if number is None:
        number = write_row(connection, "compartment", {"vault_id": vault, "excluded": excluded})
        words.create(connection, number)
    return number


def readable(connection: apsw.Connection, vaults: Iterable[Vault]) -> list[Compartment]:
    """The compartments of vaults that their readers may see, in the order of the vaults."""
    return [compartment for compartment, visible in _all(connection, vaults) if visible]


def hidden(connection: apsw.Connection, vaults: Iterable[Vault]) -> list[int]:
    """The numbers of the compartments of vaults that their readers may not see."""
    return [compartment.number for compartment, visible in _all(connection, vaults) if not visible]


def numbers(connection: apsw.Connection, vaults: Iterable[Vault]) -> list[int]:
    """The numbers of the compartments that the readers of these vaults may see."""
    return [compartment.number for compartment in readable(connection, vaults)]


def of_vault(connection: apsw.Connection, vault: int) -> list[int]:
    """The numbers of all compartments of a vault."""
    return [
        key
        for (key,) in rows(connection, "select id from compartment where vault_id = ?", (vault,))
    ]


def _all(
    connection: apsw.Connection, vaults: Iterable[Vault]
) -> Sequence[tuple[Compartment, bool]]:
    listed = rows(
        connection,
        "select uuid, compartment.id, excluded from compartment "
        "join vault on vault.id = vault_id order by compartment.id",
    )
    return [
        (Compartment(number, vault, excluded), vault.reader not in excluded.split(" "))
        for vault in vaults
        for uuid, number, excluded in listed
        if uuid == vault.id
    ]
