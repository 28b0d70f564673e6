"""All routes of the pages."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from djinn_memory.web.api.guard import Visitors
from djinn_memory.web.pages.documents import document_routes
from djinn_memory.web.pages.graph import graph_routes
from djinn_memory.web.pages.history.agents import agent_routes
from djinn_memory.web.pages.history.patterns import pattern_routes
from djinn_memory.web.pages.history.timeline import timeline_routes
from djinn_memory.web.pages.home import home_routes
from djinn_memory.web.pages.knowledge.entities import entity_routes
from djinn_memory.web.pages.knowledge.facts import fact_routes
from djinn_memory.web.pages.login import login_routes
from djinn_memory.web.pages.note import note_routes
from djinn_memory.web.pages.review import review_routes
from djinn_memory.web.pages.search import search_routes
from djinn_memory.web.pages.settings.access import access_routes
from djinn_memory.web.pages.settings.health import health_routes
from djinn_memory.web.pages.settings.scoring import scoring_routes
from djinn_memory.web.pages.site import Site


def page_routes(site: Site, visitors: Visitors, uploads: Path) -> list[BaseRoute]:
    """The routes, and the files that pages use. Uploads are stored in a folder meanwhile."""
    static = StaticFiles(directory=str(files("djinn_memory.web") / "static"))
    return [
        Mount("/static", static),
        *login_routes(site, visitors),
        *home_routes(site),
        *search_routes(site),
        *note_routes(site),
        *document_routes(site, uploads),
        *graph_routes(site),
        *review_routes(site),
        *access_routes(site),
        *health_routes(site),
        *scoring_routes(site),
        *entity_routes(site),
        *fact_routes(site),
        *timeline_routes(site),
        *pattern_routes(site),
        *agent_routes(site),
    ]
