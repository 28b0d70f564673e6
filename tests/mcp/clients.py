"""The official client, as tests use it: beside the server in one process, or over a transport."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, TypeVar

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, Implementation

from djinn_memory.djinn import Djinn
from djinn_memory.home.config import model_cache
from djinn_memory.home.home import Home
from djinn_memory.mcp.server import server
from djinn_memory.operations.caller import Caller, Calls
from tests.processes.commands import HANG

T = TypeVar("T")


def asked(
    home: Home,
    work: Callable[[Client], Awaitable[T]],
    *,
    agent: str = "finn",
    client_info: Implementation | None = None,
    read_only: bool = False,
) -> T:
    """What `work` gives with a client whose server is in this process."""
    said: list[str] = []

    async def run() -> T:
        caller = Caller(home.agent(agent), read_only=read_only)
        calls = Calls(home, partial(Djinn, resident=True, read_only=read_only), said.append)
        try:
            async with Client(server(calls, caller), client_info=client_info) as client:
                return await work(client)
        finally:
            calls.close()

    result = anyio.run(run)
    assert not said, said
    return result


def command(home: Home, *options: str) -> list[str]:
    """The server as a client starts it."""
    return [sys.executable, "-m", "djinn_memory", "--home", str(home.root), "mcp", *options]


def environment(**more: str) -> dict[str, str]:
    """What the server's process is to know."""
    names = ("DJINN_CONFIG_DIR", "DJINN_SESSIONS__EXTRACT", "PYTHONPATH")
    # The inspector refuses a variable that is empty.
    kept = {name: os.environ[name] for name in names if os.environ.get(name)}
    return {**kept, "DJINN_CACHE": str(model_cache()), **more}


def over_stdio(home: Home, *options: str, **more: Any) -> Client:
    """A client that starts the server by itself."""
    first, *rest = command(home, *options)
    return Client(StdioServerParameters(command=first, args=rest, env=environment()), **more)


@contextmanager
def http_server(home: Home, *options: str) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """A server over HTTP, its address for MCP, and a key for finn."""
    with Djinn(home) as djinn:
        key = djinn.keys.add("test", scope="write", agents=["finn"]).secret
    words = [sys.executable, "-m", "djinn_memory", "--home", str(home.root), "serve"]
    running = subprocess.Popen(
        [*words, "--port", "0", *options],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, **environment()},
    )  # fmt: skip
    try:
        assert running.stderr
        said = [running.stderr.readline() for _ in range(3)]
        address = re.search(r"http://\S+/", said[0])
        assert address, "".join(said) + running.stderr.read()
        yield running, f"{address[0]}mcp", key
    finally:
        if running.poll() is None:
            running.send_signal(signal.SIGTERM)
        running.communicate(timeout=HANG)


@asynccontextmanager
async def over_http(address: str, key: str, mode: str = "auto") -> AsyncIterator[Client]:
    """A client of a server over HTTP."""
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=HANG) as http,
        Client(streamable_http_client(address, http_client=http), mode=mode) as client,
    ):
        yield client


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    """The data of an answer; fails where the tool did."""
    done = await client.call_tool(tool, arguments)
    assert not done.is_error, text(done)
    assert text(done)
    return done.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """What a tool says that cannot do what it is asked."""
    done = await client.call_tool(tool, arguments)
    assert done.is_error, text(done)
    return text(done)


def text(done: CallToolResult) -> str:
    """The answer as a model reads it."""
    [content] = done.content
    return str(getattr(content, "text", ""))
