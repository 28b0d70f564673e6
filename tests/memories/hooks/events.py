"""Inputs of hooks as Claude Code and Codex document them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from djinn_memory.home.home import Home
from djinn_memory.memories.hooks.payloads import entry_of
from djinn_memory.memories.hooks.spool import Spool

CLAUDE = {"transcript_path": "/home/ada/.claude/projects/p/t.jsonl", "permission_mode": "default"}
CODEX = {"transcript_path": None, "permission_mode": "default", "model": "gpt-5", "turn_id": "t1"}


def event(name: str, session: str = "one", /, **fields: Any) -> dict[str, Any]:
    """An input with the fields that all events share."""
    common = {"session_id": session, "cwd": "/work/site", "hook_event_name": name}
    return {**CLAUDE, **common, **fields}


def prompt(text: str, session: str = "one") -> dict[str, Any]:
    return event("UserPromptSubmit", session, prompt=text)


def stop(text: str | None, session: str = "one") -> dict[str, Any]:
    return event("Stop", session, stop_hook_active=False, last_assistant_message=text)


def tool(command: str, session: str = "one") -> dict[str, Any]:
    return event(
        "PostToolUse",
        session,
        tool_name="Bash",
        tool_input={"command": command},
        tool_response={"stdout": "ok", "stderr": "", "interrupted": False},
        tool_use_id="toolu_01",
    )


def spool_of(home: Home) -> Spool:
    return Spool(str(home.state))


def entries_of(home: Home) -> list[Any]:
    """The entries in the spool, oldest first."""
    return [json.loads(line) for line in spool_of(home).read().values()]


def damage(home: Home, data: bytes) -> Path:
    """Put a file into the spool that no hook writes, after all others."""
    spool = spool_of(home)
    path = Path(spool.path, f"{time.time_ns():020}-damaged")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def record(home: Home, *payloads: dict[str, Any], client: str = "claude", agent: str = "") -> None:
    """Append inputs to the spool of a home, in this process."""
    for payload in payloads:
        entry, cut = entry_of(payload, client, agent)
        assert not entry or spool_of(home).append(entry, cut=cut)


def command(home: Path, client: str = "claude", agent: str = "me") -> list[str]:
    """The command that a client runs."""
    options = ["--home", str(home), "--agent", agent, "--client", client]
    return [sys.executable, "-P", "-m", "djinn_memory", "hook", *options]


def call(home: Path, payload: object, client: str = "claude", **settings: Any) -> str:
    """Run the hook as a client does. It says nothing on stderr and exits with 0."""
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    done = subprocess.run(
        command(home, client), input=data, capture_output=True, timeout=60, check=False, **settings
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()
