"""`GET /metrics`: numbers about requests and the index, in the text format of Prometheus."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from djinn_memory.djinn import Djinn
from djinn_memory.operations import OPERATIONS
from djinn_memory.operations.caller import Caller
from djinn_memory.upkeep.status import HomeStatus
from djinn_memory.web.api.operations import Runner
from djinn_memory.web.api.resources import Resource

PATH = "/metrics"

NO_ROUTE = "none"
"""The route of requests that reach none, such as those without a key."""


class Meter:
    """Counts the requests of an application by their routes. Paths would be endless labels."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "djinn_http_requests", "Requests.", ("route", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "djinn_http_request_seconds",
            "Seconds until the answer to a request begins.",
            ("route",),
            registry=self._registry,
        )
        self._names: dict[Any, str] = {}

    def around(self, app: ASGIApp, routes: list[BaseRoute]) -> ASGIApp:
        """ASGI middleware around an application with these routes."""
        self._names = {each.endpoint: each.path for each in routes if isinstance(each, Route)}

        async def metered(scope: Scope, receive: Receive, send: Send) -> None:
            began = time.monotonic()

            async def sending(message: Message) -> None:
                if message["type"] == "http.response.start":
                    route = self._route(scope)
                    self._requests.labels(route, str(message["status"])).inc()
                    self._seconds.labels(route).observe(time.monotonic() - began)
                await send(message)

            await app(scope, receive, sending)

        return metered

    def _route(self, scope: Scope) -> str:
        name = scope.get("path_params", {}).get("operation", "").replace("/", ".")
        if name in OPERATIONS:
            return f"/v1/{name}"
        return self._names.get(scope.get("endpoint"), NO_ROUTE)

    def routes(self, runner: Runner) -> list[Resource]:
        """The route of the numbers."""

        async def show(request: Request) -> Response:
            def work(djinn: Djinn, caller: Caller) -> HomeStatus:
                return djinn.status(agent=None if caller.rights == "person" else caller.agent)

            status = await runner.do(request.scope["caller"], "status", {}, work)
            text = generate_latest(self._registry) + generate_latest(_gauges(status))
            return Response(text, media_type=CONTENT_TYPE_LATEST)

        told = "Show numbers of the server and of the index, for Prometheus."
        return [Resource("GET", PATH, show, told, answer="text/plain")]


def _gauges(status: HomeStatus) -> CollectorRegistry:
    """The state of the index, as far as the caller may know it."""
    registry = CollectorRegistry()
    for name, what, value in _state(status):
        if value is not None:
            Gauge(f"djinn_index_{name}", what, registry=registry).set(value)
    return registry


def _state(status: HomeStatus) -> Iterator[tuple[str, str, int | None]]:
    yield "stale_notes", "Notes that changed since they were indexed.", status.stale
    yield "bytes", "Size of the index.", status.index_bytes
    yield "cache_bytes", "Size of the cached vectors.", status.cache_bytes
    if stats := status.stats:
        yield "notes", "Notes, one for each file.", stats.notes
        yield "memories", "Memories.", stats.memories
        yield "pending_windows", "Windows that have no vector yet.", stats.pending
        yield "broken_notes", "Notes with a problem.", stats.broken
