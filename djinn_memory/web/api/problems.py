"""Errors as problem details (RFC 9457), with remedies as data, in the words of the HTTP API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec import Struct
from starlette.responses import Response

from djinn_memory.errors import DjinnError, Remedy
from djinn_memory.operations.wording import PythonWording

MEDIA_TYPE = "application/problem+json"

_STATUS = {
    "usage": HTTPStatus.BAD_REQUEST,
    "refused": HTTPStatus.CONFLICT,
    "outside_vault": HTTPStatus.CONFLICT,
    "changed": HTTPStatus.CONFLICT,
    "not_found": HTTPStatus.NOT_FOUND,
    "unavailable": HTTPStatus.SERVICE_UNAVAILABLE,
    "busy": HTTPStatus.SERVICE_UNAVAILABLE,
    "index_missing": HTTPStatus.SERVICE_UNAVAILABLE,
}
"""The status of an error's code. Other errors are those of this server, such as its settings."""


class RemedyDetail(Struct, frozen=True):
    """One way to resolve a problem."""

    text: str
    """The remedy as a clause."""
    operation: str | None = None
    """The operation to call; null for the same one or an action outside of djinn."""
    arguments: Mapping[str, Any] = {}
    """Fields of its request. Null stands for a value that the caller must choose."""


class ProblemDetail(Struct, frozen=True, omit_defaults=True):
    """A problem."""

    type: str
    """The kind of problem: `urn:djinn:` and a word."""
    title: str
    """The status as a phrase."""
    status: int
    """The status code."""
    detail: str
    """A description on one line."""
    field: str | None = None
    """The field of the request at fault."""
    remedies: tuple[RemedyDetail, ...] = ()
    """What the caller can do."""


class RouteWording(PythonWording):
    """How messages write operations for callers over HTTP: as requests.

    Each operation of Python has a route.
    """

    def statement(self, error: DjinnError) -> str:
        """The field at fault and the message, without the remedies."""
        return f"{error.argument}: {error.message}" if error.argument else error.message

    def written(self, remedy: Remedy) -> str:
        """The request with its body, or only the fields."""
        fields = json.dumps(dict(remedy.arguments), ensure_ascii=False, default=str)
        if not remedy.operation:
            return f"`{fields}`"
        body = f" with `{fields}`" if remedy.arguments else ""
        return f"`POST /v1/{remedy.operation}`{body}"


WORDING = RouteWording()


class Denied(Exception):
    """The request is refused before an operation runs."""

    def __init__(
        self,
        status: HTTPStatus,
        detail: str,
        *,
        field: str | None = None,
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        """`more` are further members of the problem document."""
        super().__init__(detail)
        self.status = status
        self.field = field
        self.headers = headers
        self.more = more or {}


def status_of(error: DjinnError) -> HTTPStatus:
    """The status for an error."""
    return _STATUS.get(error.code, HTTPStatus.INTERNAL_SERVER_ERROR)


def response_to(error: DjinnError | Denied) -> Response:
    """The response for an error."""
    if isinstance(error, Denied):
        word = error.status.phrase.lower().replace(" ", "_")
        why = str(error)
        return _response(error.status, word, why, error.field, (), error.headers, error.more)
    status = status_of(error)
    remedies = tuple(
        RemedyDetail(clause, remedy.operation or None, dict(remedy.arguments))
        for remedy in error.remedies
        if (clause := WORDING.remedy(remedy))
    )
    headers = {"Retry-After": "1"} if status == HTTPStatus.SERVICE_UNAVAILABLE else None
    return _response(status, error.code, WORDING.error(error), error.argument, remedies, headers)


def _response(
    status: HTTPStatus,
    word: str,
    detail: str,
    field: str | None,
    remedies: tuple[RemedyDetail, ...],
    headers: Mapping[str, str] | None,
    more: Mapping[str, Any] = {},
) -> Response:
    shown = ProblemDetail(f"urn:djinn:{word}", status.phrase, status, detail, field, remedies)
    return Response(encoded({**msgspec.to_builtins(shown), **more}), status, headers, MEDIA_TYPE)


def encoded(value: object) -> bytes:
    """A value as JSON. Half characters, as in file names, are replaced."""
    return msgspec.json.encode(value, enc_hook=str).decode(errors="replace").encode()
