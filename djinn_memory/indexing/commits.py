"""Asks git when files were last committed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from threading import Timer

_LOG = (
    "git", "--no-pager", "--literal-pathspecs", "-c", "core.fsmonitor=", "-c", "log.follow=false",
    "log", "-z", "--name-only", "--relative", "--diff-filter=d", "--no-renames", "--no-ext-diff",
    "--no-textconv", "--ignore-submodules=all", "--no-show-signature", "--no-mailmap",
    "--format=%x00%ct", "--", ".",
)  # fmt: skip
"""`-z` writes each commit as an empty text, its time, and the names, the first after a newline."""

_ENVIRONMENT = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
"""Nothing is fetched."""


def commit_times(folder: Path, paths: Collection[str], seconds: float) -> dict[str, int]:
    """The times of the last commits of files of a folder, in seconds since 1970, by path.

    A file without a commit is left out: every file, without git or a repository. Reading ends when
    all files have a time, or after `seconds`. No program that the repository's settings name runs.
    """
    own = {key: text for key, text in os.environ.items() if not key.startswith("GIT_")}
    left, times = {*paths}, dict[str, int]()
    rest, at, skipped = b"", "", 0
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    with suppress(OSError), subprocess.Popen(
        _LOG, cwd=folder, env=own | _ENVIRONMENT, stdin=null, stdout=pipe, stderr=null, bufsize=0
    ) as process:  # fmt: skip
        timer = Timer(seconds, process.kill)
        timer.start()
        try:
            while left and process.stdout and (data := process.stdout.read(65_536)):
                *texts, rest = (rest + data).split(b"\0")
                for text in texts:
                    name = text.decode("utf-8", "replace")
                    if not name:
                        at = ""
                    elif not at:
                        at, skipped = name, 1
                    else:
                        if (path := name[skipped:]) in left and at.isdecimal() and len(at) < 12:
                            times[path] = int(at)
                        left.discard(path)
                        skipped = 0
        finally:
            timer.cancel()
            process.kill()
    return times
