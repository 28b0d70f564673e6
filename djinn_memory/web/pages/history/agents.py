"""The pages of agents: the list, and one with its profile, what it begins with and its ratings."""

from __future__ import annotations

from typing import get_args
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from djinn_memory.memories.profiles.requests import ProfileChange, ProfileKeyName
from djinn_memory.web.pages.site import Site

PATH = "/agent/{agent}"

DESCRIBED, RATED = 20, 20
"""Numbers of agents in the list with their identity, and of used and rated memories on a page."""


def agent_routes(site: Site) -> list[BaseRoute]:
    """The routes of the pages."""

    async def listing(request: Request) -> Response:
        agents = (await site.ask(request, "agents.list")).agents
        views = [
            await site.ask(request, "agents.profile", agent=agent.name)
            for agent in agents[:DESCRIBED]
        ]
        return site.page(
            request, "history/agents.html", agents=agents,
            profiles={view.agent: view.profile for view in views},
        )  # fmt: skip

    async def show(request: Request) -> Response:
        agent = request.path_params["agent"]
        view = await site.ask(request, "agents.profile", agent=agent)
        # Without a task nothing is recalled, and unlike `wake` it starts no session.
        context = await site.ask(request, "context", agent=agent)
        scores = (await site.ask(request, "scores.show", agent=agent)).scores
        asked = ()
        if request.scope["caller"].rights == "person":
            asked = (await site.ask(request, "scores.recalls", agent=agent)).recalls
        return site.page(
            request, "history/agent.html", agent=view.agent, view=view, context=context,
            asked=asked, scores=scores[:RATED], rated=len(scores), keys=get_args(ProfileKeyName),
        )  # fmt: skip

    def back(change: ProfileChange) -> str:
        return f"/agent/{quote(change.agent)}#profile"

    return [
        site.route("/agents", listing),
        site.action(f"/set{PATH}", "agents.set", back),
        site.action(f"/unset{PATH}", "agents.unset", back),
        site.route(PATH, show),
    ]
