"""Serves the client that started the server, over stdin and stdout."""

from __future__ import annotations

import anyio
from mcp.server.stdio import stdio_server

from djinn_memory.home.home import Home
from djinn_memory.mcp.server import calls_on, server
from djinn_memory.operations.caller import Caller


def serve(home: Home, caller: Caller) -> None:
    """Serve until the client closes stdin or exits."""
    calls = calls_on(home, caller)

    async def run() -> None:
        memory = server(calls, caller)
        # From here on stdout is the protocol's. Anything else written to it goes to stderr.
        async with stdio_server() as (reader, writer):
            await memory.run(reader, writer, memory.create_initialization_options())

    try:
        anyio.run(run)
    except* BrokenPipeError:
        # Nobody reads the answer any more. The running call still ends properly.
        pass
    finally:
        calls.close()
