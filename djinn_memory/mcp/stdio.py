"""Serves the client that started the server, over stdin and stdout."""

from __future__ import annotations

import anyio
from mcp.server.stdio import stdio_server

from djinn_memory.mcp.calls import Calls, log
from djinn_memory.mcp.context import ClientContext
from djinn_memory.mcp.server import server, warm


def serve(context: ClientContext) -> None:
    """Serve until the client closes stdin or exits."""
    calls = Calls(context, log)
    calls.begin(warm)

    async def run() -> None:
        memory = server(context, calls)
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
