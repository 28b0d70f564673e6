"""Starts programs that show a file: an editor, Obsidian, or the system's default program."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import quote

PLUS = ("vi", "vim", "nvim", "gvim", "view", "nano", "pico", "emacs", "emacsclient", "joe", "mg",
        "ne", "kak", "micro", "gedit")  # fmt: skip
"""Editors that accept the line as `+12` before the file."""

GOTO = ("code", "code-insiders", "codium", "cursor", "windsurf")
"""Editors that accept `--goto file:12`."""

COLON = ("subl", "hx", "helix", "zed", "atom")
"""Editors that accept `file:12`."""

LINE = ("mate", "kate", "kwrite")
"""Editors that accept `--line 12`."""

Environment = Mapping[str, str]


def editor(environment: Environment = os.environ) -> str | None:
    """The command line of the user's editor: `VISUAL`, else `EDITOR`."""
    return environment.get("VISUAL") or environment.get("EDITOR") or None


def editor_command(command: str, file: Path, line: int) -> list[str]:
    """The arguments that open `file` at a line, from 1. An unknown editor gets no line."""
    words = shlex.split(command)
    name = Path(words[0]).name.lower().removesuffix(".exe") if words else ""
    if line < 2:
        return [*words, str(file)]
    if name in PLUS:
        return [*words, f"+{line}", str(file)]
    if name in GOTO:
        return [*words, "--goto", f"{file}:{line}"]
    if name in COLON:
        return [*words, f"{file}:{line}"]
    if name in LINE:
        return [*words, "--line", str(line), str(file)]
    return [*words, str(file)]


def has_display(environment: Environment = os.environ) -> bool:
    """Whether a program with a window can start."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))


def opener() -> Callable[[str], list[str]] | None:
    """The command that opens a file or an address in the system's default program."""
    name = {"darwin": "open", "win32": "explorer"}.get(sys.platform, "xdg-open")
    program = shutil.which(name)
    return (lambda target: [program, target]) if program else None


def obsidian_address(file: Path) -> str:
    """The address that opens a note in Obsidian."""
    return f"obsidian://open?path={quote(str(file), safe='')}"


def start(arguments: list[str]) -> int:
    """Run a program in the foreground. Returns its exit status.

    Raises `OSError` if it is missing.
    """
    return subprocess.run(arguments, check=False).returncode
