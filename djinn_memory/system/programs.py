"""Starts programs that show a file or a text: an editor, Obsidian, the system's own, a pager."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

_PLUS = ("vi", "vim", "nvim", "gvim", "view", "nano", "pico", "emacs", "emacsclient", "joe", "mg",
         "ne", "kak", "micro", "gedit")  # fmt: skip
"""Editors that accept the line as `+12` before the file."""

_GOTO = ("code", "code-insiders", "codium", "cursor", "windsurf")
"""Editors that accept `--goto file:12`."""

_COLON = ("subl", "hx", "helix", "zed", "atom")
"""Editors that accept `file:12`."""

_LINE = ("mate", "kate", "kwrite")
"""Editors that accept `--line 12`."""

_FORMS = (
    (_PLUS, ("+{line}", "{file}")),
    (_GOTO, ("--goto", "{file}:{line}")),
    (_COLON, ("{file}:{line}",)),
    (_LINE, ("--line", "{line}", "{file}")),
)


def editor() -> str | None:
    """The command line of the user's editor: `VISUAL`, else `EDITOR`."""
    return os.environ.get("VISUAL") or os.environ.get("EDITOR") or None


def editor_command(command: str, file: Path, line: int) -> list[str]:
    """The arguments that open `file` at a line, from 1. An unknown editor gets no line."""
    words = shlex.split(command)
    name = Path(words[0]).name.lower().removesuffix(".exe") if words else ""
    forms = (form for names, form in _FORMS if line > 1 and name in names)
    return [*words, *(part.format(file=file, line=line) for part in next(forms, ("{file}",)))]


def has_display() -> bool:
    """Whether a program with a window can start."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


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


def page(text: str) -> bool:
    """Show a text in the user's pager: `PAGER`, else `less`. Returns whether it could be started.

    A pager may end before it has read everything.
    """
    # As git does it: `less` ends if the text fits, keeps colours, and leaves the text in place.
    environment = {"LESS": "FRX", "LV": "-c", **os.environ}
    # Ctrl-C is a key of the pager. It gets the default handler back, unlike with `SIG_IGN`.
    handler = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        arguments = shlex.split(os.environ.get("PAGER", "less")) or [""]
        data = text.encode(errors="replace")
        subprocess.run(arguments, input=data, stdout=sys.stdout, env=environment, check=False)
    except (OSError, ValueError):
        return False
    finally:
        signal.signal(signal.SIGINT, handler)
    return True
