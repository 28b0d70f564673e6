"""The page of the health of the home: its jobs, and parts that take longer to look at."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from djinn_memory.errors import DjinnError
from djinn_memory.operations.wording import CommandWording
from djinn_memory.web.pages.site import Site

PATH = "/settings/health"

PARTS = {"checks": "doctor", "index": "status", "sync": "sync.status"}
"""The operation that each part shows."""


def health_routes(site: Site) -> list[BaseRoute]:
    """The routes of the page. A script loads its parts; without it they are pages."""

    async def show(request: Request) -> Response:
        jobs = (await site.ask(request, "jobs")).jobs
        return site.page(request, "settings/health.html", jobs=jobs, parts=PARTS)

    def part(name: str) -> BaseRoute:
        async def show_part(request: Request) -> Response:
            answer, why = None, ""
            try:
                answer = await site.ask(request, PARTS[name])
            except DjinnError as error:
                why = CommandWording().error(error)
            return site.page(request, "settings/part.html", part=name, answer=answer, why=why)

        return site.route(f"{PATH}/{name}", show_part)

    return [
        site.route(PATH, show),
        *map(part, PARTS),
        site.action(f"{PATH}/jobs", "maintain", lambda _: PATH),
        site.action(f"{PATH}/checks", "doctor", lambda _: f"{PATH}/checks"),
        site.action(f"{PATH}/index", "index", lambda _: f"{PATH}/index"),
        site.action(f"{PATH}/sync", "sync.run", lambda _: f"{PATH}/sync"),
    ]
