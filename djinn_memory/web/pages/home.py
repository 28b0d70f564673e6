"""The start page: what changed, and what waits."""

from __future__ import annotations

from datetime import date

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from djinn_memory.memories.catalog.standing import OVER
from djinn_memory.notes.dates import local_day
from djinn_memory.web.pages.site import Site

NEWEST, WAITING = 12, 5
"""Numbers of memories, and of gaps, commitments and decisions, that the page lists."""

OPEN = [f"status!={status}" for status in sorted(OVER)]
"""Leaves out commitments that are kept or dropped."""


def home_routes(site: Site) -> list[BaseRoute]:
    """The route of the page."""

    async def home(request: Request) -> Response:
        newest = await site.ask(request, "memories.list", limit=NEWEST)
        groups = (await site.ask(request, "gaps.list")).groups
        gaps = [gap for group in groups for gap in group.gaps if gap.status == "open"]
        commitments = await site.ask(
            request, "memories.list", types=["commitment"], where=OPEN, limit=WAITING
        )
        today = date.today().isoformat()
        return site.page(
            request, "home.html", newest=newest, gaps=gaps[:WAITING], open_gaps=len(gaps),
            commitments=commitments, today=[
                memory for memory in newest.memories if local_day(memory.date) == today
            ],
        )  # fmt: skip

    return [site.route("/", home), site.action("/gaps/{gap}/close", "gaps.close")]
