"""The page of the graph of links."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from djinn_memory.web.pages.site import Site


def graph_routes(site: Site) -> list[BaseRoute]:
    """The route of the page. Its script asks for the graph."""

    async def show(request: Request) -> Response:
        return site.page(request, "graph.html", source=f"/v1/graph?{request.url.query}")

    return [site.route("/graph", show)]
