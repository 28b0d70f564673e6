"""What a process says to the network, as strace sees it: libraries included."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

_CALLS = ("connect", "sendto", "sendmsg", "sendmmsg")
_ADDRESS = re.compile(r"sa_family=AF_INET6?\b.*", re.ASCII)


def traced(log: Path) -> list[str]:
    """The words before a command whose calls shall be added to `log`; none without strace."""
    log.touch()
    strace = shutil.which("strace")
    if strace is None:
        return []
    trace = "trace=" + ",".join(_CALLS)
    return [strace, "-f", "--seccomp-bpf", "-A", "-o", str(log), "-e", trace]


def addresses(log: Path) -> list[str]:
    """The addresses that were talked to."""
    return _ADDRESS.findall(log.read_text())
