"""Routes that are no operations, each with what the description of the API says of it."""

from __future__ import annotations

from msgspec import Struct
from starlette.routing import Route

from djinn_memory.web.api.idempotency import Endpoint, once

JSON = "application/json"


class Resource(Route):
    """A route of one method. A write is done once for each `Idempotency-Key`."""

    def __init__(
        self,
        method: str,
        path: str,
        endpoint: Endpoint,
        summary: str,
        *,
        asks: type[Struct] | None = None,
        answer: str = JSON,
        is_list: bool = False,
        upload: bool = False,
    ) -> None:
        """`asks` has the fields of the request: of a GET in its query, and else in its body, which
        is a form with a file for an `upload`. `answer` is a media type, or the operation whose
        answer it is. JSON is an object unless it `is_list`.
        """
        super().__init__(path, endpoint if method == "GET" else once(endpoint), methods=[method])
        self.method = method
        self.summary = summary
        self.asks = asks
        self.answer = answer
        self.is_list = is_list
        self.upload = upload
