"""Finds a home and its state folder in a millisecond, before the settings are parsed."""

from __future__ import annotations

import os

MOST_BYTES = 1_000_000
"""Bytes of the settings that are read."""


def root_of(named: str) -> str | None:
    """The folder of the home that `home.discover` finds; None if it may raise an error."""
    named = named or os.environ.get("DJINN_HOME", "").strip()
    if named:
        return os.path.realpath(os.path.expanduser(named))
    folders = [os.path.realpath(os.getcwd())]
    while (parent := os.path.dirname(folders[-1])) != folders[-1]:
        folders.append(parent)
    for folder in folders:
        if os.path.isdir(os.path.join(folder, ".djinn")):
            return folder
    if any(is_home(folder) for folder in folders):
        # A home without its state, perhaps.
        return None
    return os.path.realpath(os.path.expanduser("~/djinn"))


def is_home(root: str) -> bool:
    """Whether a folder is a home."""
    return os.path.isfile(_config(root))


def state_folder(root: str) -> str | None:
    """The state folder of a home; None if its settings are broken."""
    if not any("state_dir" in line for line in settings(root)):
        return os.path.join(root, ".djinn")
    try:
        from pathlib import Path

        from djinn_memory.home.home import Home

        return str(Home(Path(root)).state)
    except Exception:
        # The reason has no place to go to: `djinn doctor` says it too.
        return None


def settings(root: str) -> list[str]:
    """The lines of the settings that are no comments."""
    try:
        with open(_config(root), "rb") as file:
            text = file.read(MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return []
    lines = text.lstrip("\ufeff").splitlines()
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


def _config(root: str) -> str:
    return os.path.join(root, "config.yaml")
