"""Compares a vault with its scope on the server, and names what differs.

Notes and attachments are compared byte for byte, and the rows that follow from equal notes row by
row. Events are compared with the ledger, and the tables that follow from events with the events.
"""

from __future__ import annotations

from uuid import UUID

from djinn_memory.errors import DjinnError
from djinn_memory.models import Progress
from djinn_memory.notes.note_file import content_hash
from djinn_memory.store.ledger.sync_state import NoteBase, bases
from djinn_memory.store.postgres.notes import ServerNote, changed, contents
from djinn_memory.sync.exchange_requests import Drift
from djinn_memory.sync.notes.link import VaultLink
from djinn_memory.sync.notes.listing import exchanged, list_files, unlisted
from djinn_memory.sync.notes.matching import LocalFile, match
from djinn_memory.sync.notes.names import is_note
from djinn_memory.sync.verification import events
from djinn_memory.sync.verification.rows import REPAIR, differing

_LEFT = "is left as it is, here and on the server: it is excluded, too large, or cannot be read"


def compare(link: VaultLink) -> tuple[int, list[Drift]]:
    """Compare a vault with the server. Returns the number of compared files, and what differs."""
    known = exchanged(link, bases(link.ledger, link.scope))
    files = list_files(link, known)
    left = unlisted(link, files, known)
    matches = match(files, {key: base for key, base in known.items() if key not in left})
    with link.reading() as cursor:
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
    drifts |= differing(link, sorted(same, key=lambda note: note.path))
    compared = len({*matches.notes} & live.keys())
    vault = link.vault.name
    listed = [Drift(vault, path, drifts[path]) for path in sorted(drifts)]
    tables = events.differing(link)
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
