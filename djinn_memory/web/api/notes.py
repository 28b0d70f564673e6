"""Notes as resources, `/v1/notes/NAME`, with entity tags against lost updates."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Changed, UsageError
from djinn_memory.operations import OPERATIONS
from djinn_memory.operations.caller import Caller
from djinn_memory.web.api.operations import (
    AGENT,
    Runner,
    allow,
    answered,
    for_agent,
    given_in,
    json_in,
    performed,
)
from djinn_memory.web.api.problems import Denied, encoded
from djinn_memory.web.api.resources import JSON, Resource

PATH = "/v1/notes/{name:path}"

MARKDOWN = "text/markdown"


class _Text(Struct):
    text: str
    agent: str | None = None


def note_routes(runner: Runner) -> list[Resource]:
    """The routes that read, edit and write a note."""
    notes = _Notes(runner)
    return [
        Resource(
            "GET",
            PATH,
            notes.show,
            "Show a note, by its id or `vault/path`.",
            asks=OPERATIONS["memories.show"].request,
            answer="memories.show",
        ),
        Resource(
            "PATCH",
            PATH,
            notes.edit,
            "Edit fields, tags and status of a note.",
            asks=OPERATIONS["memories.edit"].request,
            answer="memories.edit",
        ),
        Resource(
            "PUT",
            PATH,
            notes.write,
            "Write a whole note, with If-Match or If-None-Match: *.",
            asks=_Text,
            answer="memories.write",
        ),
    ]


class _Notes:
    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    async def show(self, request: Request) -> Response:
        given = {**await given_in(request, OPERATIONS["memories.show"], AGENT), **_name(request)}
        # The tag is read first: a tag that is newer than the text would lose an update.
        headers = {"ETag": await self._tag(request, given), "Vary": "Accept"}
        if headers["ETag"] in request.headers.get("if-none-match", ""):
            return Response(None, HTTPStatus.NOT_MODIFIED, headers)
        body = await self._answer(request, "memories.show", given)
        if MARKDOWN in request.headers.get("accept", ""):
            return Response(_text(body), HTTPStatus.OK, headers, MARKDOWN)
        return _json(body, HTTPStatus.OK, headers)

    async def edit(self, request: Request) -> Response:
        verb, caller = OPERATIONS["memories.edit"], request.scope["caller"]
        given = {**await given_in(request, verb, AGENT), **_name(request)}
        seen = request.headers.get("if-match")
        allow(caller, verb, given)

        def work(djinn: Djinn, caller: Caller) -> tuple[bytes, str] | None:
            # In one turn: other writes may wait.
            if seen is not None and seen != _tag_of(djinn, caller, given):
                return None
            body = encoded(answered(djinn, caller, verb, given))
            return body, _tag_of(djinn, caller, given)

        edited = await self._runner.do(for_agent(caller, verb, given), verb.name, given, work)
        if edited is None:
            raise Denied(HTTPStatus.PRECONDITION_FAILED, "the note was changed since it was read")
        return _json(edited[0], HTTPStatus.OK, {"ETag": edited[1]})

    async def write(self, request: Request) -> Response:
        given = {**await _text_in(request), **_name(request)}
        seen = request.headers.get("if-match")
        if request.headers.get("if-none-match") == "*":
            given["name"] = re.sub("^([^:/]*)/", r"\1:", given["name"])
        elif seen is None:
            why = "send the ETag of the note as If-Match, or `If-None-Match: *` for a new note"
            raise Denied(HTTPStatus.PRECONDITION_REQUIRED, why)
        else:
            given["digest"] = seen.removeprefix("W/").strip('"')
        try:
            body = await self._answer(request, "memories.write", given)
        except Changed:
            raise await self._conflict(request, given) from None
        done = msgspec.json.decode(body)
        headers = {"ETag": f'"{done["digest"]}"'}
        return _json(body, HTTPStatus.CREATED if done["created"] else HTTPStatus.OK, headers)

    async def _conflict(self, request: Request, given: dict[str, Any]) -> Denied:
        """The problem of a text whose note was changed meanwhile, with both texts."""
        tag = await self._tag(request, given)
        current = _text(await self._answer(request, "memories.show", _named(given)))
        why = "the note was changed since it was read; merge both texts, and send the new ETag"
        texts = {"current": current, "given": given["text"]}
        return Denied(HTTPStatus.CONFLICT, why, headers={"ETag": tag}, more=texts)

    async def _tag(self, request: Request, given: dict[str, Any]) -> str:
        body = await self._answer(request, "memories.find", _named(given))
        return f'"{msgspec.json.decode(body)["digest"]}"'

    async def _answer(self, request: Request, operation: str, given: dict[str, Any]) -> bytes:
        return await self._runner.answer(request.scope["caller"], operation, given)


def _tag_of(djinn: Djinn, caller: Caller, given: dict[str, Any]) -> str:
    match = performed(djinn, caller, OPERATIONS["memories.find"], _named(given))
    return f'"{match.digest}"'


def _name(request: Request) -> dict[str, Any]:
    return {"name": request.path_params["name"]}


def _named(given: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key in ("name", "agent")}


async def _text_in(request: Request) -> dict[str, Any]:
    """The fields of a request with a text, which may be the body itself."""
    name = request.query_params.get("agent_id")
    agent = {"agent": name} if name else {}
    if not request.headers.get("content-type", "").startswith("text/"):
        given = await json_in(request)
        return {**agent, **{AGENT.get(name, name): value for name, value in given.items()}}
    try:
        return {**agent, "text": (await request.body()).decode()}
    except UnicodeDecodeError:
        raise UsageError("the text is not UTF-8", argument="text") from None


def _text(body: bytes) -> str:
    text: str = msgspec.json.decode(body)["text"]
    return text


def _json(body: bytes, status: HTTPStatus, headers: dict[str, str]) -> Response:
    return Response(body, status, headers, JSON)
