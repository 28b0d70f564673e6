"""The parameters of scoring as a resource, `/v1/memory-scoring/config`."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from djinn_memory.djinn import Djinn
from djinn_memory.errors import ConfigError, UsageError
from djinn_memory.home.config import validate
from djinn_memory.home.home import Change
from djinn_memory.operations.caller import Caller
from djinn_memory.scoring import ScoringConfig
from djinn_memory.web.api.operations import Runner, json_in, respond
from djinn_memory.web.api.problems import Denied, encoded
from djinn_memory.web.api.resources import Resource

PATH = "/v1/memory-scoring/config"

SECTION = "scoring"
"""The section of the settings."""


def scoring_routes(runner: Runner) -> list[Resource]:
    """The routes that show, set and reset the parameters. They hold from the next request on."""

    async def run(request: Request, name: str, given: dict[str, Any], *changes: Change) -> Response:
        def work(djinn: Djinn, caller: Caller) -> bytes:
            home = djinn.runtime.home
            if changes:
                home.edit(*changes)
            return encoded(home.config.scoring)

        caller = request.scope["caller"]
        if changes and (caller.rights != "person" or caller.read_only):
            why = "the parameters are changed with a key that has the scope administer"
            raise Denied(HTTPStatus.FORBIDDEN, why)
        return respond(request, await runner.do(caller, name, given, work))

    async def show(request: Request) -> Response:
        return await run(request, "config.get", {"key": SECTION})

    async def put(request: Request) -> Response:
        given = await json_in(request)
        try:
            validate({SECTION: given}, "the body")
        except ConfigError as error:
            named = re.search(rf"{SECTION}\.(\w+)", str(error))
            raise UsageError(str(error), argument=named[1] if named else None) from None
        changes = [((SECTION, name), value) for name, value in given.items()]
        return await run(request, "config.set", given, *changes)

    async def reset(request: Request) -> Response:
        return await run(request, "config.set", {}, ((SECTION,), None))

    return [
        Resource("GET", PATH, show, "Show the parameters of scoring."),
        Resource("PUT", PATH, put, "Set parameters of scoring.", asks=ScoringConfig),
        Resource("DELETE", PATH, reset, "Restore the defaults."),
    ]
