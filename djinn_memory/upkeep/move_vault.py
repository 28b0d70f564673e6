"""Moves the folder of a vault. The vault keeps its id, its settings and its index."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from djinn_memory.documents.sources import fingerprint
from djinn_memory.errors import NotFound, Refused, Unavailable
from djinn_memory.home.config import require_text
from djinn_memory.home.home import Change, Home
from djinn_memory.models import Vault
from djinn_memory.store.index.records import Selection
from djinn_memory.store.state import State
from djinn_memory.system.files import expand, make_folder, sync_folder, write_atomic


def move_vault(state: State, name: str, folder: Path) -> Vault:
    """Move the folder of a vault, and update the settings.

    If a move is interrupted in between, the same call completes it. If the folder is gone and the
    new one holds its notes, only the settings change. On another disk the files are
    copied and compared before the originals are removed. Raises `Refused` for a target that is not
    empty, is in a vault or contains one.
    """
    home = state.home
    [vault] = home.named((name,))
    source, target = vault.root.resolve(), expand(folder).absolute().resolve()
    # Nobody may read the vault into the index, or write into it, while it is at no place.
    with state.lock(), state.vault_lock(vault):
        mark, places = home.state / f"move-{name}", os.fsencode(f"{source}\n{target}\n")
        begun = mark.is_file() and mark.read_bytes() == places
        moved = begun and target.is_dir() and not source.exists()
        if not moved:
            moved = not source.exists() and _holds_notes(state, vault, target)
            _require_room(home, vault, source, target, moved=moved)
        if not moved:
            write_atomic(mark, places, private=True)
        copied = not moved and _move(source, target)
        place = target.relative_to(home.root) if target.is_relative_to(home.root) else target
        changes: list[Change] = [
            (("vaults", name, "path"), place.as_posix()),
            # Without one, the path was its identity.
            (("vaults", name, "id"), vault.id),
        ]
        home.edit(*changes)
        mark.unlink(missing_ok=True)
        if copied:
            shutil.rmtree(source)
    return home.named((name,))[0]


SAMPLE = 200
"""Memories of a vault whose files are looked for in a folder."""


def _holds_notes(state: State, vault: Vault, folder: Path) -> bool:
    """Whether a folder holds at least half of the indexed notes of a vault.

    Notes that the user changed or deleted since the last index run may be missing.
    """
    paths: set[str] = set()
    if state.home.index_path.exists():
        with state.reading([vault]) as index:
            paths = {memory.path for memory in index.memories(Selection(), limit=SAMPLE)}
    if not paths:
        return next(folder.rglob("*.md"), None) is not None
    return len(paths) <= 2 * sum((folder / path).is_file() for path in paths)


def _require_room(home: Home, vault: Vault, source: Path, target: Path, *, moved: bool) -> None:
    """Raise an error if the folder cannot be moved to the target, or was not `moved` there."""
    require_text(target)
    if not (moved or source.is_dir()):
        raise NotFound(
            f"the folder of vault {vault.name} does not exist: {source}; restore it, or give the "
            "folder where its notes are now"
        )
    if vault.inner:
        inner = min(vault.inner)
        raise Refused(f"{source / inner} is another vault inside {vault.name}; move that one first")
    if target == source:
        raise Refused(f"vault {vault.name} is already in {source}")
    for other in home.vaults:
        root = other.root.resolve()
        if target.is_relative_to(root) and target != root:
            raise Refused(
                f"{target} is inside vault {other.name}; choose a folder outside all vaults"
            )
        if root.is_relative_to(target):
            raise Refused(f"{target} contains vault {other.name}; choose another folder")
    if target.is_relative_to(home.state) or source == home.root:
        raise Refused(f"{source} cannot be moved to {target}; choose another folder")
    if not moved and os.path.lexists(target) and (not target.is_dir() or any(target.iterdir())):
        raise Refused(f"{target} is not empty; choose a folder that is empty or does not exist")


def _move(source: Path, target: Path) -> bool:
    """Move a folder. Returns whether it was copied, so that the original still exists."""
    make_folder(target.parent)
    try:
        # A folder replaces an empty one.
        source.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            why = error.strerror or error
            raise Unavailable(f"{source} cannot be moved to {target}: {why}") from None
    else:
        sync_folder(target.parent)
        sync_folder(source.parent)
        return False
    staging = target.with_name(f".djinn-{os.urandom(8).hex()}.move")
    try:
        shutil.copytree(source, staging, symlinks=True)
        if list(_content(source)) != list(_content(staging)):
            raise Refused(f"{source} changed during the copy; run the command again")
        for path in (staging, *(folder for folder in staging.rglob("*") if folder.is_dir())):
            sync_folder(path)
        staging.rename(target)
    except (OSError, shutil.Error) as error:
        why = getattr(error, "strerror", None) or "some files cannot be copied"
        raise Unavailable(f"{source} cannot be copied to {target}: {why}") from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    sync_folder(target.parent)
    return True


def _content(root: Path) -> Iterator[tuple[str, str]]:
    """Every file, link and folder below a folder, each with a value that identifies its content."""
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            yield name, f"-> {path.readlink()}"
        else:
            yield name, "folder" if path.is_dir() else fingerprint(path)[0]
