"""The page of decisions: what `djinn review` lists, decided one by one."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from djinn_memory.web.pages.site import Site, form_of, see


def review_routes(site: Site) -> list[BaseRoute]:
    """The routes of the page."""

    async def show(request: Request) -> Response:
        review = await site.ask(request, "review.list", limit=100)
        return site.page(request, "review.html", review=review)

    async def decide(request: Request) -> Response:
        form = await form_of(request)
        operation = "review.accept" if form.get("decision") == "accept" else "review.dismiss"
        keep = str(form.get("keep") or "") or None
        report = await site.ask(request, operation, items=[request.path_params["name"]], keep=keep)
        return see("/review", report.changes[-1] if report.changes else None)

    return [site.route("/review", show), site.route("/review/{name}", decide, "POST")]
