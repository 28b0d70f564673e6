"""The page of decisions: what `djinn review` lists, decided one by one or by kind."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from djinn_memory.upkeep.review.requests import ListReview
from djinn_memory.web.pages.site import Site, asked, form_of, see

LISTED = 50
"""Number of items that the page lists."""


def review_routes(site: Site) -> list[BaseRoute]:
    """The routes of the page."""

    async def show(request: Request) -> Response:
        given = asked(request, ListReview, "kind", "limit")
        review = await site.ask(
            request, "review.list", **{**given, "limit": given["limit"] or LISTED}
        )
        return site.page(request, "review.html", review=review, kind=given["kind"])

    async def decide(request: Request) -> Response:
        form = await form_of(request)
        operation = "review.accept" if form.get("decision") == "accept" else "review.dismiss"
        keep, kind = (str(form.get(name) or "") or None for name in ("keep", "all"))
        items = [str(form["item"])] if form.get("item") else None
        report = await site.ask(request, operation, items=items, all=kind, keep=keep)
        if report.problems:
            why = "; ".join(f"{problem.what}: {problem.why}" for problem in report.problems)
            return site.page(request, "error.html", 409, why=why)
        # An undo of one of several changes would look like that of all.
        return (
            see("/review", *report.changes) if len(report.changes) == 1 else see("/review?done=1")
        )

    return [site.route("/review", show), site.route("/review", decide, "POST")]
