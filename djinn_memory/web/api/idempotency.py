"""`Idempotency-Key`: a write that a client repeats is done once, and answered as the first time."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from functools import wraps
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from djinn_memory.web.api.problems import Denied

MOST_ANSWERS = 1000
"""Maximum number of answers that are kept. The oldest one is forgotten first."""

Endpoint = Callable[[Request], Awaitable[Response]]


def once(endpoint: Endpoint) -> Endpoint:
    """An endpoint that runs once for each `Idempotency-Key` of a caller.

    A repeated request that arrives while the first one runs waits for its answer. A key that comes
    with another body is refused. A request that failed is not kept: it may be repeated.
    """
    first: OrderedDict[tuple[str, ...], tuple[str, asyncio.Future[Response]]] = OrderedDict()

    @wraps(endpoint)
    async def answer(request: Request) -> Response:
        given = request.headers.get("idempotency-key")
        if not given or request.method in ("GET", "HEAD"):
            return await endpoint(request)
        key = request.scope["caller"].key
        identity = (key.digest if key else "", request.method, request.url.path, given)
        content = await _fingerprint(request)
        kept = first.get(identity)
        if kept is None:
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
            return await asyncio.shield(kept[1])
        except Exception:
            first.pop(identity, None)
            raise

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
