"""Links between notes: as written, and what each one finds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import apsw

from djinn_memory.store.index import meta

if TYPE_CHECKING:
    from djinn_memory.models import Vault
    from djinn_memory.notes.link_resolution import LinkTarget
    from djinn_memory.notes.note import Note


def put(connection: apsw.Connection, note_id: int, note: Note) -> None:
    """Write the links of a note, with their place in its file, unresolved until `resolve` runs.

    Also the blocks that links of other notes can mean.
    """
    connection.executemany(
        "insert into block (note_id, uuid) values (?, ?)",
        [(note_id, block) for block in note.blocks],
    )
    above = note.text.count("\n", 0, note.body)
    connection.executemany(
        "insert into link (note_id, target, heading, block, label, kind, embed, field, line, "
        "start, stop) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (
                note_id, link.target, link.heading, link.block, link.label, link.kind, link.embed,
                link.field,
                *(
                    (link.line + above, link.start + note.body, link.end + note.body)
                    if link.field is None
                    else (link.line, link.start, link.end)
                ),
            )
            for link in note.links
        ),
    )  # fmt: skip


def unsettle(connection: apsw.Connection) -> None:
    """Note, in the transaction that changes a note, that links may lead elsewhere now."""
    meta.put(connection, "links", "unsettled")


def settled(connection: apsw.Connection) -> str | None:
    """What `resolve` was told of the attachments; None when a note has changed since."""
    value = meta.get(connection, "links")
    return None if value == "unsettled" else value


def targets(connection: apsw.Connection, vaults: Sequence[Vault]) -> list[LinkTarget]:
    """Every note of `vaults` under all that it is called."""
    from djinn_memory.notes.link_resolution import LinkTarget

    names = {vault.id: vault.name for vault in vaults}
    aliases: dict[int, list[str]] = {}
    for note_id, alias in connection.execute(
        "select note_id, alias from alias join memory on memory.id = memory_id"
    ):
        aliases.setdefault(note_id, []).append(alias)
    blocks: dict[int, list[str]] = {}
    for note_id, block in connection.execute("select note_id, uuid from block"):
        blocks.setdefault(note_id, []).append(block)
    return [
        LinkTarget(
            key, names[uuid], path, uid, title,
            tuple(aliases.get(key, ())), tuple(blocks.get(key, ())),
        )
        for key, uuid, path, uid, title in connection.execute(
            "select note.id, vault.uuid, path, uid, title from note "
            "join vault on vault.id = vault_id join memory on memory.note_id = note.id"
        )
        if uuid in names
    ]  # fmt: skip


def resolve(
    connection: apsw.Connection,
    vaults: Sequence[Vault],
    attachments: Sequence[tuple[str, str]],
    mark: str,
) -> None:
    """Find the target of every link anew: one new or renamed note can change any of them.

    `attachments` are (vault, path) of files that are no notes; a link to one is resolved without
    a note. `mark` stands for them in `settled`.
    """
    from djinn_memory.notes.link_resolution import LinkTarget, Resolver

    known = targets(connection, vaults)
    # Attachments have negative keys: they are targets, but no row of the index.
    known += [
        LinkTarget(-1 - number, vault, path, None, None, ())
        for number, (vault, path) in enumerate(attachments)
    ]
    resolver = Resolver(
        known,
        reserved={v.name: v.agent for v in vaults if v.agent},
        dialects={v.name: v.dialect for v in vaults},
    )
    places = {target.key: (target.vault, target.path) for target in known}
    changes = []
    for key, note_id, target, kind, *before in connection.execute(
        "select id, note_id, target, kind, target_note_id, how, candidates from link"
    ):
        if note_id not in places:
            continue
        vault, path = places[note_id]
        found = resolver.resolve(target, source_vault=vault, source_path=path, kind=kind)
        note = found.key if found.key is not None and found.key >= 0 else None
        candidates = json.dumps(found.ambiguous) if found.ambiguous else None
        if before != [note, found.how, candidates]:
            changes.append((note, found.how, candidates, key))
    connection.executemany(
        "update link set target_note_id = ?, how = ?, candidates = ? where id = ?", changes
    )
    meta.put(connection, "links", mark)
