"""The earlier versions of a note, in a folder beside it.

Each next version links to the previous one.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from djinn_memory.models import Vault
from djinn_memory.notes.vault import TRASH
from djinn_memory.system.files import inside

HISTORY = "history"
"""The folder beside a note that contains its earlier versions."""


def versions(vault: Vault, path: str) -> list[str]:
    """The earlier versions of a note, newest first, including those in the trash."""
    from djinn_memory.memories.library.catalog import read_fields

    beside = PurePosixPath(path.removeprefix(f"{TRASH}/")).parent / HISTORY
    files = {
        file.stem: f"{place}/{file.name}"
        for place in (PurePosixPath(TRASH) / beside, beside)
        if (folder := inside(vault.root, str(place))).is_dir()
        for file in folder.glob("*.md")
    }
    note = PurePosixPath(path.removeprefix(f"{TRASH}/")).with_suffix("")
    linked: list[str] = []
    while (name := _linked(read_fields(vault, path), "supersedes").name) in files:
        path = files.pop(name)
        linked.append(path)
    # A revision that was interrupted left a version that the note does not link to.
    unlinked = (
        file
        for file in files.values()
        if _linked(read_fields(vault, file), "superseded_by") == note
    )
    return [*linked, *unlinked]


def _linked(fields: dict[str, str], field: str) -> PurePosixPath:
    """The path, without extension, in a field's link."""
    return PurePosixPath(fields.get(field, "").removeprefix("[[").removesuffix("]]"))
