"""`djinn serve`: one process for a home, on a port of this machine and on a Unix socket."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from uvicorn.protocols.http.h11_impl import H11Protocol

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Refused, Remedy, Unavailable
from djinn_memory.home.home import Home
from djinn_memory.home.keys import read_keys
from djinn_memory.home.server import claim
from djinn_memory.mcp.server import calls_on, log, server
from djinn_memory.operations.caller import Caller, Calls
from djinn_memory.operations.keys import adopt_token
from djinn_memory.operations.wording import CommandWording
from djinn_memory.runtime import utc_now
from djinn_memory.web.api.app import (
    application,
    description_routes,
    health_routes,
    operation_routes,
)
from djinn_memory.web.api.documents import memories, rag
from djinn_memory.web.api.documents.pages import linking_routes
from djinn_memory.web.api.events import Events
from djinn_memory.web.api.graph import graph_routes
from djinn_memory.web.api.guard import Guard, Visitors
from djinn_memory.web.api.idempotency import Begun
from djinn_memory.web.api.metrics import Meter
from djinn_memory.web.api.notes import note_routes
from djinn_memory.web.api.operations import Runner
from djinn_memory.web.api.scoring import scoring_routes
from djinn_memory.web.pages import documents
from djinn_memory.web.pages.pages import page_routes
from djinn_memory.web.pages.site import Site

LOOPBACK = ("127.0.0.1", "::1", "localhost")

SOCKET = "api.sock"
"""The name of the Unix socket in the state folder."""

END_SECONDS = 20
"""Seconds that running requests have to end after SIGTERM."""

IDLE_SECONDS = 75
"""Seconds after which a connection is closed on which no new request has arrived whole."""

MOST_FILES = 65_536
"""The number of open files that the process asks for. Each connection is one."""


def serve(
    home: Home,
    host: str,
    port: int,
    ready: Callable[[str, str], None],
    beside: Callable[[Calls[Djinn]], AbstractContextManager[None]],
    *,
    read_only: bool = False,
) -> None:
    """Serve a home until SIGINT or SIGTERM. Running requests end first.

    `ready` is called when clients can connect, with the address of the server and the address that
    logs a browser in. `beside` serves others by the same queue of calls. Raises `Busy` if another
    process serves the home, `Refused` for a host that others can reach without a key, and
    `Unavailable` for a used port.
    """
    adopt_token(home)
    if host not in LOOPBACK and not read_keys(home.keys_path):
        raise Refused(
            f"{host} can be reached by other machines, and there is no key",
            Remedy("keys.add", {"name": None}, "add one"),
        )
    _allow_connections()
    with claim(home) as announce:
        begun = Begun(home.state / "requests")
        listener = _listen(host, port)
        port = listener.getsockname()[1]
        url = f"http://{'localhost' if host == '::1' else host}:{port}/"
        local = _local_socket(home)
        caller = Caller(home.agent(None), client="http", rights="person", read_only=read_only)
        visitors = Visitors(home, caller, utc_now)
        calls = calls_on(home, caller)
        names = {*LOOPBACK, "[::1]", host} - {"0.0.0.0", "::"}
        hosts = {f"{name}:{port}".lower() for name in names} | {*home.config.server.hosts}
        events, meter = Events(home, visitors), Meter()
        runner = Runner(calls, events.publish)
        site = Site(Runner(calls, events.publish, CommandWording()))
        uploads = home.state / "uploads"
        # A server that was killed may have left some.
        shutil.rmtree(uploads, ignore_errors=True)
        # The guard has checked the host and the origin already.
        unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        memory = server(calls, caller)
        mcp = memory.streamable_http_app(json_response=True, transport_security=unchecked)

        @asynccontextmanager
        async def running() -> AsyncIterator[None]:
            announce(url)
            ready(url, f"{url}login?token={visitors.new_login()}")
            async with memory.session_manager.run(), events.following(calls):
                yield

        resources = [
            *events.routes(),
            *meter.routes(runner),
            *memories.memory_routes(runner, uploads),
            *rag.rag_routes(runner, uploads),
            *linking_routes(runner),
            *note_routes(runner),
            *scoring_routes(runner),
            *graph_routes(runner),
        ]
        routes = [
            *health_routes(),
            *page_routes(site, visitors, uploads),
            *description_routes(resources),
            *mcp.routes,
            *resources,
            *operation_routes(runner),
        ]
        app = application(routes, home.config.server.origins, running)
        app.state.begun = begun
        config = uvicorn.Config(
            meter.around(
                Guard(app, visitors, hosts, (memories.UPLOAD, rag.UPLOAD, documents.PATH)), routes
            ),
            http=_Connection,
            ws="none",
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=END_SECONDS,
        )
        try:
            with beside(calls):
                _Http(config).run([each for each in (listener, local) if each])
        finally:
            calls.close()
            if local:
                with suppress(OSError):
                    (home.state / SOCKET).unlink()


class _Connection(H11Protocol):
    """Closes a connection on which a request does not arrive, or too slowly."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.loop.call_later(IDLE_SECONDS, self._close_if_idle, self.scope)

    def _close_if_idle(self, before: object) -> None:
        """Close the connection if it has had no request since `before`."""
        if self.scope is before and (self.cycle is None or self.cycle.response_complete):
            self.timeout_keep_alive_handler()
        elif not self.transport.is_closing():
            self.loop.call_later(IDLE_SECONDS, self._close_if_idle, self.scope)


class _Http(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End by a signal as usual, but without sending it to the process once more."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.handle_exit)
        yield


def _allow_connections() -> None:
    """Raise the limit of open files. Systems begin with some hundreds, and allow many more."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, MOST_FILES)), hard))


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        # It listens before the address is printed, so that its reader can connect at once.
        listener = socket.create_server((host, port), family=family, backlog=2048)
        # An answer has two parts. Otherwise the second one waits up to 40 ms for the client's word
        # that it has the first. Asyncio does this only for sockets that it made.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except (OSError, OverflowError) as error:
        why = os.strerror(getattr(error, "errno", None) or 0)
        text = f"{port}: {why}; choose another, or 0 for any"
        raise Unavailable(text, argument="port") from None


def _local_socket(home: Home) -> socket.socket | None:
    """The Unix socket of a home, for its user alone; None where it cannot be made."""
    path = home.state / SOCKET
    if sys.platform == "win32":
        return None
    made = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        with suppress(FileNotFoundError):
            path.unlink()
        made.bind(str(path))
        made.listen(2048)
    except OSError as error:
        made.close()
        log(f"no Unix socket: {path}: {error.strerror or error}")
        return None
    finally:
        os.umask(before)
    return made
