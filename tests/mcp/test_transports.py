"""The server as a process of its own, with the official client at the other end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from mcp_types import Implementation

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.mcp.server import server
from djinn_memory.mcp.tools import TOOLS
from djinn_memory.operations.caller import Caller, Calls
from tests.conftest import Run
from tests.mcp.clients import (
    call,
    command,
    environment,
    http_server,
    over_http,
    over_stdio,
    refused,
)
from tests.processes.commands import HANG

INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}  # fmt: skip
PING = {"jsonrpc": "2.0", "id": 2, "method": "ping"}


async def everything(client: Client) -> None:
    """Each tool, resource and prompt once, and what goes wrong with them."""
    tools = {one.name for one in (await client.list_tools()).tools}
    assert tools == {one.name for one in TOOLS}
    used = set()

    async def use(tool: str, **arguments: Any) -> Any:
        used.add(tool)
        return await call(client, tool, **arguments)

    await use("wake", task="the lamp", budget=500)
    assert (await use("search", query="lamp"))["passages"]
    found = await use("recall", query="lamp")
    assert found["memories"]
    assert await use("context", task="oil the lamp")
    assert (await use("rate", useful=[1]))["judged"]
    assert (await use("read", action="score", limit=5))["memories"]
    assert await use("gap", action="list")
    assert await use("fact", action="set", category="lamp", key="colour", value="white")
    assert (await use("context", action="build_summary"))["done"] == "created"
    assert (await use("read", name="Keeper"))["text"]
    assert (await use("neighbours", action="links", name="Keeper"))["links"]
    assert (await use("read", action="list"))["memories"]
    assert (await use("remember", type="lesson", title="Oil it weekly"))["id"]
    assert (await use("memory", action="delete", name="Oil it weekly"))["moved_to"]
    assert (await use("ingest", paths=[__file__]))["files"]
    assert (await use("episode", action="record_interaction", message="Lit?", response="Yes."))[
        "id"
    ]
    assert (await use("entity", action="list"))["entities"]
    await use("checkpoint", text="oiling")
    await use("working", action="set", key="a", value="b")
    await use("sleep", summary="oiled", next=["rest"])
    assert used == tools
    assert "no note" in await refused(client, "read", name="Hidden")
    with pytest.raises(MCPError, match="no tool"):
        await client.call_tool("nope", {})
    [first, *_] = (await client.list_resources()).resources
    assert (await client.read_resource(first.uri)).contents
    with pytest.raises(MCPError, match="no resource"):
        await client.read_resource("djinn://grace/hidden.md")
    assert (await client.list_resource_templates()).resource_templates
    for prompt in (await client.list_prompts()).prompts:
        assert (await client.get_prompt(prompt.name)).messages
    with pytest.raises(MCPError, match="no prompt"):
        await client.get_prompt("nope")


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_everything_over_stdio(pair: Home, mode: str) -> None:
    """By the handshake of all clients of today, and by that of the newest protocol."""

    async def run() -> None:
        async with over_stdio(pair, "--agent", "finn", mode=mode) as client:
            assert "wake" in (client.instructions or "")
            await everything(client)

    anyio.run(run)


def test_everything_over_http(pair: Home) -> None:
    async def run(address: str, key: str) -> None:
        async with over_http(address, key) as client:
            await everything(client)
        async with over_http(address, key, "legacy") as client:
            assert (await call(client, "search", query="lamp"))["passages"]
            assert "no note" in await refused(client, "read", name="Hidden")

    with http_server(pair) as (_, address, key):
        anyio.run(run, address, key)


def test_two_clients_of_one_server_are_in_two_sessions(pair: Home) -> None:
    async def run(address: str, key: str) -> None:
        async with (
            over_http(address, key, "legacy") as one,
            over_http(address, key, "legacy") as two,
        ):
            first, second = [(await call(client, "wake"))["session"] for client in (one, two)]
            assert first != second
            for client, value in ((one, "mine"), (two, "theirs")):
                await call(client, "working", action="set", key="k", value=value)
            await call(two, "sleep", summary="done")
            [held] = (await call(one, "working", action="get", key="k"))["values"]
            assert (held["value"], held["session"]) == ("mine", first)

    with http_server(pair) as (_, address, key):
        anyio.run(run, address, key)


def test_the_client_that_called_least_recently_is_forgotten(
    pair: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that runs for weeks must not keep every client that it ever had."""
    monkeypatch.setattr("djinn_memory.mcp.server.MOST_CALLERS", 2)
    caller = Caller("finn")
    calls = Calls(pair, Djinn, str)
    memory = server(calls, caller)

    async def session(name: str, *, wakes: bool = False) -> Any:
        async with Client(memory, client_info=Implementation(name=name, version="1")) as client:
            if wakes:
                await call(client, "wake")
            [held] = (await call(client, "working", action="set", key="k", value=name))["values"]
            return held["session"]

    async def run() -> None:
        first, second = await session("one", wakes=True), await session("two", wakes=True)
        assert first != second
        assert await session("one") == first
        await session("three", wakes=True)
        assert await session("one") == first
        assert await session("two") != second

    try:
        anyio.run(run)
    finally:
        calls.close()


@pytest.mark.soak
def test_calls_at_once(pair: Home) -> None:
    """They are done one by one, and the protocol goes on meanwhile."""

    async def run() -> None:
        async with over_stdio(pair, mode="legacy") as client:
            done: list[str] = []

            async def one(number: int) -> None:
                found = await call(client, "search", query=f"lamp {number}")
                assert found["passages"]
                done.append("search")

            # More than are answered while the first answer waits to be read.
            async with anyio.create_task_group() as group:
                for number in range(50):
                    group.start_soon(one, number)
                await anyio.sleep(0)
                await client.send_ping()
                done.append("ping")
            assert done.index("ping") < 50

    anyio.run(run)


@pytest.mark.soak
def test_a_call_that_was_cancelled_is_not_begun(pair: Home) -> None:
    async def run() -> None:
        async with over_stdio(pair, mode="legacy") as client:
            async with anyio.create_task_group() as group:

                async def one(number: int) -> None:
                    await client.call_tool("remember", _lesson(number))
                    # The others are cancelled when the first is done, however fast that is.
                    group.cancel_scope.cancel()

                for number in range(30):
                    group.start_soon(one, number)
            await client.send_ping()
            listed = await call(client, "read", action="list", types=["lesson"])
            assert len(listed["memories"]) < 30
            # What had begun is whole.
            for one in listed["memories"]:
                assert "ashes" in (await call(client, "read", name=one["id"]))["text"]

    anyio.run(run)


def _lesson(number: int) -> dict[str, Any]:
    return {"type": "lesson", "title": f"No {number}", "text": "ashes", "force": True}


def test_stdout_carries_nothing_else(pair: Home) -> None:
    """Whatever the client sends, each line of stdout is a message; it ends with its stdin."""
    sent = [
        json.dumps(INITIALIZE),
        '{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        "no json",
        '"\\ud800"',
        "[]",
        '{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "search"}}',
        '{"jsonrpc": "2.0", "id": 4, "method": "no/such"}',
        '{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": 7}}',
        json.dumps(PING),
    ]
    server = subprocess.Popen(
        command(pair), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env={**os.environ, **environment()},
    )  # fmt: skip
    assert server.stdin and server.stdout
    got: dict[Any, Any] = {}
    try:
        server.stdin.write("\n".join(sent) + "\n")
        server.stdin.flush()
        while not {1, 2, 3, 4, 5} <= got.keys():
            message = json.loads(server.stdout.readline())
            assert message["jsonrpc"] == "2.0"
            got[message.get("id")] = message
        rest, _ = server.communicate(timeout=HANG)
    finally:
        server.kill()
    assert not rest
    assert server.returncode == 0
    assert got[3]["result"]["isError"]
    assert {got[4]["error"]["code"], got[5]["error"]["code"]} == {-32601, -32602}


@pytest.mark.soak
def test_a_client_that_goes_in_mid_call(pair: Home) -> None:
    """What it asked for last is whole, and the server ends in silence."""
    asks = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call",
         "params": {"name": "remember", "arguments": _lesson(number)}}
        for number in range(10, 13)
    ]  # fmt: skip
    server = subprocess.Popen(
        command(pair), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env={**os.environ, **environment()},
    )  # fmt: skip
    assert server.stdin and server.stdout and server.stderr
    server.stdin.write(json.dumps(INITIALIZE) + "\n")
    server.stdin.flush()
    server.stdout.readline()
    server.stdin.write("".join(json.dumps(ask) + "\n" for ask in asks))
    server.stdin.flush()
    server.stdout.close()
    server.stdin.close()
    assert (server.wait(timeout=HANG), server.stderr.read()) == (0, "")
    server.stderr.close()
    for path in (pair.root / "vaults" / "finn" / "lessons").glob("*.md"):
        assert "ashes" in path.read_text()


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("number", "http"),
    [
        (signal.SIGINT, False),
        (signal.SIGTERM, True),
        pytest.param(signal.SIGTERM, False, marks=pytest.mark.soak),
        pytest.param(signal.SIGINT, True, marks=pytest.mark.soak),
    ],
)
def test_a_signal_ends_it_at_once(pair: Home, number: signal.Signals, http: bool) -> None:
    if http:
        with http_server(pair) as (running, _, _):
            running.send_signal(number)
            assert running.wait(timeout=HANG) == 0
            assert running.stderr and running.stderr.read() == ""
        return
    server = subprocess.Popen(
        command(pair), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, env={**os.environ, **environment()},
    )  # fmt: skip
    assert server.stdin and server.stdout
    server.stdin.write(json.dumps(INITIALIZE) + "\n")
    server.stdin.flush()
    assert server.stdout.readline()
    server.send_signal(number)
    assert server.wait(timeout=HANG) == 0
    server.communicate()


def test_http_lets_nobody_else_in(pair: Home) -> None:
    """The address of MCP is behind the same guard as the others."""
    with http_server(pair) as (_, address, key), httpx2.Client(timeout=HANG) as http:

        def post(secret: str = key, **headers: str) -> int:
            sent = {"Accept": "application/json, text/event-stream", "X-API-Key": secret, **headers}
            return int(http.post(address, json=INITIALIZE, headers=sent).status_code)

        assert post() == 200
        assert post("wrong") == 401
        assert post(Host="evil.example") == 421
        port = int(address.split(":")[2].split("/")[0])
        # Only this machine's own interface listens.
        for name in {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None)}:
            if not str(name).startswith("127."):
                with pytest.raises(OSError), socket.create_connection((name, port), 2):
                    pass


@pytest.mark.soak
def test_a_client_of_an_earlier_version_goes_on(pair: Home) -> None:
    """The token of `djinn mcp --http` is a key from the first start on."""
    token = "a-token-of-an-earlier-version"
    (pair.state / "mcp-token").write_text(f"{token}\n")

    async def run(address: str) -> None:
        async with over_http(address, token) as client:
            assert (await call(client, "search", query="lamp"))["passages"]

    with http_server(pair) as (_, address, _):
        anyio.run(run, address)
        assert not (pair.state / "mcp-token").exists()


@pytest.mark.parametrize(
    ("options", "said", "code"),
    [
        (["--agent", "nobody"], "no agent 'nobody'; known: finn, grace", 4),
        (["--http"], "no option --http; it is now `djinn serve`", 2),
    ],
)
def test_what_keeps_it_from_starting(
    pair: Home, run: Run, options: list[str], said: str, code: int
) -> None:
    done = run("mcp", *options, home=pair.root)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr


def test_a_port_that_is_taken(pair: Home, run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("serve", "--port", port, home=pair.root)
    assert (done.returncode, done.stdout) == (5, "")
    assert f"--port {port}: Address already in use" in done.stderr
