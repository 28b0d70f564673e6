"""The ways in which programs save a note. Each leaves `text` in the file, whatever was there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

Save = Callable[[Path, str], None]


def in_place(path: Path, text: str) -> None:
    """Plain writing, as nano, VS Code and Obsidian do."""
    path.write_text(text, encoding="utf-8")


def in_pieces(path: Path, text: str) -> None:
    """A slow program that flushes as it goes."""
    with path.open("w", encoding="utf-8") as file:
        for at in range(0, len(text), 1 + len(text) // 4):
            file.write(text[at : at + 1 + len(text) // 4])
            file.flush()
            time.sleep(0.03)


def synced_in_place(path: Path, text: str) -> None:
    """Over the old bytes, cut to length at the end."""
    data = text.encode()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    os.write(descriptor, data)
    os.ftruncate(descriptor, len(data))
    os.fsync(descriptor)
    os.close(descriptor)


def renamed(path: Path, text: str) -> None:
    """A temporary file beside it, moved over it: most careful programs."""
    temporary = path.with_name(f"{path.name}.tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def renamed_hidden(path: Path, text: str) -> None:
    """The same by a hidden name, as sync clients and `rsync` do."""
    temporary = path.with_name(f".{path.name}.Xq3a7c")
    temporary.write_text(text, encoding="utf-8")
    os.fsync(os.open(temporary, os.O_RDONLY))
    temporary.replace(path)


def renamed_from_elsewhere(path: Path, text: str) -> None:
    """A download that comes from a folder nobody watches."""
    temporary = path.parents[2] / f"download-{path.stem}"
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def vim(path: Path, text: str) -> None:
    """With `backupcopy=no`: a swap file, a probe, the old file moved aside, the new one written."""
    swap = path.with_name(f".{path.name}.swp")
    swap.write_bytes(b"b0VIM 9.1" + bytes(100))
    probe = path.with_name("4913")
    probe.touch()
    probe.unlink()
    backup = path.with_name(f"{path.name}~")
    if path.exists():
        path.rename(backup)
    path.write_text(text, encoding="utf-8")
    backup.unlink(missing_ok=True)
    swap.unlink()


def emacs(path: Path, text: str) -> None:
    """A lock that is a dangling link, an autosave file, a backup by copy."""
    lock = path.with_name(f".#{path.name}")
    lock.symlink_to("somebody@somewhere.1:2")
    autosave = path.with_name(f"#{path.name}#")
    autosave.write_text(text, encoding="utf-8")
    if path.exists():
        path.with_name(f"{path.name}~").write_bytes(path.read_bytes())
    path.write_text(text, encoding="utf-8")
    autosave.unlink()
    lock.unlink()


def deleted_first(path: Path, text: str) -> None:
    """Away with the old one, then the new one."""
    path.unlink(missing_ok=True)
    path.write_text(text, encoding="utf-8")


def in_a_burst(path: Path, text: str) -> None:
    """A sync client that gets several versions one after the other."""
    for part in range(1, 6):
        renamed_hidden(path, text[: len(text) * part // 6])
        time.sleep(0.02)
    renamed_hidden(path, text)


def obsidian(path: Path, text: str) -> None:
    """Writes in place, and keeps its own state in the vault."""
    state = path.parent / ".obsidian"
    state.mkdir(exist_ok=True)
    (state / "workspace.json").write_text("{}")
    in_place(path, text)
    (state / "workspace.json").write_text('{"main": {}}')


def appended(path: Path, text: str) -> None:
    """The beginning first; the rest is added to it."""
    path.write_text(text[:10], encoding="utf-8")
    with path.open("a", encoding="utf-8") as file:
        file.write(text[10:])


STYLES: tuple[Save, ...] = (
    in_place, in_pieces, synced_in_place, renamed, renamed_hidden, renamed_from_elsewhere, vim,
    emacs, deleted_first, in_a_burst, obsidian, appended,
)  # fmt: skip
