"""Reads requests in the fields of another system, and answers in its fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from djinn_memory.web.api.operations import Runner, converted, json_in, respond, values_in
from djinn_memory.web.api.problems import encoded

S = TypeVar("S", bound=Struct)


async def request_of(request: Request, kind: type[S]) -> S:
    """The fields in the body of a POST, or else in the query. Raises `UsageError`."""
    if request.method == "POST":
        return converted(kind, await json_in(request))
    return converted(kind, values_in(kind, request.query_params))


async def answer_of(runner: Runner, request: Request, operation: str, /, **fields: object) -> Any:
    """The answer of an operation as data. Fields that are None are left out."""
    given = {key: value for key, value in fields.items() if value is not None}
    return msgspec.json.decode(await runner.answer(request.scope["caller"], operation, given))


def address(row: Mapping[str, Any]) -> str:
    """The name of a memory in an answer, for this memory alone."""
    block = f"#^{row['block']}" if "block" in row else ""
    return row["id"] or f"{row['vault']}:{row['path']}{block}"


def similarity(hit: Mapping[str, Any]) -> float | None:
    """The cosine of the best window of a hit; None for a hit that only words can find."""
    meaning = hit["legs"].get("meaning")
    return meaning["raw"] if meaning else None


def success(request: Request, data: object) -> Response:
    """A response in the envelope of the RAG and content linking interfaces."""
    return respond(request, encoded({"success": True, "data": data}))
