"""`GET /events`: tells clients that something changed, as server-sent events.

An event says what kind of thing changed and nothing of its content: a client asks for that with its
key.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any

from sse_starlette.sse import EventSourceResponse
from starlette.requests import Request
from starlette.responses import Response

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.operations.caller import Caller, Calls
from djinn_memory.system.files import file_version
from djinn_memory.web.api.guard import Visitors
from djinn_memory.web.api.problems import Denied, encoded
from djinn_memory.web.api.resources import Resource

SECONDS = 1.0
"""Seconds between two looks at the index."""

PING_SECONDS = 15
"""Seconds after which a comment keeps a quiet connection open."""

SEND_SECONDS = 30.0
"""Maximum seconds that a listener may take to receive an event."""

MOST_LISTENERS = 100
MOST_WAITING = 50
"""Maximum events that wait for a listener. One that falls behind is disconnected, and reconnects.
"""


class Events:
    """Passes events to listeners."""

    def __init__(self, home: Home, visitors: Visitors) -> None:
        self._home = home
        self._visitors = visitors
        self._listeners: dict[asyncio.Queue[dict[str, Any]], Caller] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def publish(
        self,
        kind: str,
        data: Mapping[str, Any],
        key: str | None = None,
        agent: str | None = None,
    ) -> None:
        """Tell listeners of an event, from any thread.

        With the `key` of a caller only persons and programs with that key hear it, and with `agent`
        only persons and the programs whose key opens the memory of the agent.
        """
        if self._loop:
            # The loop is closed while the last calls end.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._pass, kind, data, key, agent)

    def _pass(self, kind: str, data: Mapping[str, Any], key: str | None, agent: str | None) -> None:
        event = {"event": kind, "data": encoded(data).decode()}
        for queue, caller in [*self._listeners.items()]:
            agents = caller.key.agents if caller.key else ()
            is_meant = key in (None, caller.key_digest) and (not agent or agent in agents)
            if is_meant or caller.rights == "person":
                try:
                    queue.put_nowait(event)
                except asyncio.QueueFull:
                    del self._listeners[queue]

    @asynccontextmanager
    async def following(self, calls: Calls[Djinn]) -> AsyncIterator[None]:
        """Tell in the meantime of changes of the index, and of what calls announce."""
        calls.announce = lambda kind, data, agent: self.publish(kind, data, agent=agent)
        task = asyncio.create_task(self._follow())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _follow(self) -> None:
        index = self._home.index_path
        files = index, Path(f"{index}-wal")
        before = [file_version(file) for file in files]
        while True:
            await asyncio.sleep(SECONDS)
            now = [file_version(file) for file in files]
            if now != before:
                self.publish("index", {})
            before = now

    def routes(self) -> list[Resource]:
        """The route of the events."""

        async def listen(request: Request) -> Response:
            if len(self._listeners) >= MOST_LISTENERS:
                raise Denied(
                    HTTPStatus.SERVICE_UNAVAILABLE,
                    f"{MOST_LISTENERS} clients listen already",
                    headers={"Retry-After": "60"},
                )
            events = self.heard(request)
            return EventSourceResponse(events, ping=PING_SECONDS, send_timeout=SEND_SECONDS)

        told = "Listen for changes of the index, bulletins, and the progress of your own writes."
        return [Resource("GET", "/events", listen, told, answer="text/event-stream")]

    async def heard(self, request: Request) -> AsyncIterator[dict[str, Any]]:
        """The events for the client of a request, until its key is revoked or it falls behind."""
        self._loop = asyncio.get_running_loop()
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue(MOST_WAITING)
        self._listeners[queue] = request.scope["caller"]
        try:
            while queue in self._listeners or not queue.empty():
                event = await queue.get()
                # The key may be revoked by now.
                self._visitors.caller(request)
                yield event
        except Denied:
            return
        finally:
            self._listeners.pop(queue, None)
