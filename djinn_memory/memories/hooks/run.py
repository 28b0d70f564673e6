"""`djinn hook`: called by a client for each event. It ends with exit code 0, whatever happens.

Clients erase a prompt when its hook exits with 2, and show errors of hooks to the user. So the
reason for a failure goes to the spool, where `djinn hook status` and `djinn doctor` find it. Before
an event is recorded only the standard library is imported.

The text of `config.yaml` shows whether it says anything about hooks. Only then it is parsed, which
takes longer than all else that a hook does.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from djinn_memory.home import warm
from djinn_memory.home.location import is_home, settings, state_folder
from djinn_memory.memories.hooks import payloads
from djinn_memory.memories.hooks.spool import Spool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

MOST_INPUT = 64_000_000
"""Bytes of an input that are kept in memory. More is read, so that the client can go on, and
dropped."""

IDLE_SECONDS = 2.0
"""Seconds without input after which it counts as complete."""

INPUT_SECONDS = 5.0
"""Seconds after which the input counts as complete in any case."""

PAUSE_SECONDS = 0.1
"""Seconds without input after which the event is recorded if it is whole: some clients leave their
end of the pipe open."""

ANSWERS = ("SessionStart", "UserPromptSubmit")
"""The events whose output becomes context of the agent. Any output at Stop continues the turn."""

SILENT = ("windsurf",)
"""Clients that read only the exit code of a hook."""


def main(words: list[str]) -> NoReturn:
    """Record the event on stdin, print the context for it if there is one, and exit with 0."""
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _leave)
        stdout = _streams()
        options = _options(words)
        if root := options.get("home"):
            _record(os.path.expanduser(root), options, stdout)
    finally:
        # Without an exception on its way out of here, whichever it was.
        os._exit(0)


def _leave(*_: object) -> NoReturn:
    os._exit(0)


def _streams() -> int:
    """Open the closed ones of stdin, stdout and stderr; returns a descriptor of stdout.

    Later output of libraries is discarded, because the client would read it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number, which is this.
            os.open(os.devnull, os.O_RDWR)
    stdout = os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    return stdout


def _options(words: list[str]) -> dict[str, str]:
    """The options of the line that `djinn hook install` writes. Unknown words are ignored."""
    options: dict[str, str] = {}
    left = iter(words)
    for word in left:
        name, equals, value = word.partition("=")
        if name in ("--home", "--agent", "--client"):
            options[name[2:]] = value if equals else next(left, "")
    return options


def _record(root: str, options: dict[str, str], stdout: int) -> None:
    """Record the event in the spool of a home, or count it there as skipped."""
    data = _input()
    if not os.path.isabs(root) or not is_home(root):
        return
    state = state_folder(root)
    if state is None:
        return
    spool = Spool(state)
    client = options.get("client", "")
    try:
        if data is None:
            raise payloads.UnusableInputError("the input is too long")
        if client not in payloads.CLIENTS:
            raise payloads.UnusableInputError("the hook was called without a known --client")
        payload = payloads.parse(data)
        entry, cut = payloads.entry_of(payload, client, options.get("agent", ""))
    except payloads.UnusableInputError as error:
        spool.skip(str(error))
        return
    event = entry.get("event")
    # A start is recorded by the wake that it causes, or when that fails.
    if entry and event != "SessionStart":
        _append(spool, entry, cut)
    answers = event in ANSWERS and client not in SILENT
    if answers and (event == "SessionStart" or _recalls(root)):
        _answer(root, state, entry, spool, stdout)
    elif event == "SessionEnd" and not _mentions_extract(root):
        _extract(root, state, spool)


def _append(spool: Spool, entry: dict[str, Any], cut: bool) -> None:
    try:
        spool.append(entry, cut=cut)
    except OSError as error:
        spool.skip(error.strerror or type(error).__name__)


def _answer(root: str, state: str, entry: dict[str, Any], spool: Spool, stdout: int) -> None:
    """Print the context for an event, unless this fails or takes too long."""
    try:
        text, why = _served(root, state, entry) or (_by_itself(root, entry, spool), "")
    except Exception as error:
        text, why = "", f"{type(error).__name__}: {error}"
    if why:
        if entry["event"] == "SessionStart":
            _append(spool, entry, cut=False)
        spool.fail(f"{entry['event']}: {why}")
        return
    data = text.encode("utf-8", "replace")
    while data:
        data = data[os.write(stdout, data) :]


def _by_itself(root: str, entry: dict[str, Any], spool: Spool) -> str:
    from djinn_memory.memories.hooks.answers import answer

    # When the time is up this does not return.
    return answer(root, entry, spool)


def _served(root: str, state: str, entry: dict[str, Any]) -> tuple[str, str] | None:
    """The context from a process that keeps the home open, or why it failed; None without one."""
    if not warm.listens(state):
        return None
    from djinn_memory.memories.hooks.answers import SECONDS

    try:
        request = {"root": os.path.realpath(root), "entry": entry}
        answer = warm.ask(state, request, seconds=SECONDS)
    except TimeoutError:
        return "", f"no answer within {SECONDS:g} s"
    return (answer.get("text", ""), answer.get("error", "")) if answer else None


def _extract(root: str, state: str, spool: Spool) -> None:
    """Start the extraction of idle sessions."""
    try:
        from djinn_memory.memories.sessions.background import start

        start(root, state)
    except Exception as error:
        spool.fail(f"SessionEnd: {type(error).__name__}: {error}")


def _input() -> bytes | None:
    """The input from the client on stdin; None if it is too long.

    A pipe that the client never closes is read until the event is whole, or the time is up.
    """
    if sys.stdin is not None and os.isatty(0):
        return b""
    parts: list[bytes] = []
    size = 0
    begin = heard = time.monotonic()
    while True:
        now = time.monotonic()
        if now - begin > INPUT_SECONDS or now - heard > IDLE_SECONDS:
            break
        if not _readable(PAUSE_SECONDS):
            if parts and _whole(b"".join(parts)):
                break
            continue
        part = os.read(0, 1 << 20)
        if not part:
            break
        heard = time.monotonic()
        size += len(part)
        if size <= MOST_INPUT:
            parts.append(part)
    return b"".join(parts) if size <= MOST_INPUT else None


def _readable(seconds: float) -> bool:
    """Whether stdin can be read without waiting, at the latest after some seconds."""
    if sys.platform == "win32":
        # Pipes cannot be polled there. The client ends a hook that takes too long.
        return True
    import select

    return bool(select.select([0], [], [], seconds)[0])


def _whole(data: bytes) -> bool:
    if not data.rstrip().endswith(b"}"):
        return False
    try:
        payloads.parse(data)
    except payloads.UnusableInputError:
        return False
    return True


def _recalls(root: str) -> bool:
    """Whether `hooks.recall` is on."""
    if not _mentions_recall(settings(root)) and "DJINN_HOOKS__RECALL" not in os.environ:
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


def _mentions_extract(root: str) -> bool:
    """Whether the settings may switch the extraction off. Then another command starts it."""
    variables = ("DJINN_SESSIONS__EXTRACT", "DJINN_UPKEEP__SKIP")
    return any("extract" in line for line in settings(root)) or any(
        name in os.environ for name in variables
    )
