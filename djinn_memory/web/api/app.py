"""The application of the HTTP server: its routes, and the layers around them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from http import HTTPStatus

from anyio import to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route

from djinn_memory import __version__
from djinn_memory.errors import DjinnError
from djinn_memory.operations import OPERATIONS
from djinn_memory.web.api import openapi
from djinn_memory.web.api.idempotency import Endpoint, once
from djinn_memory.web.api.operations import ALIASES, Alias, Runner, given_in, respond
from djinn_memory.web.api.problems import Denied, encoded, response_to
from djinn_memory.web.api.resources import Resource

GZIP_BYTES = 1000
"""Bytes of an answer below which compressing it saves nothing."""

GZIP_LEVEL = 1
"""No other request is answered meanwhile: 10 MB of JSON take 0.2 s, and 2.6 s with level 9, which
saves a quarter of the 1.2 MB that are left."""


def application(
    routes: Sequence[BaseRoute],
    origins: Sequence[str],
    running: Callable[[], AbstractAsyncContextManager[None]],
) -> Starlette:
    """An application with these routes. `running` surrounds the time in which it serves.

    Pages of `origins` may read its answers.
    """

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with running():
            yield

    layers = [Middleware(GZipMiddleware, minimum_size=GZIP_BYTES, compresslevel=GZIP_LEVEL)]
    if origins:
        every = ("*",)
        layers.insert(
            0,
            Middleware(
                CORSMiddleware, allow_origins=origins, allow_methods=every, allow_headers=every
            ),
        )
    handlers = {Denied: _failed, DjinnError: _failed, HTTPException: _not_routed}
    return Starlette(
        routes=routes, middleware=layers, exception_handlers=handlers, lifespan=lifespan
    )


def operation_routes(runner: Runner) -> list[BaseRoute]:
    """A route for each readable address, and the one that serves all operations."""
    routes = [
        Route(alias.path, once(_aliased(runner, alias)), methods=[alias.method])
        for alias in ALIASES
    ]

    async def named(request: Request) -> Response:
        name = request.path_params["operation"].replace("/", ".")
        verb = OPERATIONS.get(name)
        if verb is None:
            raise Denied(HTTPStatus.NOT_FOUND, f"no operation {name[:100]!r}; see /docs")
        if request.method != "POST" and (verb.writes or verb.logs):
            why = f"{name} writes, so send it by POST"
            raise Denied(HTTPStatus.METHOD_NOT_ALLOWED, why, headers={"Allow": "POST"})
        return await _answer(runner, request, name, {})

    return [*routes, Route("/v1/{operation:path}", once(named), methods=["GET", "POST"])]


def _aliased(runner: Runner, alias: Alias) -> Endpoint:
    async def answer(request: Request) -> Response:
        # A profile is the purpose of a recall.
        recalls = alias.operation == "search" and "profile" in request.query_params
        return await _answer(runner, request, "recall" if recalls else alias.operation, alias.names)

    return answer


def description_routes(resources: Sequence[Resource]) -> list[BaseRoute]:
    """The description of the API, for programs and for people: operations and these resources."""

    @cache
    def described() -> bytes:
        return encoded(openapi.description(resources))

    @cache
    def listed() -> str:
        return openapi.page(resources)

    async def document(request: Request) -> Response:
        return respond(request, await to_thread.run_sync(described))

    async def page(request: Request) -> Response:
        text = await to_thread.run_sync(listed)
        return HTMLResponse(text, headers={"Content-Security-Policy": openapi.POLICY})

    return [Route("/openapi.json", document), Route("/docs", page)]


async def _answer(
    runner: Runner, request: Request, name: str, names: Mapping[str, str]
) -> Response:
    given = await given_in(request, OPERATIONS[name], names)
    return respond(request, await runner.answer(request.scope["caller"], name, given))


def health_routes() -> list[BaseRoute]:
    """The route that needs no key."""

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok", "version": __version__})

    return [Route("/healthz", health)]


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, Denied | DjinnError)
    return response_to(error)


async def _not_routed(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, Denied):
        return response_to(error.__cause__)
    status = HTTPStatus(error.status_code)
    why = error.detail
    if status == HTTPStatus.NOT_FOUND:
        why = f"nothing is at {request.url.path[:100]}; see /docs"
    return response_to(Denied(status, why, headers=error.headers))
