"""`Idempotency-Key`: a write that a client repeats is done once, and answered as the first time."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from functools import wraps
from http import HTTPStatus
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from djinn_memory.errors import Unavailable
from djinn_memory.system.files import open_private, read_regular, write_atomic
from djinn_memory.web.api.operations import REQUEST
from djinn_memory.web.api.problems import Denied

MOST_ANSWERS = 1000
"""Maximum number of answers that are kept. The oldest one is forgotten first."""

MOST_BEGUN = 10_000
"""Minimum number of the last requests that a server knows, also those before its start."""

_GONE = (
    "a request with this Idempotency-Key began earlier, and its answer is gone; check whether it "
    "took effect, and use a new key for the next request"
)

Endpoint = Callable[[Request], Awaitable[Response]]


class Begun:
    """The requests that began, by their hashes, also before the server was started again.

    Their answers are not in the file: these may quote what is purged later, or be secrets.
    """

    def __init__(self, path: Path) -> None:
        """`path` is the file in which they are kept. Raises `Unavailable`."""
        self._path = path
        self._known: dict[str, None] = {}
        with self._explained():
            lines = []
            with suppress(FileNotFoundError):
                lines = read_regular(path).decode("ascii", "replace").splitlines()
            for line in lines:
                self._known.pop(line[1:], None)
                if line.startswith("+"):
                    self._known[line[1:]] = None
            self._shorten()

    def __contains__(self, request: str) -> bool:
        return request in self._known

    def add(self, request: str) -> None:
        """Record that a request begins. Raises `Unavailable`; it must not begin then."""
        with self._explained():
            with open_private(self._path) as file:
                file.write(f"+{request}\n".encode())
                file.flush()
                os.fsync(file.fileno())
            self._known[request] = None
            if len(self._known) > 2 * MOST_BEGUN:
                self._shorten()

    def _shorten(self) -> None:
        self._known = dict.fromkeys([*self._known][-MOST_BEGUN:])
        text = "".join(f"+{each}\n" for each in self._known)
        write_atomic(self._path, text.encode(), private=True)

    def discard(self, request: str) -> None:
        """Record that a request failed, so that it may be sent again."""
        self._known.pop(request, None)
        with suppress(OSError), open_private(self._path) as file:
            file.write(f"-{request}\n".encode())

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise Unavailable(f"{self._path}: {error.strerror or error}") from None


def once(endpoint: Endpoint) -> Endpoint:
    """An endpoint that runs once for each `Idempotency-Key` of a caller.

    A repeated request that arrives while the first one runs waits for its answer. A key that comes
    with another body is refused, and so is one that came before the server was started again, whose
    answer is gone. A request that failed is not kept: it may be repeated.
    """
    first: OrderedDict[tuple[str, ...], tuple[str, asyncio.Future[Response]]] = OrderedDict()

    @wraps(endpoint)
    async def answer(request: Request) -> Response:
        given = request.headers.get("idempotency-key")
        REQUEST.set(given)
        if not given or request.method in ("GET", "HEAD"):
            return await endpoint(request)
        begun: Begun = request.app.state.begun
        identity = (
            request.scope["caller"].key_digest,
            request.method,
            request.url.path,
            request.url.query,
            given,
        )
        content = await _fingerprint(request)
        kept, name = first.get(identity), hashlib.sha256(repr(identity).encode()).hexdigest()
        if kept is None:
            if name in begun:
                raise Denied(HTTPStatus.CONFLICT, _GONE)
            begun.add(name)
            task = asyncio.ensure_future(endpoint(request))
            first[identity] = kept = content, task
            task.add_done_callback(lambda done: _forget_failure(done))
            if len(first) > MOST_ANSWERS:
                first.popitem(last=False)
        if kept[0] != content:
            why = "this Idempotency-Key came with another body; use a new one for a new request"
            raise Denied(HTTPStatus.UNPROCESSABLE_ENTITY, why)
        try:
            # A client that hangs up must not stop a write that another request waits for.
            answer = await asyncio.shield(kept[1])
        except Exception:
            if first.pop(identity, None):
                begun.discard(name)
            raise
        # Compressing an answer changes its headers.
        again = copy(answer)
        again.raw_headers = [*answer.raw_headers]
        return again

    def _forget_failure(done: asyncio.Future[Response]) -> None:
        # Otherwise Python reports an error that nobody waited for.
        if not done.cancelled():
            done.exception()

    return answer


async def _fingerprint(request: Request) -> str:
    """What differs between bodies: the hash of one, or the size of a form with a file.

    Such a form is larger than memory should hold, and its boundary differs from time to time.
    """
    if request.headers.get("content-type", "").startswith("multipart/"):
        return request.headers.get("content-length", "")
    return hashlib.sha256(await request.body()).hexdigest()
