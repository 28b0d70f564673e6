"""Decides who may call: the host, the key or the cookie, the rate, and the size of the body."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import time
from collections.abc import Callable, Collection
from datetime import datetime
from http import HTTPStatus
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from djinn_memory.errors import DjinnError
from djinn_memory.home.home import Home
from djinn_memory.home.keys import Key, read_keys
from djinn_memory.notes.dates import over
from djinn_memory.operations.caller import Caller
from djinn_memory.operations.keys import digest
from djinn_memory.system.files import file_version
from djinn_memory.web.api.problems import Denied, response_to

COOKIE = "djinn_session"
"""The cookie of a browser that came with the login address."""

OPEN_PATHS = ("/healthz", "/login", "/static/style.css", "/static/pages.js", "/static/icon.svg")
"""The paths that need neither a key nor the cookie."""

MOST_BODY = 16_000_000
"""Maximum bytes of a body, which is more than the longest note. Uploads have their own bound."""

MOST_UPLOAD = 256_000_000
"""Maximum bytes of an uploaded document. It is written to the disk while it arrives."""

BODY_SECONDS = 30.0
"""Maximum seconds between two parts of a body."""

MOST_COOKIES = 100
"""Maximum number of browsers that are logged in with one key, or by the address. The one that came
first is logged out first."""

_CLOSE = {"Connection": "close"}
"""Headers of an answer before the whole body was received, the rest of which nobody wants."""

_SAFE = ("GET", "HEAD", "OPTIONS")


class Visitors:
    """Knows who sends a request: a program with a key, a browser, or a user of the Unix socket."""

    def __init__(self, home: Home, caller: Caller, now: Callable[[], datetime]) -> None:
        """`caller` is a person of this machine."""
        self._home = home
        self._person = caller
        self._now = now
        self._version: object = ()
        self._keys: dict[str, Key] = {}
        self._logins: set[str] = set()
        self._cookies: dict[str, str] = {}
        self._allowances: dict[str, tuple[float, float]] = {}

    def new_login(self) -> str:
        """A token that a browser can exchange for the cookie once."""
        token = secrets.token_urlsafe(24)
        self._logins.add(digest(token))
        return token

    def log_in(self, token: str) -> str | None:
        """The value of the cookie for a token; None for a token that is unknown or used."""
        if digest(token) not in self._logins:
            return None
        self._logins.discard(digest(token))
        return self._new_cookie("")

    def log_in_with_key(self, secret: str) -> str:
        """The value of the cookie for a key. Raises `Denied` without a valid key."""
        self._of_key(digest(secret))
        return self._new_cookie(digest(secret))

    def _new_cookie(self, key: str) -> str:
        value = secrets.token_urlsafe(32)
        self._cookies[digest(value)] = key
        same = [cookie for cookie, other in self._cookies.items() if other == key]
        if len(same) > MOST_COOKIES:
            del self._cookies[same[0]]
        return value

    def caller(self, connection: HTTPConnection) -> Caller:
        """Who sends a request. Raises `Denied` without a valid key or cookie."""
        if is_local(connection.scope):
            return self._person
        given = connection.headers.get("x-api-key") or _bearer(connection.headers)
        if given:
            return self._of_key(digest(given))
        cookie = digest(connection.cookies.get(COOKIE, ""))
        if cookie in self._cookies:
            _require_same_origin(connection)
            key = self._cookies[cookie]
            return self._of_key(key) if key else self._person
        raise _unauthorized(
            "send a key as `Authorization: Bearer KEY`; `djinn key add NAME` makes one"
        )

    def _of_key(self, key_digest: str) -> Caller:
        version = file_version(self._home.keys_path)
        if version != self._version:
            self._keys = {key.digest: key for key in read_keys(self._home.keys_path)}
            self._version = version
        key = self._keys.get(key_digest)
        if key is None:
            raise _unauthorized("the key is unknown or revoked; `djinn key list` shows the keys")
        if over(key.expires, self._now()):
            raise _unauthorized(f"the key {key.name} expired on {key.expires}")
        self._take(key)
        return Caller(
            agent=key.agents[0] if key.agents else self._person.agent,
            client=key.name,
            rights="person" if key.scope == "administer" else "agent",
            read_only=self._person.read_only or key.scope in ("read", "read_all"),
            key=key,
        )

    def _take(self, key: Key) -> None:
        """Count a request of a key. Raises `Denied` for too many a second."""
        rate = self._home.config.server.rate
        now = time.monotonic()
        left, at = self._allowances.get(key.name, (rate, now))
        left = min(rate, left + (now - at) * rate)
        if left < 1:
            why = f"the key {key.name} may send {rate:g} requests a second; see `server.rate`"
            headers = {"Retry-After": "1"}
            raise Denied(HTTPStatus.TOO_MANY_REQUESTS, why, headers=headers)
        self._allowances[key.name] = left - 1, now


class Guard:
    """ASGI middleware around the whole server. It puts the caller into `scope["caller"]`."""

    def __init__(
        self, app: ASGIApp, visitors: Visitors, hosts: Collection[str], uploads: Collection[str]
    ) -> None:
        """`hosts` are the names under which clients may address the server, with the port.

        `uploads` are the paths that take documents.
        """
        self._app = app
        self._visitors = visitors
        self._hosts = hosts
        self._uploads = uploads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application if the request is admitted."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            scope["caller"] = self._admitted(HTTPConnection(scope))
            most = MOST_UPLOAD if scope["path"] in self._uploads else MOST_BODY
            bounded = _Body(receive, most, headers)
        except (Denied, DjinnError) as error:
            response: Response = response_to(error)
            if response.status_code == HTTPStatus.UNAUTHORIZED and _wants_page(scope, headers):
                response = RedirectResponse("/login", HTTPStatus.SEE_OTHER)
            if {"content-length", "transfer-encoding"} & {*headers}:
                response.headers.update(_CLOSE)
            await response(scope, receive, send)
            return
        await self._app(scope, bounded, send)

    def _admitted(self, connection: HTTPConnection) -> Caller:
        """Who calls, before anything is routed."""
        # A page could point its own host name here, and use the browser of this user.
        if not is_local(connection.scope):
            host = connection.headers.get("host", "").lower()
            if host not in self._hosts:
                why = f"{host[:100]!r} is not a name of this server; see `server.hosts`"
                raise Denied(HTTPStatus.MISDIRECTED_REQUEST, why)
        if connection.scope["path"] in OPEN_PATHS:
            _require_same_origin(connection)
            return Caller(read_only=True)
        return self._visitors.caller(connection)


def _wants_page(scope: Scope, headers: Headers) -> bool:
    """Whether a person waits for a page, and not a program for data."""
    return scope["method"] == "GET" and "text/html" in headers.get("accept", "")


class _Body:
    """Receives a body up to a size, from a client that keeps sending."""

    def __init__(self, receive: Receive, most: int, headers: Headers) -> None:
        self._receive = receive
        self._left = self._most = most
        self._complete = False
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length) > most:
            raise self._too_large()

    async def __call__(self) -> Message:
        # Afterwards only the end of the connection can arrive, at any time.
        seconds = None if self._complete else BODY_SECONDS
        try:
            async with asyncio.timeout(seconds):
                message = await self._receive()
        except TimeoutError:
            why = "the body did not arrive in time"
            raise Denied(HTTPStatus.REQUEST_TIMEOUT, why, headers=_CLOSE) from None
        self._complete = not message.get("more_body", False)
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise self._too_large()
        return message

    def _too_large(self) -> Denied:
        why = f"the body is larger than {self._most:,} bytes"
        return Denied(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, why, headers=_CLOSE)


def is_local(scope: Any) -> bool:
    """Whether a request came over the Unix socket, which only its user can open."""
    server = scope.get("server")
    return server is not None and server[1] is None


def _bearer(headers: Headers) -> str:
    kind, _, value = headers.get("authorization", "").partition(" ")
    return value.strip() if kind.lower() == "bearer" else ""


def _require_same_origin(connection: HTTPConnection) -> None:
    """Raise `Denied` if a page of another origin may have sent a request with the cookie."""
    if connection.scope["method"] in _SAFE:
        return
    site, origin = (connection.headers.get(name) for name in ("sec-fetch-site", "origin"))
    own = f"{connection.url.scheme}://{connection.headers.get('host', '')}"
    if site == "same-origin" or (site is None and hmac.compare_digest(origin or "", own)):
        return
    raise Denied(HTTPStatus.FORBIDDEN, "the request comes from a page of another origin")


def _unauthorized(why: str) -> Denied:
    return Denied(HTTPStatus.UNAUTHORIZED, why, headers={"WWW-Authenticate": "Bearer"})
