"""The templates of a vault, where its own settings say."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

_SETTINGS = (
    (".obsidian/templates.json", "folder"),
    (".obsidian/daily-notes.json", "template"),
    (".obsidian/plugins/templater-obsidian/data.json", "templates_folder"),
)
"""Files of settings in a vault, each with the key of the folder or note of templates."""


def is_template(root: Path, path: str) -> bool:
    """Whether the settings in the vault at `root` call the note at `path` a template."""
    places = {place for name, key in _SETTINGS if (place := _place(root / name, key))}
    return any(path == place or path.startswith((f"{place}/", f"{place}.md")) for place in places)


def settings_changed(root: Path) -> tuple[int | None, ...]:
    """When the files of these settings of a vault were changed; None for a file that is absent."""
    return tuple(_changed(root / name) for name, _ in _SETTINGS)


def _changed(file: Path) -> int | None:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return None


def _place(file: Path, key: str) -> str:
    """The path in a file of settings, without slashes around it; empty if there is none."""
    changed = _changed(file)
    return "" if changed is None else _read(file, key, changed)


@lru_cache(maxsize=256)
def _read(file: Path, key: str, changed: int) -> str:
    try:
        settings = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return ""
    place = settings.get(key) if isinstance(settings, dict) else None
    return place.strip("/") if isinstance(place, str) else ""
