"""The official inspector, in its own words: it is no Python, and validates by itself."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from djinn_memory.home.home import Home
from djinn_memory.mcp.tools import TOOLS
from tests.mcp.clients import command, environment

PACKAGE = "@modelcontextprotocol/inspector@0.15.0"

CALLS = {
    "wake": {"task": "lamp"},
    "context": {"task": "lamp"},
    "search": {"query": "lamp"},
    "recall": {"query": "lamp"},
    "rate": {"target": "last", "gap": "who owns the lamp"},
    "gap": {"action": "list"},
    "read": {"name": "Keeper"},
    "neighbours": {"action": "neighbours", "name": "Keeper"},
    "remember": {"type": "lesson", "title": "Oil it weekly"},
    "ingest": {"paths": '["{}"]'},
    "memory": {"action": "delete", "name": "Oil it weekly"},
    "episode": {"action": "record_observation", "text": "The lamp went out."},
    "entity": {"action": "add", "name": "Harbour", "kind": "place"},
    "fact": {"action": "set", "category": "lamp", "key": "colour", "value": "white"},
    "working": {"action": "set", "key": "a", "value": "b"},
    "checkpoint": {"text": "oiling"},
    "sleep": {"summary": "oiled"},
}


@pytest.mark.soak
def test_the_inspector(pair: Home, tmp_path: Path) -> None:
    npx = shutil.which("npx")
    if npx is None:
        pytest.skip("no npx here")
    document = tmp_path / "wick.txt"
    document.write_text("A wick is trimmed once a day.\n")
    known = [word for item in environment().items() for word in ("-e", "=".join(item))]

    def inspect(*words: str) -> dict[str, object]:
        done = subprocess.run(
            [npx, "--yes", PACKAGE, "--cli", *known, *command(pair), *words],
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found: dict[str, object] = json.loads(done.stdout)
        return found

    assert len(inspect("--method", "tools/list")["tools"]) == len(TOOLS)  # type: ignore[arg-type]
    assert CALLS.keys() == {tool.name for tool in TOOLS}
    for name, given in CALLS.items():
        words = [
            word
            for item in given.items()
            for word in ("--tool-arg", "=".join(item).replace("{}", str(document)))
        ]
        done = inspect("--method", "tools/call", "--tool-name", name, *words)
        assert not done.get("isError"), done
        assert done["structuredContent"]
    wrong = inspect("--method", "tools/call", "--tool-name", "read", "--tool-arg", "name=Hidden")
    assert wrong["isError"]
    assert inspect("--method", "resources/list")["resources"]
    assert inspect("--method", "resources/templates/list")["resourceTemplates"]
    assert inspect("--method", "resources/read", "--uri", "djinn://shared/harbour.md")["contents"]
    assert len(inspect("--method", "prompts/list")["prompts"]) == 2  # type: ignore[arg-type]
    for name in ("start_session", "end_session"):
        assert inspect("--method", "prompts/get", "--prompt-name", name)["messages"]
