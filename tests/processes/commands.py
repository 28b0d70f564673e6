"""Commands in processes of their own, as users start them, and what is left when they end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import psutil

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from tests.indexing.content import content

HANG = 120
"""Seconds after which a command has hung."""

_SCARY = re.compile(r"error|warning|failed:|Traceback|locked|busy|damaged|cannot", re.IGNORECASE)

BORNE = (
    # More notes were saved at once than a question reads on the way, or another process reads them.
    re.compile(r"index: [\d,]+ changed notes? not indexed yet; run `djinn index`$"),
)
"""Lines that a command may say while others write: each is documented, and true."""


def start(home: Home, *arguments: object, file_limit: int | None = None) -> subprocess.Popen[str]:
    """A djinn, in a process group of its own; it may write no file beyond `file_limit` bytes."""

    def limit() -> None:
        import resource

        if file_limit is not None:
            # Not the signal, which kills, but the error that a full disk gives.
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))

    return subprocess.Popen(
        [sys.executable, "-m", "djinn_memory", "--home", str(home.root), *map(str, arguments)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, preexec_fn=limit,
    )  # fmt: skip


def scary(err: str) -> list[str]:
    """The lines on stderr that would worry a user, without those that may be."""
    return [
        line
        for line in err.splitlines()
        if _SCARY.search(line) and not any(one.search(line) for one in BORNE)
    ]


def fresh(home: Home) -> dict[str, list[object]]:
    """What an index of the same vaults holds that is made from nothing."""
    place = Path(tempfile.mkdtemp(dir=home.root.parent))
    twin = Home(place)
    (place / "config.yaml").write_bytes(home.config_path.read_bytes())
    changes = [
        (("vaults", name, "path"), str(home.root / entry.path))
        for name, entry in home.config.vaults.items()
    ]
    twin.edit(*changes, (("state_dir",), str(place / "state")))
    twin.trust(twin.untrusted)
    djinn = Djinn(twin)
    djinn.index()
    djinn.close()
    return content(twin.index_path)


def strays(home: Home) -> list[object]:
    """The rows that an index has and a fresh one does not, and the other way round."""
    mine, anew = content(home.index_path), fresh(home)
    found: list[object] = []
    for kind in anew:
        had, has = Counter(map(repr, mine[kind])), Counter(map(repr, anew[kind]))
        found += [(kind, "stale", row) for row in had - has]
        found += [(kind, "missing", row) for row in has - had]
    return found


def family(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """The processes that one started, and those that they started."""
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def outlived(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that do not end by themselves within some seconds."""
    _, alive = psutil.wait_procs(processes, timeout=10)
    return [one for one in alive if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


def end(process: subprocess.Popen[str], *, group: bool) -> None:
    """Kill a process, or it and all that it started."""
    if group:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
