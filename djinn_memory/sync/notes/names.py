"""The names of notes that synchronization gives, and the names and rows that it accepts. Pure."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from uuid import UUID

from djinn_memory.notes.slugs import fold, slug
from djinn_memory.notes.vault import MAX_BYTES, hidden
from djinn_memory.store.postgres.notes import ServerNote

NAME_BYTES = 255
"""Maximum length of a file name on common file systems."""

PATH_BYTES = 2_000
"""Maximum length of a path. An index of Postgres takes no more than 2,700 bytes."""

HOME_BYTES = 40
"""Maximum length of a home's name in the name of a conflict copy."""

ENDING_BYTES = 20
"""A longer extension is a part of the name."""

DIGITS = 8
"""Number of hexadecimal digits in a name that are usually enough."""

_CONFLICT = re.compile(r"(?P<stem>.*) \(conflict [^()/ ]+ [0-9a-f]{8,}\)", re.DOTALL)
_WINDOWS = frozenset('\\:*?"<>|')
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?|.*[. ]", re.IGNORECASE | re.DOTALL)
"""Names of Windows for devices, and names of which it drops the end."""


def path_key(path: str) -> str:
    """The form in which paths are compared: file systems may ignore case and the Unicode form."""
    return fold(path)


def is_note(path: str) -> bool:
    """Whether a path is that of a note, and not of an attachment."""
    return path[-3:].lower() == ".md"


def conflict_path(path: str, home: str, digest: bytes, digits: int = DIGITS) -> str:
    """The path for the home's version of a note that the server has too.

    It follows from the content, so that the same conflict always gets the same name.
    """
    stem, ending = _parts(original_path(path) or path)
    mark = f" (conflict {slug(home, max_bytes=HOME_BYTES)} {digest.hex()[:digits]})"
    return _joined(path, stem, mark + ending)


def original_path(path: str) -> str | None:
    """The path of the note of which `path` is a conflict copy; None for any other path."""
    stem, ending = _parts(path)
    match = _CONFLICT.fullmatch(stem)
    return _joined(path, match["stem"], ending) if match and match["stem"] else None


def numbered_path(path: str, note_id: UUID, digits: int = DIGITS) -> str:
    """The path for the second note with a path; it follows from the note's id."""
    stem, ending = _parts(path)
    # The first digits of an id are a time, which notes written together share.
    return _joined(path, stem, f" ({note_id.hex[-digits:]}){ending}")


def why_not(path: str) -> str | None:
    """The reason why a path from the server is not written here; None for a good path."""
    parts = path.split("/")
    if path != str(PurePosixPath(path)) or path.startswith("/") or ".." in parts or "\0" in path:
        return "is not a path inside a vault"
    if any(map(hidden, parts)):
        return "is in a hidden folder"
    try:
        lengths = [len(part.encode()) for part in parts]
    except UnicodeEncodeError:
        return "is not a valid name"
    if max(lengths) > NAME_BYTES or len(path.encode()) > PATH_BYTES:
        return "has a name that is too long"
    if os.sep != "/" and _WINDOWS & set(path):
        return "has a character that file names cannot have here"
    if os.sep != "/" and any(map(_DEVICE.fullmatch, parts)):
        return "is the name of a device here, or ends with a dot or a space"
    return None


def unfit(rows: Iterable[ServerNote]) -> dict[UUID, tuple[ServerNote, str]]:
    """The rows of a server that no home can have written, by note, each with the reason.

    They are left out. A tombstone has no file, so its path does not matter.
    """
    seen: set[UUID] = set()
    result: dict[UUID, tuple[ServerNote, str]] = {}
    for row in rows:
        why = _why_unfit(row)
        if row.note_id in seen:
            why = "has the id of another file"
        seen.add(row.note_id)
        if why:
            result[row.note_id] = row, why
    return result


def _why_unfit(row: ServerNote) -> str | None:
    if row.rev < 1:
        return "has no revision"
    if row.deleted:
        return None
    if is_note(row.path) and row.table != "notes":
        return "is a note among the attachments"
    if row.table == "notes" and not is_note(row.path):
        return "is no note"
    if is_note(row.path) and row.size > MAX_BYTES:
        return f"is too large for a note with {row.size:,} bytes"
    return why_not(row.path)


def _parts(path: str) -> tuple[str, str]:
    """The name in a path without its extension, and the extension."""
    name = PurePosixPath(path).name
    ending = PurePosixPath(path).suffix
    if not ending or len(ending.encode()) > ENDING_BYTES:
        return name, ""
    return name[: -len(ending)], ending


def _joined(path: str, stem: str, ending: str) -> str:
    """`stem` and `ending` in the folder of `path`, with a stem that is cut to a valid length."""
    room = max(0, NAME_BYTES - len(ending.encode()))
    stem = stem.encode()[:room].decode(errors="ignore")
    folder = path.rpartition("/")[0]
    return f"{folder}/{stem}{ending}" if folder else f"{stem}{ending}"
