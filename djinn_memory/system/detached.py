"""Starts processes that outlive their parent and that nobody waits for."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from djinn_memory.system.files import make_folder, open_private


def start_detached(arguments: Sequence[str], log: Path) -> int:
    """Start Python with some arguments. Its outputs go to `log`. Returns the process id.

    Raises `OSError` if the log cannot be written or the process cannot be started.
    """
    make_folder(log.parent, private=True)
    # A link that was cloned with the home must not lead the log elsewhere.
    log.unlink(missing_ok=True)
    with open_private(log) as file:
        process = subprocess.Popen(
            # With `-P` a module in the current folder cannot stand in for djinn's.
            [sys.executable, "-P", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    # A long-lived parent would otherwise keep it as a zombie.
    threading.Thread(target=process.wait, daemon=True).start()
    return process.pid
