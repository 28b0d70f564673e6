"""The block for each client parses as its settings do, and starts the server that it names."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any, get_args

import anyio
import pytest
from mcp import Client, StdioServerParameters

from djinn_memory.errors import Unavailable
from djinn_memory.home.home import Home
from djinn_memory.home.setup import init
from djinn_memory.mcp.client_config import ClientName, client_config
from tests.conftest import Run
from tests.mcp.clients import call, environment

KEYS = {
    "claude": "mcpServers", "claude-desktop": "mcpServers", "codex": "mcp_servers",
    "cursor": "mcpServers", "gemini": "mcpServers", "opencode": "mcp", "vscode": "servers",
    "windsurf": "mcpServers", "zed": "context_servers",
}  # fmt: skip
CLIENTS: tuple[ClientName, ...] = get_args(ClientName)


def server_of(client: str, text: str) -> dict[str, Any]:
    """The one server that a block names."""
    settings = tomllib.loads(text) if client == "codex" else json.loads(text)
    assert list(settings) == [KEYS[client]]
    [(name, server)] = settings[KEYS[client]].items()
    assert name == "djinn"
    if client == "opencode":
        assert (server["type"], server["enabled"]) == ("local", True)
        [program, *args] = server["command"]
        return {"command": program, "args": args, "env": server.get("environment", {})}
    return dict(server)


@pytest.mark.few(2)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_block_starts_the_server(client: str, pair: Home, run: Run) -> None:
    done = run("mcp", "--agent", "grace", "--print-config", client, home=pair.root)
    assert done.returncode == 0 and " reads `" in done.stderr
    server = server_of(client, done.stdout)
    assert Path(server["command"]).is_absolute()
    start = StdioServerParameters(
        command=server["command"], args=server["args"], env=environment() | server.get("env", {})
    )

    async def work() -> None:
        async with Client(start) as connected:
            listed = await call(connected, "read", action="list")
            assert "Hidden" in {memory["title"] for memory in listed["memories"]}

    anyio.run(work)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_block_bears_any_name(
    client: ClientName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, _ = init(tmp_path / 'a "b" \\ ü 😀 \x7f c')
    monkeypatch.setenv("DJINN_CACHE", 'C:\\models "x"')
    text = client_config(client, home, "me", read_only=True).text
    server = server_of(client, text)
    assert server["args"][3:] == ["--home", str(home.root), "mcp", "--agent", "me", "--read-only"]
    assert server["env"]["DJINN_CACHE"] == 'C:\\models "x"'


def test_a_name_that_no_settings_can_hold(tmp_path: Path) -> None:
    home, _ = init(tmp_path / "\udce9")
    with pytest.raises(Unavailable, match="not UTF-8"):
        client_config("claude", home, "me")
