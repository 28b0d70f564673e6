"""djinn serve, and djinn key add, list, revoke."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from djinn_memory.cli import candidates, output
from djinn_memory.cli.command import Call, NoRequest, command
from djinn_memory.cli.output import clean, say, say_verbatim, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.home.server import PORT

if TYPE_CHECKING:
    from djinn_memory.djinn import Djinn
    from djinn_memory.home.home import Home
    from djinn_memory.operations.caller import Calls
    from djinn_memory.operations.keys import AddedKey, KeyEntry, KeyList


class ServeRequest(Struct, frozen=True):
    """Where to serve a home, and what may be done."""

    port: Annotated[int, Meta(ge=0, le=65535, description="The port. 0 chooses a free port.")] = (
        PORT
    )
    host: Annotated[
        str,
        Meta(
            description="The address to listen on. Another one than this machine's needs a key, "
            "and a server in front that adds TLS."
        ),
    ] = "127.0.0.1"
    read_only: Annotated[bool, Meta(description="Refuse operations that write.")] = False
    open: Annotated[bool, Meta(description="Log the browser of this desktop in.")] = False


def _run(call: Call) -> None:
    run_server(call.djinn.home, call.request, nullcontext())


def run_server(home: Home, request: ServeRequest, beside: AbstractContextManager[None]) -> None:
    """Serve a home until a signal, also to the commands of this user. `beside` runs meanwhile."""
    from djinn_memory.cli.warm.listener import listening
    from djinn_memory.web.serve import LOOPBACK, serve

    def ready(url: str, login: str) -> None:
        talk(f"Serving {clean(str(home.root))} at {url} (Ctrl-C stops it).")
        talk("Programs send a key: `djinn key add NAME` makes one.")
        if request.host not in LOOPBACK:
            talk("Others can read what is sent. Put a server with TLS in front: docs/serve.md.")
        talk(f"Log a browser in, once: {login}")
        if request.open:
            import webbrowser

            webbrowser.open(login)

    @contextmanager
    def others(calls: Calls[Djinn]) -> Iterator[None]:
        # A command may write, which a read-only server would refuse.
        with nullcontext() if request.read_only else listening(home, calls), beside:
            yield

    serve(home, request.host, request.port, ready, others, read_only=request.read_only)


@command("serve", request=ServeRequest, prints=NoRequest, run=_run)
def _serve(call: Call, answer: Struct) -> None:
    """Serve this memory over HTTP to programs, to MCP clients and to a browser.

    It listens on this machine only, unless you pass --host. Every operation is a route:
    `POST /v1/search` with the fields of the request as JSON. The address `/docs` lists them, and
    `/mcp` is for MCP clients.

    Examples:
        djinn serve
        djinn serve --port 0 --read-only
        djinn serve --open
    """


@command("keys.add")
def _add(call: Call, answer: AddedKey) -> None:
    """Add a key for a program that calls `djinn serve`.

    The key is printed once and stored nowhere. A program sends it as `Authorization: Bearer KEY`
    or as `X-API-Key: KEY`.

    Examples:
        djinn key add laptop
        djinn key add notes-app --scope write --agent finn --expires 90d
        djinn key add work --vault shared --domain work
    """
    say_verbatim(answer.secret)
    talk("This is the only time that the key is shown.")


@command("keys.list")
def _list(call: Call, answer: KeyList) -> None:
    """List the keys, without their secrets.

    Examples:
        djinn key list
        djinn key list --json
    """
    rows = [
        (
            key.name, key.scope, ", ".join(key.agents) or "all agents", _limits(key),
            f"expired {key.expires}" if key.expired else key.expires or "no end",
        )
        for key in answer.keys
    ]  # fmt: skip
    output.columns(rows, head="NAME SCOPE AGENTS OPENS EXPIRES", empty="There are no keys.")


def _limits(key: KeyEntry) -> str:
    limits = [f"vault {name}" for name in key.vaults] + [f"domain {name}" for name in key.domains]
    return ", ".join(limits) or "all"


@command("keys.revoke", fields={"name": Field(complete=candidates.programs)})
def _revoke(call: Call, answer: KeyEntry) -> None:
    """Revoke a key. A running server refuses its next request.

    Examples:
        djinn key revoke laptop
    """
    say(f"revoked  {clean(answer.name)}")
