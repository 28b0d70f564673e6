"""The page of decisions: what `djinn review` lists, decided one by one or by kind."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from djinn_memory.upkeep.review.requests import ListReview
from djinn_memory.web.api.operations import values_in
from djinn_memory.web.pages.site import Site, form_of, see

LISTED = 50
"""Number of items that the page lists."""


def review_routes(site: Site) -> list[BaseRoute]:
    """The routes of the page."""

    async def show(request: Request) -> Response:
        given = values_in(ListReview, request.query_params)
        kind, limit = given.get("kind") or None, given.get("limit") or LISTED
        review = await site.ask(request, "review.list", kind=kind, limit=limit)
        return site.page(request, "review.html", review=review, kind=kind)

    async def decide(request: Request) -> Response:
        form = await form_of(request)
        operation = "review.accept" if form.get("decision") == "accept" else "review.dismiss"
        keep, kind = (str(form.get(name) or "") or None for name in ("keep", "all"))
        items = [str(form["item"])] if form.get("item") else None
        report = await site.ask(request, operation, items=items, all=kind, keep=keep)
        if report.problems:
            why = "; ".join(f"{problem.what}: {problem.why}" for problem in report.problems)
            return site.page(request, "error.html", 409, why=why)
        return see("/review", report.changes[-1]) if report.changes else see("/review?done=1")

    return [site.route("/review", show), site.route("/review", decide, "POST")]
