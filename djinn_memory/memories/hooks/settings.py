"""What a hook must know of a home's settings, without reading YAML.

The text of `config.yaml` shows whether it says anything about it. Only then it is parsed, which
takes longer than all else that a hook does.
"""

from __future__ import annotations

import os

MOST_BYTES = 1_000_000


def is_home(root: str) -> bool:
    """Whether a folder is a home."""
    return os.path.isabs(root) and os.path.isfile(_config(root))


def state_folder(root: str) -> str | None:
    """The state folder of a home; None if its settings are broken."""
    if not any("state_dir" in line for line in _settings(root)):
        return os.path.join(root, ".djinn")
    try:
        from pathlib import Path

        from djinn_memory.home.home import Home

        return str(Home(Path(root)).state)
    except Exception:
        # The reason has no place to go to: `djinn doctor` says it too.
        return None


def recalls(root: str) -> bool:
    """Whether `hooks.recall` is on."""
    if not _mentions_recall(_settings(root)) and "DJINN_HOOKS__RECALL" not in os.environ:
        return False
    try:
        from pathlib import Path

        from djinn_memory.home.home import Home

        return Home(Path(root)).config.hooks.recall
    except Exception:
        return False


def _mentions_recall(lines: list[str]) -> bool:
    """Whether the section `hooks` may have the key `recall`."""
    inside = False
    for line in lines:
        if not line.startswith((" ", "\t")):
            inside = line.rstrip() == "hooks:"
            if not inside and "hooks" in line:
                # Written in another way, such as {recall: true}.
                return True
        elif inside and "recall" in line:
            return True
    return False


def _settings(root: str) -> list[str]:
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
