"""What the lists of entities and facts are asked for."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from starlette.requests import Request

from djinn_memory.web.api.operations import values_in

LISTED = 30
"""Number of rows on a page of a list."""


def asked(request: Request, kind: type[Struct], *names: str) -> dict[str, Any]:
    """The fields of an operation's request in the address of a page. Empty fields are None."""
    given = values_in(kind, request.query_params)
    return {name: None if given.get(name) == "" else given.get(name) for name in names}
