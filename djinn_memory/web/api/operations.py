"""Runs operations for requests: `POST /v1/OPERATION`, and readable addresses for some of them."""

from __future__ import annotations

import base64
import hashlib
import time
from asyncio import wrap_future
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from djinn_memory.djinn import Djinn
from djinn_memory.errors import ConfigError, UsageError, Wording
from djinn_memory.home.access import is_own
from djinn_memory.home.home import Change, Home
from djinn_memory.home.settings import Config
from djinn_memory.models import Progress
from djinn_memory.operations import OPERATIONS, Verb
from djinn_memory.operations.caller import WRITING, Caller, Calls
from djinn_memory.operations.checks import FieldType, field_types, fields_of, misfit
from djinn_memory.web.api.problems import WORDING, Denied, encoded

T = TypeVar("T")
S = TypeVar("S", bound=Struct)

Fields = Mapping[str, Any]

Publish = Callable[[str, Mapping[str, Any], str | None], None]
"""Tells of an event: its kind, its data, and the key of the program that may hear it."""


class Alias(NamedTuple):
    """A readable path of an operation."""

    method: str
    path: str
    operation: str
    names: Mapping[str, str] = {}
    """Fields of the request that have another name here, by that name."""


AGENT = {"agent_id": "agent"}

ALIASES = (
    Alias("GET", "/v1/memory/search", "search", AGENT),
    Alias("GET", "/v1/context", "context", {**AGENT, "query": "task"}),
    Alias("GET", "/v1/gaps", "gaps.list", AGENT),
    Alias("POST", "/v1/gaps", "gaps.report", AGENT),
    Alias("GET", "/v1/episodes", "episodes.list", AGENT),
    Alias("POST", "/v1/episodes", "episodes.record_interaction", AGENT),
    Alias("GET", "/v1/entities", "entities.list", AGENT),
    Alias("POST", "/v1/entities", "entities.add", AGENT),
    Alias("GET", "/v1/facts", "facts.list", AGENT),
    Alias("POST", "/v1/facts", "facts.set", AGENT),
    Alias("GET", "/v1/working", "working.list", AGENT),
    Alias("POST", "/v1/working", "working.set", AGENT),
)

OVER_ALL = {
    "search": "hits",
    "facts.list": "facts",
    "facts.search": "facts",
    "entities.list": "entities",
    "sessions.list": "sessions",
    "summary.show": "",
}
"""The operations that a key with the scope `read_all` runs over all agents, with the field of their
rows; empty for an answer that is one row."""

PROGRESS_SECONDS = 0.25
"""Minimum seconds between two messages of the progress of an operation."""

REQUEST: ContextVar[str | None] = ContextVar("request", default=None)
"""The name that a program gave to its request, which events repeat."""


def paths_in(verb: Verb) -> frozenset[str]:
    """The fields of an operation's request that name files of this machine."""
    return frozenset(name for name, kind in field_types(verb.request).items() if _is_path(kind))


def _is_path(kind: FieldType) -> bool:
    return Path in kind.kinds or bool(kind.element and _is_path(kind.element))


class Runner:
    """Runs operations in the queue of a home, for callers over HTTP."""

    def __init__(
        self,
        calls: Calls[Djinn],
        publish: Publish = lambda *_: None,
        words: Wording = WORDING,
    ) -> None:
        """`publish` gets the states of operations that write, for the program that calls. Messages
        are in the given words.
        """
        self._calls = calls
        self._words = words
        self._publish = publish

    async def do(
        self, caller: Caller, name: str, fields: Fields, work: Callable[[Djinn, Caller], T]
    ) -> T:
        """Run work for a caller. Raises `DjinnError` in the words of the API."""
        if name not in OPERATIONS or not OPERATIONS[name].writes:
            reads = name in OPERATIONS
            return await wrap_future(
                self._calls.submit(caller, name, fields, work, self._words, reads=reads)
            )
        request, told = REQUEST.get(), 0.0

        def tell(state: str, **more: object) -> None:
            data = {"operation": name, "request": request, "state": state, **more}
            self._publish("operation", data, caller.key_digest)

        def tell_progress(progress: Progress) -> None:
            nonlocal told
            if (now := time.monotonic()) - told > PROGRESS_SECONDS:
                told = now
                # The note may be a text.
                numbers = {name: getattr(progress, name) for name in ("stage", "done", "total")}
                tell("running", **numbers)

        def reporting(djinn: Djinn, caller: Caller) -> T:
            before, djinn.runtime.progress = djinn.runtime.progress, tell_progress
            try:
                return work(djinn, caller)
            finally:
                djinn.runtime.progress = before

        state = "failed"
        tell("begun")
        try:
            answer = await wrap_future(
                self._calls.submit(caller, name, fields, reporting, self._words)
            )
            state = "done"
        finally:
            tell(state)
        return answer

    @property
    def home(self) -> Home:
        """The home, with its settings at the last request."""
        return self._calls.home

    async def settings(self, caller: Caller, *changes: Change) -> Config:
        """The settings in effect, after changes. Raises `Denied`, or `UsageError` if invalid."""
        if changes and (caller.rights != "person" or caller.read_only):
            why = "the settings are changed with a key that has the scope administer"
            raise Denied(HTTPStatus.FORBIDDEN, why)

        def work(djinn: Djinn, caller: Caller) -> Config:
            try:
                return djinn.home.edit(*changes) if changes else djinn.home.config
            except ConfigError as error:
                raise UsageError(str(error)) from None

        given = {".".join(keys): value for keys, value in changes}
        return await self.do(caller, "config.set" if changes else "config.get", given, work)

    async def answer(self, caller: Caller, name: str, given: Fields) -> bytes:
        """The answer of an operation as JSON. Raises `Denied` or `DjinnError`."""
        verb = OPERATIONS[name]
        allow(caller, verb, given)
        fields, skip = _paged(verb, given)
        everybody = bool(
            caller.key and caller.key.scope == "read_all" and name in OVER_ALL
            and not fields.get("agent")
        )  # fmt: skip

        def work(djinn: Djinn, caller: Caller) -> bytes:
            if everybody:
                data = _over_all(djinn, verb, fields)
            else:
                data = answered(djinn, caller, verb, fields)
            return encoded({**data, **_next_page(data, skip)})

        return await self.do(for_agent(caller, verb, fields), name, fields, work)

    async def packed(self, caller: Caller, name: str, given: Fields, pack: Callable[[Any], T]) -> T:
        """The answer of an operation in the form that `pack` gives it."""
        verb = OPERATIONS[name]
        allow(caller, verb, given)
        caller = for_agent(caller, verb, given)
        return await self.do(
            caller, name, given, lambda djinn, caller: pack(performed(djinn, caller, verb, given))
        )


def for_agent(caller: Caller, verb: Verb, fields: Fields) -> Caller:
    if "agent" in field_types(verb.request) and fields.get("agent"):
        return replace(caller, agent=str(fields["agent"])[:100])
    return caller


def allow(caller: Caller, verb: Verb, given: Fields) -> None:
    """Raise `Denied` for an operation or a field that is not for this caller."""
    if not caller.may_call(verb):
        scope = "write" if verb.rights == "agent" else "administer"
        why = f"{verb.name} needs a key with the scope {scope}"
        may_write = not caller.key or caller.key.scope in ("write", "administer")
        if verb.writes and caller.read_only and may_write:
            why = f"this server is read-only, so {verb.name} is not available"
        raise Denied(HTTPStatus.FORBIDDEN, why)
    if caller.rights == "person":
        return
    paths = paths_in(verb)
    # Generated clients send false and null for what is left out.
    used = [name for name, value in given.items() if value not in (None, False, [], ())]
    closed = [
        name for name in used if name in paths or not (name in caller.own or caller.may_set(name))
    ]
    if closed:
        scope = "write" if closed[0] in WRITING else "administer"
        why = f"{closed[0]} needs a key with the scope {scope}"
        if closed[0] in paths:
            why += ", because it names a file of the server; upload the file instead"
        raise Denied(HTTPStatus.FORBIDDEN, why, field=closed[0])


def performed(djinn: Djinn, caller: Caller, verb: Verb, fields: Fields) -> Any:
    """The answer of an operation. Raises `DjinnError`."""
    return verb.bind(djinn)(request_in(djinn, caller, verb, fields))


def answered(djinn: Djinn, caller: Caller, verb: Verb, fields: Fields) -> dict[str, Any]:
    """The answer of an operation with all problems, as data. Raises `DjinnError`."""
    answer = performed(djinn, caller, verb, fields)
    data: dict[str, Any] = msgspec.to_builtins(answer, enc_hook=str)
    own = [*getattr(answer, "problems", ())]
    others = [problem for problem in djinn.problems if problem not in own]
    data["problems"] = msgspec.to_builtins([*others, *own])
    return data


def request_in(djinn: Djinn, caller: Caller, verb: Verb, fields: Fields) -> Any:
    """The request of an operation with these fields. Raises `DjinnError`.

    An agent may also be named by the id of its own vault, which is its `user_id` on a server.
    """
    given, home = dict(fields), djinn.home
    if "agent" in field_types(verb.request) and (caller.rights == "agent" or given.get("agent")):
        own = (vault for vault in home.vaults if is_own(vault) and vault.id == given.get("agent"))
        given["agent"] = home.agent(next((vault.agent for vault in own), given.get("agent")))
    return converted(verb.request, given)


def converted(kind: type[S], given: Fields) -> S:
    """A struct with these fields. Raises `UsageError` if they do not fit."""
    types = field_types(kind)
    # Generated clients write null for a field that is left out.
    present = {
        name: value
        for name, value in given.items()
        if value is not None or name not in types or types[name].nullable
    }
    field, why = misfit(kind, present, types)
    if why:
        raise UsageError(why, argument=field)
    return msgspec.convert(present, kind, dec_hook=lambda kind, text: kind(text))


def _over_all(djinn: Djinn, verb: Verb, fields: Fields) -> dict[str, Any]:
    """The rows of all agents, with the agent as a column: null for what several agents see."""
    rows: dict[object, dict[str, Any]] = {}
    field = OVER_ALL[verb.name]
    merged: dict[str, Any] = {}
    for agent in djinn.home.agents:
        answer = answered(djinn, Caller(agent), verb, {**fields, "agent": agent})
        merged = merged or answer
        for row in answer[field] if field else [answer]:
            row.pop("rank", None)
            # A memory has another score for each agent that sees it.
            place = [row.get(part) for part in ("vault", "path", "block", "lines")]
            key = msgspec.json.encode(place if "path" in row else row)
            same = rows.get(key)
            if same is None or row.get("score", 0) > same.get("score", 0):
                rows[key] = row
            rows[key]["agent"] = None if same else agent
    listed = [*rows.values()]
    if verb.name == "search":
        listed.sort(key=lambda row: -row["score"])
        del listed[fields.get("limit") or djinn.home.config.search.limit :]
        listed = [{"rank": rank, **row} for rank, row in enumerate(listed, 1)]
    return {**(merged if field else {"problems": merged["problems"]}), field or "rows": listed}


def _paged(verb: Verb, given: Fields) -> tuple[dict[str, Any], int]:
    """The fields of a request without the cursor, and the rows that it skips."""
    fields = dict(given)
    cursor = fields.pop("cursor", None) if "skip" in field_types(verb.request) else None
    if cursor is not None:
        try:
            fields["skip"] = int(
                base64.urlsafe_b64decode(str(cursor)).decode().removeprefix("skip:")
            )
        except ValueError:
            why = f"{cursor!s:.60}: no cursor; use `next_cursor` of the last answer"
            raise UsageError(why, argument="cursor") from None
    skip = fields.get("skip")
    return fields, skip if isinstance(skip, int) else 0


def _next_page(data: Mapping[str, Any], skip: int) -> dict[str, str]:
    """The cursor of the next page in the answer of a list; nothing on the last page."""
    rows = next((len(part) for key, part in data.items() if isinstance(part, list)), 0)
    total = data.get("total")
    if not isinstance(total, int) or not 0 < rows < total - skip:
        return {}
    return {"next_cursor": base64.urlsafe_b64encode(f"skip:{skip + rows}".encode()).decode()}


async def given_in(request: Request, verb: Verb, names: Mapping[str, str]) -> dict[str, Any]:
    """The fields in the body or the query of a request. Raises `UsageError`."""
    if request.method in ("GET", "HEAD"):
        given = values_in(verb.request, request.query_params, names)
    else:
        given = await json_in(request)
    return {names.get(name, name): value for name, value in given.items()}


async def json_in(request: Request) -> dict[str, Any]:
    """The JSON object in the body of a request; empty without a body. Raises `UsageError`."""
    body = await request.body()
    try:
        given = msgspec.json.decode(body or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"the body is not JSON: {error}") from None
    if not isinstance(given, dict):
        raise UsageError("the body is no JSON object; send the fields of the request as one")
    return given


def values_in(
    kind: type[Struct], query: QueryParams, names: Mapping[str, str] = {}
) -> dict[str, Any]:
    """The values in a query for a struct, whose fields have other `names` there."""
    types = {field.encode_name: field_types(kind)[field.name] for field in fields_of(kind)}
    given: dict[str, Any] = {}
    for name in dict.fromkeys(query.keys()):
        declared = types.get(names.get(name, name), FieldType((str,)))
        values = [_parsed(text, declared.element or declared) for text in query.getlist(name)]
        given[name] = values if list in declared.kinds else values[-1]
    return given


def _parsed(text: str, kind: FieldType) -> object:
    """A value in a query: numbers and truth values are written as in JSON."""
    if {bool, int, float} & {*kind.kinds}:
        try:
            return msgspec.json.decode(text, type=bool | int | float | None)
        except msgspec.DecodeError:
            return text
    return text


def respond(request: Request, body: bytes, status: int = 200) -> Response:
    """A response with JSON. A client that has the same answer of a GET gets none again."""
    response = Response(body, status, media_type="application/json")
    if request.method == "GET":
        tag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers={"ETag": tag})
        response.headers["ETag"] = tag
    return response
