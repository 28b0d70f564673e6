"""The configuration block with which a client starts this server, in each client's format."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from djinn_memory.errors import Unavailable
from djinn_memory.home.config import own_variables
from djinn_memory.home.home import Home

ClientName = Literal[
    "claude", "claude-desktop", "codex", "cursor", "gemini", "opencode", "vscode", "windsurf", "zed"
]  # fmt: skip

NAME = "djinn"
"""The name of the server in the settings of a client."""


class ClientConfig(Struct, frozen=True):
    """A block for the settings of a client."""

    text: str
    """The block. It is a complete file if the client has no settings yet."""
    place: str
    """A sentence about the place of the block."""


_Writer = Callable[[Sequence[str], Mapping[str, str]], str]
"""Writes the arguments and the environment variables of the server in a format."""


def client_config(
    client: ClientName, home: Home, agent: str, *, read_only: bool = False
) -> ClientConfig:
    """The block for a client, with absolute paths.

    It includes djinn's environment variables. Raises `Unavailable` for a path that such a file
    cannot contain.
    """
    args = ["-P", "-m", "djinn_memory", "--home", str(home.root), "mcp", "--agent", agent]
    args += ["--read-only"] * read_only
    variables = own_variables()
    write, place = _FORMATS[client]
    text = write(args, variables)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Unavailable(
            f"{home.root}: the path is not UTF-8, which client settings require; rename the folder"
        ) from None
    return ClientConfig(text, place)


def _json(key: str, *, typed: bool) -> _Writer:
    def write(args: Sequence[str], env: Mapping[str, str]) -> str:
        entry: dict[str, Any] = {"type": "stdio"} if typed else {}
        entry |= {"command": sys.executable, "args": args, **({"env": env} if env else {})}
        return json.dumps({key: {NAME: entry}}, indent=2, ensure_ascii=False) + "\n"

    return write


def _toml(args: Sequence[str], env: Mapping[str, str]) -> str:
    lines = [f"[mcp_servers.{NAME}]", f"command = {_quoted(sys.executable)}"]
    lines.append(f"args = [{', '.join(map(_quoted, args))}]")
    if env:
        lines += ["", f"[mcp_servers.{NAME}.env]"]
        lines += [f"{key} = {_quoted(text)}" for key, text in env.items()]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A TOML string. It equals a JSON string except for one character that JSON does not escape."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _opencode(args: Sequence[str], env: Mapping[str, str]) -> str:
    entry: dict[str, Any] = {"type": "local", "command": [sys.executable, *args], "enabled": True}
    entry |= {"environment": env} if env else {}
    return json.dumps({"mcp": {NAME: entry}}, indent=2, ensure_ascii=False) + "\n"


_FORMATS: dict[ClientName, tuple[_Writer, str]] = {
    "claude": (
        _json("mcpServers", typed=True),
        "Claude Code reads `.mcp.json` in the folder of a project, and `mcpServers` in "
        "`~/.claude.json` for all projects.",
    ),
    "claude-desktop": (
        _json("mcpServers", typed=False),
        "Claude Desktop reads `claude_desktop_config.json`, in `~/Library/Application "
        "Support/Claude/` on macOS and in `%APPDATA%\\Claude\\` on Windows. Restart it afterwards.",
    ),
    "codex": (_toml, "Codex reads `~/.codex/config.toml`."),
    "cursor": (
        _json("mcpServers", typed=True),
        "Cursor reads `~/.cursor/mcp.json`, and `.cursor/mcp.json` in the folder of a project.",
    ),
    "gemini": (
        _json("mcpServers", typed=False),
        "Gemini CLI reads `~/.gemini/settings.json`, and `.gemini/settings.json` in the folder of "
        "a project.",
    ),
    "opencode": (
        _opencode,
        "OpenCode reads `~/.config/opencode/opencode.json`, and `opencode.json` in the folder of a "
        "project.",
    ),
    "vscode": (
        _json("servers", typed=True),
        "VS Code reads `.vscode/mcp.json` in the folder of a project, and the file that `MCP: Open "
        "User Configuration` opens.",
    ),
    "windsurf": (
        _json("mcpServers", typed=False),
        "Windsurf reads `~/.codeium/windsurf/mcp_config.json`. Press Refresh in its list of MCP "
        "servers afterwards.",
    ),
    "zed": (_json("context_servers", typed=False), "Zed reads `~/.config/zed/settings.json`."),
}
