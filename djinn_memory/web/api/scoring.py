"""The parameters of scoring as a resource, `/v1/memory-scoring/config`."""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import Response

from djinn_memory.errors import ConfigError, UsageError
from djinn_memory.home.config import validate
from djinn_memory.home.home import Change
from djinn_memory.scoring import ScoringConfig
from djinn_memory.web.api.operations import Runner, json_in, respond
from djinn_memory.web.api.problems import encoded
from djinn_memory.web.api.resources import Resource

PATH = "/v1/memory-scoring/config"

SECTION = "scoring"
"""The section of the settings."""


def scoring_routes(runner: Runner) -> list[Resource]:
    """The routes that show, set and reset the parameters. They hold from the next request on."""

    async def answer(request: Request, *changes: Change) -> Response:
        config = await runner.settings(request.scope["caller"], *changes)
        return respond(request, encoded(config.scoring))

    async def put(request: Request) -> Response:
        given = await json_in(request)
        try:
            validate({SECTION: given}, "the body")
        except ConfigError as error:
            named = re.search(rf"{SECTION}\.(\w+)", str(error))
            raise UsageError(str(error), argument=named[1] if named else None) from None
        return await answer(request, *(((SECTION, name), value) for name, value in given.items()))

    async def reset(request: Request) -> Response:
        return await answer(request, ((SECTION,), None))

    return [
        Resource("GET", PATH, answer, "Show the parameters of scoring."),
        Resource("PUT", PATH, put, "Set parameters of scoring.", asks=ScoringConfig),
        Resource("DELETE", PATH, reset, "Restore the defaults."),
    ]
