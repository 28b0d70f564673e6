"""The pages of patterns: the list with correlations, and one with its evidence."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from djinn_memory.languages.days import WEEKDAYS
from djinn_memory.memories.patterns.requests import ListPatterns
from djinn_memory.notes.dates import local_minute
from djinn_memory.operations.checks import field_types
from djinn_memory.web.pages.site import Site, asked, chosen

LISTED, CORRELATIONS = 100, 30
"""Numbers of patterns and of correlations that the page lists."""

FILTERS = ("agent", "category", "status", "habits")


def pattern_routes(site: Site) -> list[BaseRoute]:
    """The routes of the pages."""
    types = field_types(ListPatterns)

    async def listing(request: Request) -> Response:
        narrowing = asked(request, ListPatterns, *FILTERS)
        patterns = await site.ask(request, "patterns.list", limit=LISTED, **narrowing)
        correlations = None
        # Their computation takes longer than a page may.
        if chosen(request.query_params, "correlations"):
            fields = {"limit": CORRELATIONS, "agent": narrowing["agent"]}
            correlations = await site.ask(request, "patterns.correlations", **fields)
        return site.page(
            request, "history/patterns.html", patterns=patterns, correlations=correlations,
            narrowing=narrowing, categories=types["category"].words, states=types["status"].words,
            agents=(await site.ask(request, "agents.list")).agents,
        )  # fmt: skip

    async def show(request: Request) -> Response:
        fields = {**request.path_params, "agent": chosen(request.query_params, "agent")}
        pattern = await site.ask(request, "patterns.show", **fields)
        note = await site.ask(request, "memories.links", **fields)
        moments = (local_minute(episode.date) for episode in pattern.episodes)
        times = [datetime.fromisoformat(moment) for moment in moments if " " in moment]
        hours = Counter(time.hour for time in times)
        days = Counter(time.weekday() for time in times)
        plots = {
            "Hours of the day": [
                (f"{hour}:00", hours[hour], hour in pattern.hours) for hour in range(24)
            ],
            "Days of the week": [
                (name, days[number], name in pattern.weekdays) for name, number in WEEKDAYS.items()
            ],
        }
        return site.page(
            request, "history/pattern.html", pattern=pattern, agent=fields["agent"], plots=plots,
            html=await site.html(pattern.text, note.links, pattern.name),
        )  # fmt: skip

    return [site.route("/patterns", listing), site.route("/pattern/{name:path}", show)]
