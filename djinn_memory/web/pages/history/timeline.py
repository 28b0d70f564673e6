"""The timeline of episodes and sessions, and the page of a session."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from djinn_memory.memories.episodes.requests import ListEpisodes
from djinn_memory.memories.sessions.requests import ShowHistory
from djinn_memory.notes.dates import local_day
from djinn_memory.web.pages.site import Site, asked, chosen, form_of, see

PATH = "/session/{session:path}"

LISTED, SESSIONS, TURNS = 50, 8, 100
"""Numbers of episodes and of sessions on a page of the timeline, and of turns of a session."""

FILTERS = ("agent", "channel", "since", "until")


def timeline_routes(site: Site) -> list[BaseRoute]:
    """The routes of the pages. Those of actions come first, since a name may contain anything."""

    async def timeline(request: Request) -> Response:
        narrowing = asked(request, ListEpisodes, *FILTERS)
        page = {"limit": LISTED, **asked(request, ListEpisodes, "skip")}
        episodes = await site.ask(request, "episodes.list", **page, **narrowing)
        sessions = await site.ask(request, "sessions.list", limit=SESSIONS, **narrowing)
        return site.page(
            request, "history/timeline.html", episodes=episodes, sessions=sessions,
            days=_days(episodes.episodes), narrowing=narrowing, limit=LISTED,
            agents=(await site.ask(request, "agents.list")).agents,
        )  # fmt: skip

    async def show(request: Request) -> Response:
        given = asked(request, ShowHistory, "agent", "last")
        fields = {**request.path_params, "agent": given["agent"]}
        history = await site.ask(request, "sessions.history", last=given["last"] or TURNS, **fields)
        preview = None
        if chosen(request.query_params, "preview"):
            preview = await site.ask(request, "sessions.extract", dry_run=True, **fields)
        return site.page(
            request, "history/session.html", history=history, preview=preview, **fields
        )

    async def extract(request: Request) -> Response:
        agent = str((await form_of(request)).get("agent") or "") or None
        await site.ask(request, "sessions.extract", agent=agent, **request.path_params)
        return see(_address(request.path_params["session"], agent))

    def ended(session: Any) -> str:
        return _address(session.session, session.agent)

    return [
        site.route("/timeline", timeline),
        site.action(f"/end{PATH}", "sessions.end", ended),
        site.route(f"/extract{PATH}", extract, "POST"),
        site.route(PATH, show),
    ]


def _address(session: str, agent: str | None) -> str:
    return f"/session/{quote(session)}" + (f"?agent={quote(agent)}" if agent else "")


def _days(episodes: Iterable[Any]) -> dict[str, dict[str | None, list[Any]]]:
    """The sessions of each day with their episodes, all newest first."""
    days: dict[str, dict[str | None, list[Any]]] = {}
    for episode in episodes:
        day = days.setdefault(local_day(episode.date), {})
        day.setdefault(episode.session, []).append(episode)
    return days
