"""Finds memories by name, and checks whether a place or a text belongs to a memory."""

from __future__ import annotations

import json
from collections.abc import Sequence

import apsw

from djinn_memory.models import Vault
from djinn_memory.notes.dialects.rules import of_vault
from djinn_memory.notes.link_resolution import LinkTarget, Resolver
from djinn_memory.notes.slugs import name_key
from djinn_memory.store.index import compartments, links
from djinn_memory.store.sqlite import rows

_OF_FILES = ("path", "suffix", "name")
"""The ways in which a link is resolved by the path or the name of a file."""


def resolve(connection: apsw.Connection, name: str, vaults: Sequence[Vault]) -> list[int]:
    """The numbers of the memories that match a name; see `SqliteIndex.resolve`."""
    # Bytes of a path that are no text come as lone surrogates, which SQLite does not take.
    name = name.encode("utf-8", "replace").decode()
    note, section, block = name.strip().removeprefix("[[").removesuffix("]]").partition("#^")
    targets = links.targets(connection, vaults)
    if section and exact(name, targets):
        # A file may have such a name.
        note, section, block = name, "", ""
    keys = exact(note if section else name, targets) or as_link(note, targets, vaults)
    listed: dict[int, int] = dict(
        rows(
            connection,
            "select note_id, id from memory where note_id in (select value from json_each(?)) "
            "and block is ? collate nocase "
            "and compartment_id in (select value from json_each(?))",
            (
                json.dumps(keys),
                block if section else None,
                json.dumps(compartments.numbers(connection, vaults)),
            ),
        )
    )
    return [listed[key] for key in keys if key in listed] or _sections(connection, name, vaults)


def _sections(connection: apsw.Connection, name: str, vaults: Sequence[Vault]) -> list[int]:
    """The sections of journals with this id, or else with this title."""
    for column, wanted in (("uid", name), ("name", name_key(name))):
        listed = rows(
            connection,
            f"select id from memory where {column} = ? and block is not null "
            "and compartment_id in (select value from json_each(?))",
            (wanted, json.dumps(compartments.numbers(connection, vaults))),
        )
        if numbers := [memory_id for (memory_id,) in listed]:
            return numbers
    return []


def exact(name: str, targets: Sequence[LinkTarget]) -> list[int]:
    """The note at `vault:path`; otherwise notes with this id, this path or this `vault/path`."""
    for target in targets:
        if name == f"{target.vault}:{target.path}":
            return [target.key]
    return [
        target.key
        for target in targets
        if name in (target.id, target.path, f"{target.vault}/{target.path}")
    ]


def as_link(name: str, targets: Sequence[LinkTarget], vaults: Sequence[Vault]) -> list[int]:
    """The notes that a name could mean as the target of a link, in any of these vaults.

    A name that ends with `.md` means a file, and never a note with such a title.
    """
    written = name.removesuffix(".md")
    if not written:
        return []
    keys: dict[int, None] = {}
    for vault in vaults:
        own = [target for target in targets if target.vault == vault.name]
        resolver = Resolver(own, rules={vault.name: of_vault(vault)})
        result = resolver.resolve(written, source_vault=vault.name, source_path="")
        if result.key is not None and (written == name or result.how in _OF_FILES):
            keys.update(dict.fromkeys(result.ambiguous or (result.key,)))
    return list(keys)


def count_hash(connection: apsw.Connection, digest: str, vaults: Sequence[Vault]) -> int:
    """The number of notes and sections of `vaults` whose text has this hash, in hexadecimal."""
    count: int = connection.execute(
        "with readable as (select value from json_each(?2)) "
        "select (select count(*) from note where hash = ?1 and exists (select 1 from memory "
        "where note_id = note.id and compartment_id in readable)) + (select count(*) from memory "
        "where digest = ?1 and block is not null and compartment_id in readable)",
        (bytes.fromhex(digest), json.dumps(compartments.numbers(connection, vaults))),
    ).get
    return count


def place_exists(connection: apsw.Connection, place: str, vaults: Sequence[Vault]) -> bool:
    """Whether `<vault uuid>/<path>` is a note of `vaults`, or `...#^<block>` a section.

    True for every id, because an id names a note permanently. What the readers of the vaults may
    not see does not exist.
    """
    if "/" not in place:
        return True
    uuid, _, path = place.partition("/")
    note, _, block = path.rpartition("#^")
    exists: int = connection.execute(
        "select exists (select 1 from vault join note on vault_id = vault.id "
        "join memory on note_id = note.id "
        "where uuid = ?1 and (path = ?2 or path = ?3 and block = ?4) "
        "and compartment_id in (select value from json_each(?5)))",
        (uuid, path, note, block, json.dumps(compartments.numbers(connection, vaults))),
    ).get
    return bool(exists)
