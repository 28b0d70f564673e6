"""Stores the links of memories and resolves their targets."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import apsw

from djinn_memory.home import access
from djinn_memory.store.index import compartments, meta
from djinn_memory.store.sqlite import rows

if TYPE_CHECKING:
    from djinn_memory.models import Vault
    from djinn_memory.notes.link_resolution import LinkTarget
    from djinn_memory.notes.note import Note
    from djinn_memory.notes.note_file import NoteMemory

_UNSETTLED = "unsettled"
"""A key in `meta` that exists while any link may need a new target."""

_ADDED = "added "
"""A prefix of the `meta` value for `settled`, while only new links are unresolved."""


def put(
    connection: apsw.Connection, note_id: int, memory_id: int, source: NoteMemory, note: Note
) -> None:
    """Write the Logseq blocks and the links of a memory. `resolve` resolves the links later."""
    connection.executemany(
        "insert into block (memory_id, uuid) values (?, ?)",
        [(memory_id, block) for block in note.blocks],
    )
    above = source.line + note.text.count("\n", 0, note.body)
    before = source.offset + note.body
    connection.executemany(
        "insert into link (note_id, memory_id, target, heading, block, label, kind, embed, field, "
        "line, start, stop) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (
                note_id, memory_id, link.target, link.heading, link.block, link.label, link.kind,
                link.embed, link.field,
                *(
                    (link.line + above, link.start + before, link.end + before)
                    if link.field is None
                    else (link.line, link.start, link.end)
                ),
            )
            for link in note.links
        ),
    )  # fmt: skip


def unsettle(connection: apsw.Connection, *, names: bool = True) -> None:
    """Record, in the transaction that changes a note, that links must be resolved.

    With `names`, the names of notes changed, so any link may have a new target. Without it, only
    new links are unresolved, as after an append to a journal.
    """
    mark = meta.get(connection, "links")
    if names or mark is None:
        meta.put(connection, "links", _UNSETTLED)
    elif mark != _UNSETTLED and not mark.startswith(_ADDED):
        meta.put(connection, "links", f"{_ADDED}{mark}")


def settled(connection: apsw.Connection) -> str | None:
    """The `mark` of the last `resolve`, or None if a note has changed since."""
    mark = meta.get(connection, "links")
    return None if mark == _UNSETTLED or (mark and mark.startswith(_ADDED)) else mark


def targets(connection: apsw.Connection, vaults: Sequence[Vault]) -> list[LinkTarget]:
    """Every note of `vaults` that their readers may see, with all its names.

    They are in the order of `vaults`. The key is the note's id.
    """
    from djinn_memory.notes.link_resolution import LinkTarget

    aliases: defaultdict[int, list[str]] = defaultdict(list)
    for note_id, alias in connection.execute(
        "select note_id, alias from alias join memory on memory.id = memory_id where block is null"
    ):
        aliases[note_id].append(alias)
    blocks: defaultdict[int, list[str]] = defaultdict(list)
    for note_id, uuid in connection.execute(
        "select note_id, uuid from block join memory on memory.id = memory_id"
    ):
        blocks[note_id].append(uuid)
    listed: dict[str, list[LinkTarget]] = {vault.id: [] for vault in vaults}
    names = {vault.id: vault.name for vault in vaults}
    hidden = hidden_notes(connection, vaults)
    for note_id, uuid, path, uid, title in connection.execute(
        "select note.id, vault.uuid, path, uid, title from note join vault on "
        "vault.id = vault_id left join memory on memory.note_id = note.id and block is null"
    ):
        if uuid in listed and note_id not in hidden:
            target = LinkTarget(
                note_id, names[uuid], path, uid, title or PurePosixPath(path).stem,
                tuple(aliases.get(note_id, ())), tuple(blocks.get(note_id, ())),
            )  # fmt: skip
            listed[uuid].append(target)
    return [target for targets in listed.values() for target in targets]


def resolve(
    connection: apsw.Connection,
    vaults: Sequence[Vault],
    attachments: Sequence[tuple[str, str]],
    mark: str,
) -> None:
    """Resolve every link again, because one new or renamed note can change any link.

    `attachments` are the (vault, path) of files that are not notes. A link to an attachment is
    resolved, but has no target note. `mark` identifies the attachments in `settled`.
    """
    from djinn_memory.notes.dialects.rules import of_vault
    from djinn_memory.notes.link_resolution import LinkTarget, Resolver

    # If no name changed, only new links are resolved.
    only = " where how is null" if meta.get(connection, "links") == f"{_ADDED}{mark}" else ""
    known = targets(connection, vaults)
    # Attachments have negative keys: they are targets, but no row of the index.
    known += [
        LinkTarget(-1 - number, vault, path, None, None, ())
        for number, (vault, path) in enumerate(attachments)
    ]
    resolver = Resolver(
        known,
        reserved=access.reserved_for(vaults),
        rules={vault.name: of_vault(vault) for vault in vaults},
    )
    places = {target.key: (target.vault, target.path) for target in known}
    changes = []
    for link_id, note_id, target, kind, *before in connection.execute(
        f"select id, note_id, target, kind, target_note_id, how, candidates from link{only}"
    ):
        if note_id not in places:
            continue
        vault, path = places[note_id]
        resolution = resolver.resolve(target, source_vault=vault, source_path=path, kind=kind)
        key = resolution.key
        after = [
            key if key is not None and key >= 0 else None,
            resolution.how,
            json.dumps(resolution.ambiguous) if resolution.ambiguous else None,
        ]
        if before != after:
            changes.append((*after, link_id))
    connection.executemany(
        "update link set target_note_id = ?, how = ?, candidates = ? where id = ?", changes
    )
    _point_at_memories(connection)
    meta.put(connection, "links", mark)


def hidden_notes(connection: apsw.Connection, vaults: Sequence[Vault]) -> set[int]:
    """The notes of vaults in which the reader may see no memory."""
    if not compartments.hidden(connection, vaults):
        return set()
    listed = rows(
        connection,
        "with readable as (select value from json_each(?)) "
        "select note_id from memory group by note_id having max(compartment_id in readable) = 0",
        (json.dumps(compartments.numbers(connection, vaults)),),
    )
    return {note_id for (note_id,) in listed}


def _point_at_memories(connection: apsw.Connection) -> None:
    """Set the target memory of each link: the section with its block id, else the note."""
    connection.execute(
        "with target as (select id, coalesce("
        "(select memory.id from memory where memory.note_id = target_note_id "
        "and memory.block = link.block collate nocase), "
        "(select memory.id from memory where memory.note_id = target_note_id "
        "and memory.block is null)) as memory_id from link) "
        "update link set target_memory_id = target.memory_id from target "
        "where target.id = link.id and target.memory_id is not target_memory_id"
    )
