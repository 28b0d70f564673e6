"""The plugin for Claude Code: its files fit the published schema, and start an installed djinn."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
import yaml
from mcp import Client, StdioServerParameters

import djinn_memory
from djinn_memory.home.home import Home
from djinn_memory.mcp.tools import TOOLS
from djinn_memory.memories.hooks.installation import END_TIMEOUT, HOOK_CLIENTS, TIMEOUT
from tests.mcp.clients import environment
from tests.memories.hooks.events import entries_of, prompt

PLUGIN = Path(__file__).resolve().parents[2] / "integrations" / "claude-code"

TEXT = {"type": "string", "minLength": 1}
OPTION = {
    "type": "object",
    "properties": {
        "type": {"enum": ["string", "number", "boolean", "directory", "file"]},
        "title": TEXT,
        "description": TEXT,
        "required": {"type": "boolean"},
        "default": {},
        "sensitive": {"type": "boolean"},
    },
    "required": ["type", "title", "description"],
    "additionalProperties": False,
}
MANIFEST = {
    "type": "object",
    "properties": {
        "$schema": TEXT,
        "name": {"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"},
        "version": {"type": "string", "pattern": r"^\d+\.\d+\.\d+"},
        "description": TEXT,
        "author": {"type": "object", "properties": {"name": TEXT}, "required": ["name"]},
        "license": TEXT,
        "keywords": {"type": "array", "items": TEXT},
        "userConfig": {
            "type": "object",
            "propertyNames": {"pattern": r"^[A-Za-z_]\w*$"},
            "additionalProperties": OPTION,
        },
    },
    "required": ["name"],
    "additionalProperties": False,
}
"""What https://www.schemastore.org/claude-code-plugin-manifest.json says of the fields in use."""

MARKETPLACE = {
    "type": "object",
    "properties": {
        "$schema": TEXT,
        "name": TEXT,
        "description": TEXT,
        "owner": {"type": "object", "properties": {"name": TEXT}, "required": ["name"]},
        "plugins": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": TEXT, "source": {"pattern": r"^\./"}, "description": TEXT},
                "required": ["name", "source"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["name", "owner", "plugins"],
    "additionalProperties": False,
}
"""The same of https://www.schemastore.org/claude-code-marketplace.json."""


def load(name: str) -> Any:
    return json.loads((PLUGIN / name).read_text(encoding="utf-8"))


def test_the_manifests_fit_their_schemas() -> None:
    manifest = load(".claude-plugin/plugin.json")
    marketplace = load(".claude-plugin/marketplace.json")
    jsonschema.validate(manifest, MANIFEST)
    jsonschema.validate(marketplace, MARKETPLACE)
    assert manifest["version"] == djinn_memory.__version__
    [listed] = marketplace["plugins"]
    assert listed["name"] == manifest["name"]
    # Claude Code looks for these beside the folder of the manifest, and only there.
    for name in ("hooks/hooks.json", ".mcp.json", "commands", "skills/memory/SKILL.md"):
        assert (PLUGIN / name).exists()


def test_the_hooks_are_those_that_djinn_installs() -> None:
    hooks = load("hooks/hooks.json")["hooks"]
    assert tuple(hooks) == HOOK_CLIENTS["claude"].events
    for event, [group] in hooks.items():
        [hook] = group["hooks"]
        assert hook["type"] == "command"
        assert hook["timeout"] == (END_TIMEOUT if event == "SessionEnd" else TIMEOUT)


@pytest.mark.parametrize(
    "path", ["commands/recall.md", "commands/remember.md", "skills/memory/SKILL.md"]
)
def test_commands_and_skill_name_tools_that_exist(path: str) -> None:
    _, front, text = (PLUGIN / path).read_text(encoding="utf-8").split("---\n", 2)
    fields = yaml.safe_load(front)
    known = (
        {"description", "name"} if path.endswith("SKILL.md") else {"description", "argument-hint"}
    )
    assert {*fields} == known and 0 < len(fields["description"]) <= 1024
    assert fields.get("name", "memory") == "memory"
    named = set(re.findall(r"`([a-z_]+)` (?:tool|with the)|\| `([a-z_]+)`", text))
    tools = {name for names in named for name in names if name}
    assert tools and tools <= {tool.name for tool in TOOLS}


def options(home: Home, agent: str = "me") -> dict[str, str]:
    """The environment of a hook of the plugin, in which `djinn` is on the PATH."""
    scripts = str(Path(sys.executable).parent)
    return {
        **environment(),
        "PATH": os.pathsep.join([scripts, os.environ["PATH"]]),
        "CLAUDE_PLUGIN_OPTION_HOME": str(home.root),
        "CLAUDE_PLUGIN_OPTION_AGENT": agent,
    }


def test_a_hook_of_the_plugin_records(home: Home, tmp_path: Path) -> None:
    [group] = load("hooks/hooks.json")["hooks"]["UserPromptSubmit"]
    done = subprocess.run(
        ["sh", "-c", group["hooks"][0]["command"]],
        input=json.dumps(prompt("Fix the login")).encode(),
        env=options(home),
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    [entry] = entries_of(home)
    assert (entry["prompt"], entry["agent"], entry["client"]) == ("Fix the login", "me", "claude")


def test_the_server_of_the_plugin_starts(home: Home) -> None:
    server = load(".mcp.json")["mcpServers"]["djinn"]
    given = {"${user_config.home}": str(home.root), "${user_config.agent}": "me"}
    words = [given.get(word, word) for word in server["args"]]
    assert set(given.values()) <= set(words)
    env = options(home)
    start = StdioServerParameters(command=server["command"], args=words, env=env)

    async def work() -> None:
        async with Client(start) as connected:
            listed = await connected.list_tools()
            assert {"recall", "remember"} <= {tool.name for tool in listed.tools}

    anyio.run(work)
