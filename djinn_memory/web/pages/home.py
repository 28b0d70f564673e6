"""The start page: what changed, and what is missing."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from djinn_memory.web.pages.site import Site

NEWEST, WAITING = 12, 5
"""Numbers of memories, and of gaps and commitments, that the page lists."""


def home_routes(site: Site) -> list[BaseRoute]:
    """The route of the page."""

    async def home(request: Request) -> Response:
        memories = await site.ask(request, "memories.list", limit=NEWEST)
        groups = (await site.ask(request, "gaps.list")).groups
        gaps = [gap for group in groups for gap in group.gaps if gap.status == "open"]
        commitments = await site.ask(request, "memories.list", types=["commitment"], limit=WAITING)
        return site.page(
            request, "home.html", memories=memories, gaps=gaps[:WAITING], open_gaps=len(gaps),
            commitments=commitments,
        )  # fmt: skip

    async def close_gap(request: Request) -> Response:
        await site.ask(request, "gaps.close", gap=request.path_params["gap"])
        return await home(request)

    return [
        site.route("/", home),
        site.route("/gaps/{gap}/close", close_gap, "POST"),
    ]
