"""The pages of facts: their list by category, and one with its history."""

from __future__ import annotations

from itertools import groupby
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from djinn_memory.memories.facts.requests import CONFIDENCES, GetFact, ListFacts
from djinn_memory.web.pages.addresses import fact_address
from djinn_memory.web.pages.site import Site, asked

LISTED = 30
"""Number of facts on a page of the list."""


def fact_routes(site: Site) -> list[BaseRoute]:
    """The routes of the pages."""

    async def browse(request: Request) -> Response:
        given = asked(request, ListFacts, "category", "search", "as_of", "expired", "skip")
        page = await site.ask(request, "facts.list", limit=LISTED, **given)
        groups = [
            (category, [*facts])
            for category, facts in groupby(page.facts, lambda fact: fact.category)
        ]
        return site.page(
            request, "knowledge/facts.html", page=page, groups=groups, limit=LISTED,
            sources=CONFIDENCES, **given,
        )  # fmt: skip

    async def show(request: Request) -> Response:
        given = asked(request, GetFact, "as_of")
        category, key = unquote(request.path_params["category"]), request.path_params["key"]
        fact = await site.ask(
            request, "facts.get", category=category, key=key, expired=True, **given
        )
        return site.page(request, "knowledge/fact.html", fact=fact, sources=CONFIDENCES, **given)

    return [
        site.route("/facts", browse),
        *(
            site.action(f"/facts/{verb}", f"facts.{verb}", lambda done: fact_address(done.fact))
            for verb in ("set", "verify")
        ),
        site.action("/facts/forget", "facts.forget", lambda _: "/facts"),
        site.route("/fact/{category}/{key:path}", show),
    ]
