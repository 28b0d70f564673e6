"""The page of searches. It is the part of itself that follows what a person types."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from djinn_memory.models import PLANES
from djinn_memory.search.query import SearchOptions
from djinn_memory.web.api.operations import values_in
from djinn_memory.web.pages.site import Site, chosen

LISTED = 50
"""Number of memories that filters without a query list."""

FILTERS = ("agent", "vaults", "types", "tags", "planes", "domains", "since", "until", "as_of")


def search_routes(site: Site) -> list[BaseRoute]:
    """The route of the page."""

    async def search(request: Request) -> Response:
        given = values_in(SearchOptions, request.query_params)
        narrowing = {name: _filled(given.get(name)) for name in FILTERS}
        query = chosen(request.query_params, "query")
        answer = memories = None
        if query:
            answer = await site.ask(request, "search", query=query, **narrowing)
        elif any(narrowing.values()):
            memories = await site.ask(request, "memories.list", limit=LISTED, **narrowing)
        stats = await site.ask(request, "memories.stats")
        return site.page(
            request, "search.html", query=query or "", answer=answer, memories=memories,
            narrowing=narrowing, types=sorted(stats.types), planes=PLANES,
            vaults=sorted(stats.vaults),
        )  # fmt: skip

    return [site.route("/search", search)]


def _filled(value: Any) -> Any:
    """The values of a field; None if it is empty. Several are separated by spaces."""
    if isinstance(value, list):
        value = [word for text in value for word in text.split()]
    return value or None
