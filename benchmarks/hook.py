"""What a call of `djinn hook` costs, against the import of typer and rich.

Run: `python benchmarks/hook.py`
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping

from common import home_with, machine, table

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home

RUNS = 21
BASE = "import typer, rich"
BAR = 1.5

EVENTS: dict[str, dict[str, object]] = {
    "UserPromptSubmit": {"prompt": "Why does the login page fail? " * 20},
    "PostToolUse": {
        "tool_name": "Bash",
        "tool_input": {"command": "make test"},
        "tool_response": {"stdout": "ok\n" * 200, "stderr": ""},
    },
    "Stop": {"last_assistant_message": "The login page needs cookies. " * 20},
    "SessionEnd": {"reason": "exit"},
    "PostToolUse, 10 MB": {
        "tool_name": "Bash",
        "tool_input": {"command": "cat log"},
        "tool_response": {"stdout": "x" * 10_000_000},
    },
    "PostToolUse, a million keys": {
        "tool_name": "Bash",
        "tool_input": {f"k{number}": number for number in range(1_000_000)},
    },
    "SessionStart (prints the context of a wake)": {"source": "startup"},
}
"""The fields of an input, by a label that begins with the event."""


def payload(label: str) -> bytes:
    """The input of a hook."""
    name = label.partition(" ")[0].rstrip(",")
    common = {"session_id": "one", "cwd": "/work", "hook_event_name": name}
    return json.dumps({**common, **EVENTS[label]}).encode()


def seconds(command: list[str], data: bytes) -> float:
    """The seconds of one process."""
    started = time.perf_counter()
    subprocess.run(command, input=data, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def measured(home: Home) -> Mapping[str, float]:
    """The median seconds of each call and of the import, in turn, so that noise hits all."""
    hook = [sys.executable, "-P", "-m", "djinn_memory", "hook", "--home", str(home.root)]
    hook += ["--agent", "me", "--client", "claude"]
    runs: dict[str, list[float]] = {BASE: [], **{label: [] for label in EVENTS}}
    for _ in range(RUNS):
        runs[BASE].append(seconds([sys.executable, "-c", BASE], b""))
        for label in EVENTS:
            runs[label].append(seconds(hook, payload(label)))
    return {label: statistics.median(took) for label, took in runs.items()}


def main() -> None:
    """Print the figures as a table."""
    # The end of a session starts an extraction, which is a part of what it costs.
    del os.environ["DJINN_SESSIONS__EXTRACT"]
    with home_with() as home:
        with Djinn(home) as djinn:
            djinn.remember("lesson", "Login", "The login page needs cookies.")
        figures = measured(home)
    base = figures[BASE]
    print("## Hooks\n")
    print(f"`python benchmarks/hook.py` on {machine()}\n")
    print(f"Whole processes, median of {RUNS}, in turn:\n")
    table(
        ["call", "wall", "of the import", "bar"],
        [
            [
                label,
                f"{1000 * took:.0f} ms",
                f"{took / base:.2f}",
                f"{BAR} times" if "," not in label and "(" not in label and label != BASE else "",
            ]
            for label, took in figures.items()
        ],
    )


if __name__ == "__main__":
    main()
