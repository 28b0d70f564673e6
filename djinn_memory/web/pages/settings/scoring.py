"""The page of the parameters of scoring, with a preview of what they change."""

from __future__ import annotations

from functools import cache
from typing import Any

from msgspec.structs import asdict
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from djinn_memory.errors import DjinnError
from djinn_memory.home.config import parse_value
from djinn_memory.home.config_errors import allowed
from djinn_memory.home.setup import comments
from djinn_memory.operations.checks import field_types
from djinn_memory.operations.wording import CommandWording
from djinn_memory.scoring import ScoringConfig
from djinn_memory.web.api.scoring import SECTION
from djinn_memory.web.pages.site import Site, form_of, see

PATH = "/settings/scoring"


def scoring_routes(site: Site) -> list[BaseRoute]:
    """The routes of the page, and of the page that leads to all settings."""

    async def index(request: Request) -> Response:
        await site.settings(request)
        return site.page(request, "settings/settings.html")

    async def page(request: Request) -> Response:
        """The form. After `preview`, and after an error, it has the values that were sent."""
        config = await site.settings(request)
        values, why, preview, agent = asdict(config.scoring), "", None, None
        if action := request.path_params.get("action"):
            form = await form_of(request)
            agent = form.get("agent")
            try:
                given = {} if action == "reset" else _given(form)
                changes = {name: value for name, value in given.items() if value != values[name]}
                values |= given
                if action != "preview":
                    paths = [((SECTION, name), value) for name, value in changes.items()]
                    await site.settings(request, *(paths if given else [((SECTION,), None)]))
                    return see(f"{PATH}?saved=1")
                preview = await site.ask(request, "scores.preview", parameters=given, agent=agent)
            except DjinnError as error:
                why = CommandWording().error(error)
        return site.page(
            request, "settings/scoring.html", parameters=parameters(), values=values, why=why,
            preview=preview, agents=config.agents, agent=agent,
        )  # fmt: skip

    return [
        site.route("/settings", index),
        site.route(PATH, page),
        site.route(f"{PATH}/{{action}}", page, "POST"),
    ]


@cache
def parameters() -> list[dict[str, Any]]:
    """The parameters with numbers. `shared` is the only other one."""
    said, defaults = comments(SECTION), asdict(ScoringConfig())
    return [
        {
            "name": name,
            "says": f"{said[name]} Takes {allowed(f'{SECTION}.{name}')}; "
            f"default: {defaults[name]:g}.",
            # The settings refuse a bound that does not belong to the range.
            "least": kind.meta("gt") or kind.meta("ge") or 0,
            "most": kind.meta("lt") or kind.meta("le"),
        }
        for name, kind in field_types(ScoringConfig).items()
        if bool not in kind.kinds
    ]


def _given(form: FormData) -> dict[str, Any]:
    """The parameters in a form. An empty field keeps its value."""
    texts = {name: str(form.get(name) or "") for name in field_types(ScoringConfig)}
    numbers = {name: parse_value(text) for name, text in texts.items() if text}
    switches = (name for name, kind in field_types(ScoringConfig).items() if bool in kind.kinds)
    return {**numbers, **{name: name in form for name in switches}}
