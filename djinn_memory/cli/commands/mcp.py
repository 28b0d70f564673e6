"""djinn mcp."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import Annotated

import typer

from djinn_memory.cli import options
from djinn_memory.cli.command import plain
from djinn_memory.cli.output import talk
from djinn_memory.errors import Unavailable

PORT = 8765


@plain(
    "Examples: `djinn mcp` · `djinn mcp --agent finn --read-only` · "
    "`DJINN_MCP_TOKEN=... djinn mcp --http --port 8765`"
)
def mcp(
    ctx: typer.Context,
    agent: options.Agent = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Let no tool write into the memory.")
    ] = False,
    http: Annotated[
        bool,
        typer.Option(
            "--http",
            help="Serve over HTTP on 127.0.0.1, for clients that know the token: that of "
            "DJINN_MCP_TOKEN, else the one in the file `mcp-token` of the state folder.",
        ),
    ] = False,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="For --http; 0 takes any that is free.")
    ] = PORT,
) -> None:
    """Serve this memory to agents over the Model Context Protocol.

    A client starts this by itself and talks to it over stdin and stdout. Whose memory it is, is
    fixed here: the client sees that agent's own vault and what is shared, whatever it asks.
    """
    djinn = options.open_djinn(ctx)
    if find_spec("mcp") is None:
        raise Unavailable("the package mcp is missing; install djinn-memory again")
    _end_by_signal()
    from djinn_memory.mcp.context import ClientContext

    context = ClientContext(djinn.home, agent, read_only=read_only)
    if http:
        from djinn_memory.home.config import secret
        from djinn_memory.mcp import http as over_http

        over_http.serve(context, port, secret("DJINN_MCP_TOKEN"))
        return
    if sys.stdin.isatty():
        talk("waiting for a client at stdin; it is a client's to start this, Ctrl-C ends it")
    from djinn_memory.mcp import stdio

    stdio.serve(context)


def _end_by_signal() -> None:
    """End at once, and quietly, on Ctrl-C and SIGTERM: what a call has written is whole."""
    import signal

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))
