"""Where a note's earlier versions lie: in a folder beside it, each linked by the one after it."""

from __future__ import annotations

from pathlib import PurePosixPath

from djinn_memory.models import Vault
from djinn_memory.notes.vault.files import TRASH
from djinn_memory.system.files import inside

HISTORY = "history"
"""The folder beside a note that holds its earlier versions."""


def versions(vault: Vault, path: str) -> list[str]:
    """The versions of a note before it was revised, the newest first, in the trash or not."""
    from djinn_memory.memories.library.catalog import read_fields

    beside = PurePosixPath(path.removeprefix(f"{TRASH}/")).parent / HISTORY
    there = {
        one.stem: f"{place}/{one.name}"
        for place in (PurePosixPath(TRASH) / beside, beside)
        if (folder := inside(vault.root, str(place))).is_dir()
        for one in folder.glob("*.md")
    }
    note = PurePosixPath(path.removeprefix(f"{TRASH}/")).with_suffix("")
    found: list[str] = []
    while (name := _linked(read_fields(vault, path), "supersedes").name) in there:
        path = there.pop(name)
        found.append(path)
    # Of a revision that was cut short the note does not tell.
    cut_short = (one for one in there.values()
                 if _linked(read_fields(vault, one), "superseded_by") == note)  # fmt: skip
    return [*found, *cut_short]


def _linked(fields: dict[str, str], field: str) -> PurePosixPath:
    """The path, without extension, that a field links to."""
    return PurePosixPath(fields.get(field, "").removeprefix("[[").removesuffix("]]"))
