"""djinn mcp."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from djinn_memory.cli.command import Call, NoRequest, command
from djinn_memory.cli.output import say_verbatim, talk
from djinn_memory.errors import Unavailable, UsageError
from djinn_memory.mcp.client_config import NAME, ClientName, client_config
from djinn_memory.search.narrowing import AgentName

if TYPE_CHECKING:
    from djinn_memory.home.home import Home


class ServeAgents(Struct, frozen=True):
    """How to serve the memory to agents."""

    agent: AgentName = None
    read_only: Annotated[bool, Meta(description="Leave out the tools that write.")] = False
    http: Annotated[
        bool,
        Meta(
            description="Serve over HTTP on 127.0.0.1. Clients need the token in DJINN_MCP_TOKEN, "
            "else the token in the file `mcp-token` of the state folder."
        ),
    ] = False
    port: Annotated[
        int, Meta(ge=0, le=65535, description="The port for --http. 0 chooses a free port.")
    ] = 8765
    print_config: Annotated[
        ClientName | None,
        Meta(
            description="Print the settings for a client, and on stderr where to put them. "
            "Start no server."
        ),
    ] = None


def _serve(call: Call) -> None:
    djinn, request = call.djinn, call.request
    if request.print_config:
        _print_config(djinn.home, request)
        return
    if find_spec("mcp") is None:
        raise Unavailable("the Python package mcp is missing; reinstall djinn-memory")
    _end_by_signal()
    from djinn_memory.operations.caller import Caller

    caller = Caller(djinn.home.agent(request.agent), read_only=request.read_only)
    if request.http:
        from djinn_memory.home.config import variable
        from djinn_memory.mcp import http

        http.serve(djinn.home, caller, request.port, variable("DJINN_MCP_TOKEN"))
        return
    if sys.stdin.isatty():
        talk("Normally started by an MCP client. Press Ctrl-C to stop.")
    from djinn_memory.mcp import stdio

    stdio.serve(djinn.home, caller)


def _print_config(home: Home, request: ServeAgents) -> None:
    if request.http or request.print_config is None:
        raise UsageError(
            "cannot be combined with --http, because the client starts the server",
            argument="print_config",
        )
    agent = home.agent(request.agent)
    block = client_config(request.print_config, home, agent, read_only=request.read_only)
    say_verbatim(block.text.removesuffix("\n"))
    talk(f"{block.place} If the file has settings already, add the entry `{NAME}` to them.")


@command("mcp", request=ServeAgents, prints=NoRequest, run=_serve)
def mcp(call: Call, answer: Struct) -> None:
    """Serve this memory to agents over the Model Context Protocol.

    An MCP client starts this command and talks to it over stdin and stdout. The agent is fixed
    here: the client sees that agent's own vault and the shared vaults, whatever it requests.

    Examples:
        djinn mcp
        djinn mcp --agent finn --read-only
        djinn mcp --print-config claude > .mcp.json
        DJINN_MCP_TOKEN=... djinn mcp --http --port 8765
    """


def _end_by_signal() -> None:
    """End at once and without a message on Ctrl-C and SIGTERM.

    The writes of a call are complete.
    """
    import signal

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))
