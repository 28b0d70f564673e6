"""Serves the one client that started the server, over stdin and stdout."""

from __future__ import annotations

import anyio
from mcp.server.stdio import stdio_server

from djinn_memory.mcp.calls import Calls, talk
from djinn_memory.mcp.context import ClientContext
from djinn_memory.mcp.server import server, warm


def serve(context: ClientContext) -> None:
    """Serve until the client closes stdin, or is gone."""
    calls = Calls(context, talk)
    calls.begin(warm)

    async def run() -> None:
        made = server(context, calls)
        # From here on stdout is the protocol's: what else is written to it goes to stderr.
        async with stdio_server() as (reading, writing):
            await made.run(reading, writing, made.create_initialization_options())

    try:
        anyio.run(run)
    except* BrokenPipeError:
        # Nobody is there to read an answer; what was begun is ended all the same.
        pass
    finally:
        calls.close()
